"""AddOffsetsToTxn, key 25: a group's offsets join a transaction.

Version  2  PRODUCER_FENCED may be answered
         3  flexible
         4  TRANSACTION_ABORTABLE may be answered (KIP-890)
"""

REQUEST = """
transactional_id  string  0+
producer_id       int64   0+
producer_epoch    int16   0+
group_id          string  0+
"""

RESPONSE = """
throttle_time_ms  int32  0+
error_code        int16  0+
"""
