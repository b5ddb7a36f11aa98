"""EndTxn, key 26: commits or aborts a transaction.

Version  2  may return PRODUCER_FENCED
         3  flexible
         4  may return TRANSACTION_ABORTABLE (KIP-890)
         5  transactions of version 2: the response has the next epoch. Advertised only if transaction.version is 2.
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
