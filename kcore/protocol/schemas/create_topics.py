"""CreateTopics, key 19: creates topics.

Version  1  validation only
         4  -1 for partitions and replication factor means the broker's default (KIP-464)
         5  flexible; the response has the configuration (KIP-525)
         6  may return THROTTLING_QUOTA_EXCEEDED (KIP-599)
         7  the response has the topic's id (KIP-516)
"""

REQUEST = """
topics                   []       0+
    name                 string   0+
    num_partitions       int32    0+
    replication_factor   int16    0+
    assignments          []       0+
        partition_index  int32    0+
        broker_ids       []int32  0+
    configs              []       0+
        name             string   0+
        value            string   0+  nullable
timeout_ms               int32    0+  default=60000
validate_only            bool     1+
"""

RESPONSE = """
throttle_time_ms             int32   2+  ignorable
topics                       []      0+
    name                     string  0+
    topic_id                 uuid    7+  ignorable
    error_code               int16   0+
    error_message            string  1+  nullable ignorable
    topic_config_error_code  int16   5+  tag=0 ignorable
    num_partitions           int32   5+  default=-1 ignorable
    replication_factor       int16   5+  default=-1 ignorable
    configs                  []      5+  nullable ignorable
        name                 string  5+
        value                string  5+  nullable
        read_only            bool    5+
        config_source        int8    5+  default=-1 ignorable
        is_sensitive         bool    5+
"""
