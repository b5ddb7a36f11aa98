"""Reads the files of a partition directory for `kcli dump-log`, without a broker and without changing anything.

Every reader yields rows (what is found, under stable keys) and counts what is wrong; `text` turns rows into the lines
of Kafka's DumpLogSegments.
"""
