"""A client's metadata of the cluster.

`cluster.py` has the values. `metadata.py` has the state machine that decides what to request. The background thread of
the producer or the consumer sends its requests.
"""
