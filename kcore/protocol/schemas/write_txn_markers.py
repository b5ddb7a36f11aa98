"""WriteTxnMarkers, key 27: the transaction coordinator has transaction markers written.

Version  1  flexible
"""

REQUEST = """
markers                    []       0+
    producer_id            int64    0+
    producer_epoch         int16    0+
    transaction_result     bool     0+
    topics                 []       0+
        name               string   0+
        partition_indexes  []int32  0+
    coordinator_epoch      int32    0+
"""

RESPONSE = """
markers                      []      0+
    producer_id              int64   0+
    topics                   []      0+
        name                 string  0+
        partitions           []      0+
            partition_index  int32   0+
            error_code       int16   0+
"""
