"""OffsetCommit, key 8: commits a group's offsets.

Version  1  member and generation, a commit timestamp
         2  a retention time instead of the timestamp
         5  no retention time: the broker's configuration applies
         6  leader epochs
         7  static members (KIP-345)
         8  flexible
         9  member epochs of the consumer protocol (KIP-848)
"""

REQUEST = """
group_id                        string  0+
generation_id_or_member_epoch   int32   1+   default=-1 ignorable
member_id                       string  1+   ignorable
group_instance_id               string  7+   nullable default=null
retention_time_ms               int64   2-4  default=-1 ignorable
topics                          []      0+
    name                        string  0+
    partitions                  []      0+
        partition_index         int32   0+
        committed_offset        int64   0+
        committed_leader_epoch  int32   6+   default=-1 ignorable
        commit_timestamp        int64   1    default=-1
        committed_metadata      string  0+   nullable
"""

RESPONSE = """
throttle_time_ms         int32   3+  ignorable
topics                   []      0+
    name                 string  0+
    partitions           []      0+
        partition_index  int32   0+
        error_code       int16   0+
"""
