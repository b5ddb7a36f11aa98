"""The value of a member's current assignment: its partitions, and those that it still has to revoke.

Kafka 4.3 adds the epoch at which the member got each partition (KIP-1251). Without these epochs, the member's epoch
applies.
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
