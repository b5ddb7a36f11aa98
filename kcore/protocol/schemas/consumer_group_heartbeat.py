"""ConsumerGroupHeartbeat, key 68: a member joins, updates or leaves a consumer group (KIP-848).

Member epoch 0 joins; -1 leaves; -2 is a static member that leaves temporarily. Fields that did not change since the
last heartbeat are null or -1.

Version  1  subscription by pattern; the client generates the member id (KIP-1082)
"""

REQUEST = """
group_id                string    0+
member_id               string    0+
member_epoch            int32     0+
instance_id             string    0+  nullable default=null
rack_id                 string    0+  nullable default=null
rebalance_timeout_ms    int32     0+  default=-1
subscribed_topic_names  []string  0+  nullable default=null
subscribed_topic_regex  string    1+  nullable default=null
server_assignor         string    0+  nullable default=null
topic_partitions        []        0+  nullable default=null
    topic_id            uuid      0+
    partitions          []int32   0+
"""

RESPONSE = """
throttle_time_ms       int32    0+
error_code             int16    0+
error_message          string   0+  nullable default=null
member_id              string   0+  nullable default=null
member_epoch           int32    0+
heartbeat_interval_ms  int32    0+
assignment             struct   0+  nullable default=null
    topic_partitions   []       0+
        topic_id       uuid     0+
        partitions     []int32  0+
"""
