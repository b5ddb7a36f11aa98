"""The value of what a member of a consumer group has now, and has still to give up.

The epochs at which it got each partition, as many as there are partitions, are Kafka 4.3's (KIP-1251); without them the
member's epoch counts.
"""

SCHEMA = """
define TopicPartitions
    topic_id                   uuid               0+
    partitions                 []int32            0+
    assignment_epochs          []int32            0+  nullable tag=0

member_epoch                   int32              0+
previous_member_epoch          int32              0+
state                          int8               0+
assigned_partitions            []TopicPartitions  0+
partitions_pending_revocation  []TopicPartitions  0+
"""
