"""A proxy with faults before any Kafka cluster: `proxy.py` is the face; `connection.py` and `flow.py` carry bytes."""
