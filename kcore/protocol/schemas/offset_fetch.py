"""OffsetFetch, key 9: reads a group's committed offsets.

Version  1  from __consumer_offsets
         2  null means all topics; a top-level error code
         5  leader epochs
         6  flexible
         7  stable offsets may be required (KIP-447)
         8  several groups in one request (KIP-709)
         9  member ids and epochs of the consumer protocol (KIP-848)
"""

REQUEST = """
group_id                   string   0-7
topics                     []       0-7  nullable=2-7
    name                   string   0-7
    partition_indexes      []int32  0-7
groups                     []       8+
    group_id               string   8+
    member_id              string   9+   nullable default=null ignorable
    member_epoch           int32    9+   default=-1 ignorable
    topics                 []       8+   nullable
        name               string   8+
        partition_indexes  []int32  8+
require_stable             bool     7+
"""

RESPONSE = """
throttle_time_ms                    int32   3+   ignorable
topics                              []      0-7
    name                            string  0-7
    partitions                      []      0-7
        partition_index             int32   0-7
        committed_offset            int64   0-7
        committed_leader_epoch      int32   5-7  default=-1 ignorable
        metadata                    string  0-7  nullable
        error_code                  int16   0-7
error_code                          int16   2-7  ignorable
groups                              []      8+
    group_id                        string  8+
    topics                          []      8+
        name                        string  8+
        partitions                  []      8+
            partition_index         int32   8+
            committed_offset        int64   8+
            committed_leader_epoch  int32   8+   default=-1 ignorable
            metadata                string  8+   nullable
            error_code              int16   8+
    error_code                      int16   8+
"""
