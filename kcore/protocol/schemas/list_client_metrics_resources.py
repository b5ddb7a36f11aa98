"""ListClientMetricsResources, key 74: the names of client metrics subscriptions (KIP-714)."""

REQUEST = """
"""

RESPONSE = """
throttle_time_ms          int32   0+
error_code                int16   0+
client_metrics_resources  []      0+
    name                  string  0+
"""
