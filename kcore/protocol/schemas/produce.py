"""Produce, key 0: record batches for partitions.

Version  3  transactional id; record batches of magic 2 only
         4  may return KAFKA_STORAGE_ERROR
         5  the response has the log start offset
         7  zstd (KIP-110)
         8  the response lists the invalid records of a batch (KIP-467)
         9  flexible
        10  the response may have the new leader and its address (KIP-951)
        11  may return TRANSACTION_ABORTABLE (KIP-890)
"""

REQUEST = """
transactional_id    string   3+  nullable default=null
acks                int16    0+
timeout_ms          int32    0+
topic_data          []       0+
    name            string   0+
    partition_data  []       0+
        index       int32    0+
        records     records  0+  nullable
"""

RESPONSE = """
responses                              []      0+
    name                               string  0+
    partition_responses                []      0+
        index                          int32   0+
        error_code                     int16   0+
        base_offset                    int64   0+
        log_append_time_ms             int64   2+   default=-1 ignorable
        log_start_offset               int64   5+   default=-1 ignorable
        record_errors                  []      8+   ignorable
            batch_index                int32   8+
            batch_index_error_message  string  8+   nullable default=null
        error_message                  string  8+   nullable default=null ignorable
        current_leader                 struct  10+  tag=0
            leader_id                  int32   10+  default=-1
            leader_epoch               int32   10+  default=-1
throttle_time_ms                       int32   1+   ignorable
node_endpoints                         []      10+  tag=0
    node_id                            int32   10+
    host                               string  10+
    port                               int32   10+
    rack                               string  10+  nullable default=null
"""
