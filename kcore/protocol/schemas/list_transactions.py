"""ListTransactions, key 66: the transactions that a broker coordinates (KIP-664).

Version  1  a filter by duration (KIP-994)
"""

REQUEST = """
state_filters        []string  0+
producer_id_filters  []int64   0+
duration_filter      int64     1+  default=-1
"""

RESPONSE = """
throttle_time_ms       int32     0+
error_code             int16     0+
unknown_state_filters  []string  0+
transaction_states     []        0+
    transactional_id   string    0+
    producer_id        int64     0+
    transaction_state  string    0+
"""
