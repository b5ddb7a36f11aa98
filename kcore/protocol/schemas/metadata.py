"""Metadata, key 3: the brokers of the cluster, its topics and their partitions.

Version  0  an empty list means all topics
         1  null means all topics, an empty list none; racks, controller, internal topics
         2  cluster id
         4  the client may forbid auto-creation
         5  offline replicas
         7  leader epochs
         8  authorized operations
         9  flexible
        10  topic ids in the response (KIP-516)
        11  authorized operations of the cluster removed (KIP-700)
        12  topics may be requested by id
        13  an error code for the whole response (KIP-1102)
"""

REQUEST = """
topics                                 []      0+    nullable=1+
    topic_id                           uuid    10+   ignorable
    name                               string  0+    nullable=10+
allow_auto_topic_creation              bool    4+    default=true
include_cluster_authorized_operations  bool    8-10
include_topic_authorized_operations    bool    8+
"""

RESPONSE = """
throttle_time_ms                 int32    3+    ignorable
brokers                          []       0+
    node_id                      int32    0+
    host                         string   0+
    port                         int32    0+
    rack                         string   1+    nullable default=null ignorable
cluster_id                       string   2+    nullable default=null ignorable
controller_id                    int32    1+    default=-1 ignorable
topics                           []       0+
    error_code                   int16    0+
    name                         string   0+    nullable=12+
    topic_id                     uuid     10+   ignorable
    is_internal                  bool     1+    ignorable
    partitions                   []       0+
        error_code               int16    0+
        partition_index          int32    0+
        leader_id                int32    0+
        leader_epoch             int32    7+    default=-1 ignorable
        replica_nodes            []int32  0+
        isr_nodes                []int32  0+
        offline_replicas         []int32  5+    ignorable
    topic_authorized_operations  int32    8+    default=-2147483648
cluster_authorized_operations    int32    8-10  default=-2147483648
error_code                       int16    13+   ignorable
"""
