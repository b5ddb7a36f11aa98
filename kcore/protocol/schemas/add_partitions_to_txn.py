"""AddPartitionsToTxn, key 24: adds partitions to a transaction.

Version  2  may return PRODUCER_FENCED
         3  flexible; the last version for clients
         4  for brokers: several transactions in one request, and verification without adding (KIP-890)
         5  may return TRANSACTION_ABORTABLE
"""

REQUEST = """
define AddPartitionsToTxnTopic
    name                       string                     0+
    partitions                 []int32                    0+

transactions                   []                         4+
    transactional_id           string                     4+
    producer_id                int64                      4+
    producer_epoch             int16                      4+
    verify_only                bool                       4+
    topics                     []AddPartitionsToTxnTopic  4+
v3_and_below_transactional_id  string                     0-3
v3_and_below_producer_id       int64                      0-3
v3_and_below_producer_epoch    int16                      0-3
v3_and_below_topics            []AddPartitionsToTxnTopic  0-3
"""

RESPONSE = """
define AddPartitionsToTxnPartitionResult
    partition_index            int32                                0+
    partition_error_code       int16                                0+

define AddPartitionsToTxnTopicResult
    name                       string                               0+
    results_by_partition       []AddPartitionsToTxnPartitionResult  0+

throttle_time_ms               int32                                0+
error_code                     int16                                4+   ignorable
results_by_transaction         []                                   4+
    transactional_id           string                               4+
    topic_results              []AddPartitionsToTxnTopicResult      4+
results_by_topic_v3_and_below  []AddPartitionsToTxnTopicResult      0-3
"""
