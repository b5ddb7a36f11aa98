"""DescribeQuorum, key 55: the state of KRaft's quorum (KIP-595).

Version  1  when replicas last fetched and last caught up (KIP-836)
         2  directory ids, error messages, endpoints (KIP-853)
"""

REQUEST = """
topics                   []      0+
    topic_name           string  0+
    partitions           []      0+
        partition_index  int32   0+
"""

RESPONSE = """
define ReplicaState
    replica_id                int32           0+
    replica_directory_id      uuid            2+
    log_end_offset            int64           0+
    last_fetch_timestamp      int64           1+  default=-1 ignorable
    last_caught_up_timestamp  int64           1+  default=-1 ignorable

error_code                    int16           0+
error_message                 string          2+  nullable ignorable
topics                        []              0+
    topic_name                string          0+
    partitions                []              0+
        partition_index       int32           0+
        error_code            int16           0+
        error_message         string          2+  nullable ignorable
        leader_id             int32           0+
        leader_epoch          int32           0+
        high_watermark        int64           0+
        current_voters        []ReplicaState  0+
        observers             []ReplicaState  0+
nodes                         []              2+
    node_id                   int32           2+
    listeners                 []              2+
        name                  string          2+
        host                  string          2+
        port                  uint16          2+
"""
