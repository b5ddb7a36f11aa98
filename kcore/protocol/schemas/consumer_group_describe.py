"""ConsumerGroupDescribe, key 69: state, members and assignments of consumer groups (KIP-848).

Version  1  the response says whether a member uses the classic protocol (KIP-1099)
"""

REQUEST = """
group_ids                      []string  0+
include_authorized_operations  bool      0+
"""

RESPONSE = """
define TopicPartitions
    topic_id                    uuid               0+
    topic_name                  string             0+
    partitions                  []int32            0+

define Assignment
    topic_partitions            []TopicPartitions  0+

throttle_time_ms                int32              0+
groups                          []                 0+
    error_code                  int16              0+
    error_message               string             0+  nullable default=null
    group_id                    string             0+
    group_state                 string             0+
    group_epoch                 int32              0+
    assignment_epoch            int32              0+
    assignor_name               string             0+
    members                     []                 0+
        member_id               string             0+
        instance_id             string             0+  nullable default=null
        rack_id                 string             0+  nullable default=null
        member_epoch            int32              0+
        client_id               string             0+
        client_host             string             0+
        subscribed_topic_names  []string           0+
        subscribed_topic_regex  string             0+  nullable default=null
        assignment              Assignment         0+
        target_assignment       Assignment         0+
        member_type             int8               1+  default=-1 ignorable
    authorized_operations       int32              0+  default=-2147483648
"""
