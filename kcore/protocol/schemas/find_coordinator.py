"""FindCoordinator, key 10: the coordinator of a group or a transactional id.

Version  1  key type: 0 group, 1 transactional id; an error message
         3  flexible
         4  several keys in one request (KIP-699)
         5  may return TRANSACTION_ABORTABLE
         6  key type 2: share groups (KIP-932)
"""

REQUEST = """
key               string    0-3
key_type          int8      1+
coordinator_keys  []string  4+
"""

RESPONSE = """
throttle_time_ms   int32   1+   ignorable
error_code         int16   0-3
error_message      string  1-3  nullable ignorable
node_id            int32   0-3
host               string  0-3
port               int32   0-3
coordinators       []      4+
    key            string  4+
    node_id        int32   4+
    host           string  4+
    port           int32   4+
    error_code     int16   4+
    error_message  string  4+   nullable ignorable
"""
