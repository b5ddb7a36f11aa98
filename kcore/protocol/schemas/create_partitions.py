"""CreatePartitions, key 37: adds partitions to topics.

Version  2  flexible
         3  may return THROTTLING_QUOTA_EXCEEDED (KIP-599)
"""

REQUEST = """
topics              []       0+
    name            string   0+
    count           int32    0+
    assignments     []       0+  nullable
        broker_ids  []int32  0+
timeout_ms          int32    0+
validate_only       bool     0+
"""

RESPONSE = """
throttle_time_ms   int32   0+
results            []      0+
    name           string  0+
    error_code     int16   0+
    error_message  string  0+  nullable default=null
"""
