"""What Kafka 4.0 kept of a group's subscribed topics.

From 4.1 on a hash in the group's own record stands for it: this one is deleted at the group's next epoch.
"""

SCHEMA = """
topics                  []        0+
    topic_id            uuid      0+
    topic_name          string    0+
    num_partitions      int32     0+
    partition_metadata  []        0+
        partition       int32     0+
        racks           []string  0+
"""
