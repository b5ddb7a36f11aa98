"""Which partition a record without an explicit one goes to.

A key goes where its murmur2 hash says, so that equal keys stay in order and every client of Kafka agrees; an empty key
is a key, none is not. Records without a key stick to one partition until `batch.size` bytes went there (KIP-794), then
to another, with `partitioner.adaptive.partitioning.enable` the more likely the shorter its queue is; partitions without
a leader, and those of brokers that have taken nothing for `partitioner.availability.timeout.ms`, are passed over.
Concurrency: under the accumulator's mutex, but for the hash.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from kcore.client.producer.partition_queue cimport PartitionQueue, TopicQueues

cdef enum PartitionerKind:
    PARTITION_BUILT_IN = 0         # by key, else sticky
    PARTITION_ROUND_ROBIN = 1      # key or not (RoundRobinPartitioner)
    PARTITION_UNIFORM_STICKY = 2   # key or not, another one with each batch (UniformStickyPartitioner)

cdef enum:
    PARTITION_NOT_CHOSEN = -1

cdef struct Partitioner:
    PartitionerKind kind
    bint ignores_keys
    bint is_adaptive
    int64_t sticky_bytes_max       # batch.size
    uint64_t random
    uint8_t* node_is_unavailable   # by slot
    int32_t node_count

cdef uint32_t next_random(Partitioner* partitioner) noexcept nogil
cdef uint32_t murmur2_hash(const uint8_t* data, size_t size) noexcept nogil
cdef int32_t partition_of_key(const uint8_t* key, int32_t size, int32_t partition_count) noexcept nogil
# For a topic with known partitions.
cdef int32_t choose_partition(Partitioner* partitioner, TopicQueues* topic, const uint8_t* key,
                              int32_t key_size) noexcept nogil
# After a record without an explicit partition was appended; `batch_is_full`: its batch takes no more.
cdef void partition_was_used(Partitioner* partitioner, TopicQueues* topic, int64_t record_bytes,
                             bint batch_is_full) noexcept nogil
# Where a record goes that was meant for `chosen`, but has to begin a batch there.
cdef int32_t partition_of_new_batch(Partitioner* partitioner, TopicQueues* topic, int32_t chosen) noexcept nogil
