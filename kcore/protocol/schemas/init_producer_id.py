"""InitProducerId, key 22: a producer id and epoch, with or without a transactional id.

Version  2  flexible
         3  a producer may request the next epoch of its id (KIP-360)
         4  may return PRODUCER_FENCED (KIP-588)
         5  may return TRANSACTION_ABORTABLE (KIP-890)
"""

REQUEST = """
transactional_id        string  0+  nullable
transaction_timeout_ms  int32   0+
producer_id             int64   3+  default=-1
producer_epoch          int16   3+  default=-1
"""

RESPONSE = """
throttle_time_ms  int32  0+  ignorable
error_code        int16  0+
producer_id       int64  0+  default=-1
producer_epoch    int16  0+
"""
