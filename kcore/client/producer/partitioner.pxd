"""Chooses the partition of records that have none.

A key's partition is determined by its murmur2 hash, so that equal keys stay in order and all Kafka clients agree. An
empty key counts as a key. Records without a key stick to one partition until it has received `batch.size` bytes
(KIP-794), then to another. With `partitioner.adaptive.partitioning.enable`, a partition with a shorter queue is more
likely. Partitions without a leader are skipped, and those of brokers that have accepted nothing for
`partitioner.availability.timeout.ms`. Concurrency: under the accumulator's mutex, except for the hash.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from kcore.client.producer.partition_queue cimport PartitionQueue, TopicQueues

cdef enum PartitionerKind:
    PARTITION_BUILT_IN = 0         # by key, else sticky
    PARTITION_ROUND_ROBIN = 1      # with or without a key (RoundRobinPartitioner)
    PARTITION_UNIFORM_STICKY = 2   # with or without a key, another one for each batch (UniformStickyPartitioner)

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
# The topic's partitions must be known.
cdef int32_t choose_partition(Partitioner* partitioner, TopicQueues* topic, const uint8_t* key,
                              int32_t key_size) noexcept nogil
# Call this after a record without an explicit partition was appended. `batch_is_full`: its batch is closed.
cdef void partition_was_used(Partitioner* partitioner, TopicQueues* topic, int64_t record_bytes,
                             bint batch_is_full) noexcept nogil
# Returns the partition of a record that was meant for `chosen`, but needs a new batch there.
cdef int32_t partition_of_new_batch(Partitioner* partitioner, TopicQueues* topic, int32_t chosen) noexcept nogil
