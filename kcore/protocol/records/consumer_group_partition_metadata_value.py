"""A group's subscribed topics, as Kafka 4.0 stored them.

Since 4.1 a hash in the group's own record replaces this one, which is deleted at the group's next epoch.
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
