"""ListConfigResources, key 74: the names of configured resources, by type.

Version  0  client metrics subscriptions only, as ListClientMetricsResources (KIP-714)
         1  by requested type: topics, brokers, broker loggers, client metrics, groups (KIP-1142)
"""

REQUEST = """
resource_types        []int8  1+
"""

RESPONSE = """
throttle_time_ms      int32   0+
error_code            int16   0+
config_resources      []      0+
    resource_name     string  0+
    resource_type     int8    1+  default=16 ignorable
"""
