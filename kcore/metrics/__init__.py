"""Counting: histograms and counters that native code writes, the table of metrics, and the registry that reads them.

Counting is always on and costs a few nanoseconds a request; names, labels and text exist only when somebody asks.
"""
