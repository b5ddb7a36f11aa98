"""DescribeLogDirs, key 35: the log directories of a broker and their replicas.

Version  2  flexible
         3  an error code for the whole response
         4  size and free space of the volume (KIP-827)
"""

REQUEST = """
topics          []       0+  nullable
    topic       string   0+
    partitions  []int32  0+
"""

RESPONSE = """
throttle_time_ms             int32   0+
error_code                   int16   3+  ignorable
results                      []      0+
    error_code               int16   0+
    log_dir                  string  0+
    topics                   []      0+
        name                 string  0+
        partitions           []      0+
            partition_index  int32   0+
            partition_size   int64   0+
            offset_lag       int64   0+
            is_future_key    bool    0+
    total_bytes              int64   4+  default=-1 ignorable
    usable_bytes             int64   4+  default=-1 ignorable
"""
