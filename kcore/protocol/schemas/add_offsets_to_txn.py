"""AddOffsetsToTxn, key 25: adds a group's offsets to a transaction.

Version  2  may return PRODUCER_FENCED
         3  flexible
         4  may return TRANSACTION_ABORTABLE (KIP-890)
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
