"""What a client knows of the cluster, and how it comes to know it.

`cluster.py` has the values, `metadata.py` the state machine that says what is known and what is to be asked; the
background thread of the producer, or of the consumer, asks.
"""
