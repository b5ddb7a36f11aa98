"""Reads the files of a partition directory for `kcli dump-log`, without a broker and without changing them.

Each reader yields rows with stable keys and collects findings about damage. `text` formats rows as Kafka's
DumpLogSegments does.
"""
