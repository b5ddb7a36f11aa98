"""ElectLeaders, key 43: elects leaders of partitions.

Version  1  unclean elections (KIP-460); an error code for the whole response
         2  flexible
"""

REQUEST = """
election_type     int8     1+
topic_partitions  []       0+  nullable
    topic         string   0+
    partitions    []int32  0+
timeout_ms        int32    0+  default=60000
"""

RESPONSE = """
throttle_time_ms          int32   0+
error_code                int16   1+
replica_election_results  []      0+
    topic                 string  0+
    partition_result      []      0+
        partition_id      int32   0+
        error_code        int16   0+
        error_message     string  0+  nullable
"""
