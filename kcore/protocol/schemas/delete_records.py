"""DeleteRecords, key 21: raises the log start offset of partitions.

Version  2  flexible
"""

REQUEST = """
topics                   []      0+
    name                 string  0+
    partitions           []      0+
        partition_index  int32   0+
        offset           int64   0+
timeout_ms               int32   0+
"""

RESPONSE = """
throttle_time_ms         int32   0+
topics                   []      0+
    name                 string  0+
    partitions           []      0+
        partition_index  int32   0+
        low_watermark    int64   0+
        error_code       int16   0+
"""
