"""A parsed produce request. Names and records point into the receive buffer."""

from libc.stdint cimport int16_t, int32_t, uint8_t
from kcore.record.batch cimport ReceivedBatch

cdef struct PartitionRecords:
    int32_t index
    ReceivedBatch batch          # borrowed from the frame; null is refused like empty records
    bint is_null

cdef struct TopicRecords:
    const uint8_t* name          # borrowed from the frame
    int32_t name_size
    int32_t first                # index of its first partition in `partitions`
    int32_t count

cdef struct ProduceRequest:
    int16_t version
    bint flexible
    bint transactional           # carries a transactional id
    int16_t acks
    int32_t timeout_ms
    TopicRecords* topics
    int32_t topic_count
    PartitionRecords* partitions
    int32_t partition_count
    int32_t partition_capacity

# Returns False if the bytes are not a produce request of `version` (3 to 11). Call free_produce_request in both cases.
cdef bint read_produce_request(uint8_t* body, size_t size, int16_t version, ProduceRequest* out) noexcept nogil
cdef void free_produce_request(ProduceRequest* request) noexcept nogil
