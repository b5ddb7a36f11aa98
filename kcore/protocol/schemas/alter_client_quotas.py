"""AlterClientQuotas, key 49: sets and removes quotas of users, client ids and addresses (KIP-546).

Version  0
         1  flexible
"""

REQUEST = """
entries              []       0+
    entity           []       0+
        entity_type  string   0+
        entity_name  string   0+  nullable
    ops              []       0+
        key          string   0+
        value        float64  0+
        remove       bool     0+
validate_only        bool     0+
"""

RESPONSE = """
throttle_time_ms     int32   0+
entries              []      0+
    error_code       int16   0+
    error_message    string  0+  nullable
    entity           []      0+
        entity_type  string  0+
        entity_name  string  0+  nullable
"""
