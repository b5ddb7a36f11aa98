"""IncrementalAlterConfigs, key 44: sets, deletes, appends to or subtracts from single configurations (KIP-339).

Version  1  flexible
"""

REQUEST = """
resources                 []      0+
    resource_type         int8    0+
    resource_name         string  0+
    configs               []      0+
        name              string  0+
        config_operation  int8    0+
        value             string  0+  nullable
validate_only             bool    0+
"""

RESPONSE = """
throttle_time_ms   int32   0+
responses          []      0+
    error_code     int16   0+
    error_message  string  0+  nullable
    resource_type  int8    0+
    resource_name  string  0+
"""
