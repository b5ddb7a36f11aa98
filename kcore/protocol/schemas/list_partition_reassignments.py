"""ListPartitionReassignments, key 46: the running partition reassignments (KIP-455)."""

REQUEST = """
timeout_ms             int32    0+  default=60000
topics                 []       0+  nullable default=null
    name               string   0+
    partition_indexes  []int32  0+
"""

RESPONSE = """
throttle_time_ms           int32    0+
error_code                 int16    0+
error_message              string   0+  nullable
topics                     []       0+
    name                   string   0+
    partitions             []       0+
        partition_index    int32    0+
        replicas           []int32  0+
        adding_replicas    []int32  0+
        removing_replicas  []int32  0+
"""
