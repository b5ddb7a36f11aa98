"""DescribeClientQuotas, key 48: quotas of users, client ids and addresses, by filter (KIP-546).

Version  0
         1  flexible
"""

REQUEST = """
components       []      0+
    entity_type  string  0+
    match_type   int8    0+
    match        string  0+  nullable
strict           bool    0+
"""

RESPONSE = """
throttle_time_ms     int32    0+
error_code           int16    0+
error_message        string   0+  nullable
entries              []       0+  nullable
    entity           []       0+
        entity_type  string   0+
        entity_name  string   0+  nullable
    values           []       0+
        key          string   0+
        value        float64  0+
"""
