"""UnregisterBroker, key 64: removes a broker from the cluster (KIP-631)."""

REQUEST = """
broker_id  int32  0+
"""

RESPONSE = """
throttle_time_ms  int32   0+
error_code        int16   0+
error_message     string  0+  nullable
"""
