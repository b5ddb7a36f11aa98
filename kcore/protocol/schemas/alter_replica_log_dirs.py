"""AlterReplicaLogDirs, key 34: moves replicas between the log directories of a broker (KIP-113).

Version  1  quota violations: the response is sent before the throttling
         2  flexible
"""

REQUEST = """
dirs                []       0+
    path            string   0+
    topics          []       0+
        name        string   0+
        partitions  []int32  0+
"""

RESPONSE = """
throttle_time_ms         int32   0+
results                  []      0+
    topic_name           string  0+
    partitions           []      0+
        partition_index  int32   0+
        error_code       int16   0+
"""
