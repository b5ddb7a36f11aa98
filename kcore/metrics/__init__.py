"""Metrics: counters and histograms that native code writes, the table of metrics, and the registry that reads them.

Counting is always on and costs a few nanoseconds per request. Names, labels and text are only created for a scrape.
"""
