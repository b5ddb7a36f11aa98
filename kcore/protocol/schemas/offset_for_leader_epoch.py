"""OffsetForLeaderEpoch, key 23: the end offset of a leader epoch.

Version  1  the response has the epoch
         2  the requester's current leader epoch is checked (KIP-320)
         3  replica id; -2 for debugging
         4  flexible
"""

REQUEST = """
replica_id                    int32   3+  default=-2 ignorable
topics                        []      0+
    topic                     string  0+
    partitions                []      0+
        partition             int32   0+
        current_leader_epoch  int32   2+  default=-1 ignorable
        leader_epoch          int32   0+
"""

RESPONSE = """
throttle_time_ms      int32   2+  ignorable
topics                []      0+
    topic             string  0+
    partitions        []      0+
        error_code    int16   0+
        partition     int32   0+
        leader_epoch  int32   1+  default=-1 ignorable
        end_offset    int64   0+  default=-1
"""
