"""EndTxn, key 26: commit or abort of a transaction.

Version  2  PRODUCER_FENCED may be answered
         3  flexible
         4  TRANSACTION_ABORTABLE may be answered (KIP-890)
         5  transactions of version 2: the answer has the next epoch. Advertised only once transaction.version is 2.
"""

REQUEST = """
transactional_id  string  0+
producer_id       int64   0+
producer_epoch    int16   0+
committed         bool    0+
"""

RESPONSE = """
throttle_time_ms  int32  0+
error_code        int16  0+
producer_id       int64  5+  default=-1 ignorable
producer_epoch    int16  5+  default=-1 ignorable
"""
