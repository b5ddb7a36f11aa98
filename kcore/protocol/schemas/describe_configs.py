"""DescribeConfigs, key 32: configurations of topics and brokers.

Version  1  the source of a value, and its synonyms (KIP-226)
         3  types and documentation (KIP-569)
         4  flexible
"""

REQUEST = """
resources               []        0+
    resource_type       int8      0+
    resource_name       string    0+
    configuration_keys  []string  0+  nullable
include_synonyms        bool      1+
include_documentation   bool      3+
"""

RESPONSE = """
throttle_time_ms       int32   0+
results                []      0+
    error_code         int16   0+
    error_message      string  0+  nullable
    resource_type      int8    0+
    resource_name      string  0+
    configs            []      0+
        name           string  0+
        value          string  0+  nullable
        read_only      bool    0+
        is_default     bool    0
        config_source  int8    1+  default=-1 ignorable
        is_sensitive   bool    0+
        synonyms       []      1+  ignorable
            name       string  1+
            value      string  1+  nullable
            source     int8    1+
        config_type    int8    3+  ignorable
        documentation  string  3+  nullable ignorable
"""
