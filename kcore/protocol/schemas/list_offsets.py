"""ListOffsets, key 2: offsets by timestamp.

Version  0  several offsets per partition
         1  one offset, with its timestamp
         2  isolation level
         4  leader epochs
         5  may return OFFSET_NOT_AVAILABLE
         6  flexible
         7  timestamp -3: the record with the largest timestamp (KIP-734)
         8  timestamp -4: the local log start offset (KIP-405)
         9  timestamp -5: the last tiered offset (KIP-1005)
        10  a timeout for lookups in tiered storage (KIP-1075)
"""

REQUEST = """
replica_id                    int32   0+
isolation_level               int8    2+
topics                        []      0+
    name                      string  0+
    partitions                []      0+
        partition_index       int32   0+
        current_leader_epoch  int32   4+   default=-1 ignorable
        timestamp             int64   0+
        max_num_offsets       int32   0    default=1
timeout_ms                    int32   10+  ignorable
"""

RESPONSE = """
throttle_time_ms           int32    2+  ignorable
topics                     []       0+
    name                   string   0+
    partitions             []       0+
        partition_index    int32    0+
        error_code         int16    0+
        old_style_offsets  []int64  0
        timestamp          int64    1+  default=-1
        offset             int64    1+  default=-1
        leader_epoch       int32    4+  default=-1
"""
