"""AlterConfigs, key 33: replaces all configurations of topics and brokers.

Version  2  flexible
"""

REQUEST = """
resources          []      0+
    resource_type  int8    0+
    resource_name  string  0+
    configs        []      0+
        name       string  0+
        value      string  0+  nullable
validate_only      bool    0+
"""

RESPONSE = """
throttle_time_ms   int32   0+
responses          []      0+
    error_code     int16   0+
    error_message  string  0+  nullable
    resource_type  int8    0+
    resource_name  string  0+
"""
