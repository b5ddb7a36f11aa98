"""A fault proxy for any Kafka cluster: `proxy.py` is the interface; `connection.py` and `flow.py` forward bytes."""
