"""DeleteAcls, key 31: deletes access control entries.

Version  1  resource pattern types (KIP-290)
         2  flexible
         3  user resource type (KIP-373)
"""

REQUEST = """
filters                   []      0+
    resource_type_filter  int8    0+
    resource_name_filter  string  0+  nullable
    pattern_type_filter   int8    1+  default=3
    principal_filter      string  0+  nullable
    host_filter           string  0+  nullable
    operation             int8    0+
    permission_type       int8    0+
"""

RESPONSE = """
throttle_time_ms         int32   0+
filter_results           []      0+
    error_code           int16   0+
    error_message        string  0+  nullable
    matching_acls        []      0+
        error_code       int16   0+
        error_message    string  0+  nullable
        resource_type    int8    0+
        resource_name    string  0+
        pattern_type     int8    1+  default=3
        principal        string  0+
        host             string  0+
        operation        int8    0+
        permission_type  int8    0+
"""
