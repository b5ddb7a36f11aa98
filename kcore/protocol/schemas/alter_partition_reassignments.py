"""AlterPartitionReassignments, key 45: moves partitions to other replicas, or cancels reassignments (KIP-455)."""

REQUEST = """
timeout_ms               int32    0+  default=60000
topics                   []       0+
    name                 string   0+
    partitions           []       0+
        partition_index  int32    0+
        replicas         []int32  0+  nullable default=null
"""

RESPONSE = """
throttle_time_ms         int32   0+
error_code               int16   0+
error_message            string  0+  nullable
responses                []      0+
    name                 string  0+
    partitions           []      0+
        partition_index  int32   0+
        error_code       int16   0+
        error_message    string  0+  nullable
"""
