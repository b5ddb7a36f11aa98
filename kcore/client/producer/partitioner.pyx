"""The built-in partitioners of Apache Kafka (BuiltInPartitioner, RoundRobinPartitioner, UniformStickyPartitioner)."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from kcore.client.network.client_request cimport NO_NODE
from kcore.client.producer.partition_queue cimport PartitionQueue, TopicQueues

cdef uint32_t MULTIPLIER = 0x5BD1E995
cdef uint32_t SEED = 0x9747B28C
cdef uint64_t SCRAMBLER = 0x2545F4914F6CDD1D


cdef uint32_t murmur2_hash(const uint8_t* data, size_t size) noexcept nogil:
    """MurmurHash2 of 32 bits over little-endian words, with the seed of Kafka's `Utils.murmur2`."""
    cdef uint32_t value = SEED ^ <uint32_t>size
    cdef uint32_t word
    cdef size_t position = 0
    while position + 4 <= size:
        word = (<uint32_t>data[position] | (<uint32_t>data[position + 1] << 8)
                | (<uint32_t>data[position + 2] << 16) | (<uint32_t>data[position + 3] << 24))
        word *= MULTIPLIER
        word ^= word >> 24
        word *= MULTIPLIER
        value = (value * MULTIPLIER) ^ word
        position += 4
    if size & 3:
        if size & 3 == 3:
            value ^= <uint32_t>data[position + 2] << 16
        if size & 3 >= 2:
            value ^= <uint32_t>data[position + 1] << 8
        value ^= <uint32_t>data[position]
        value *= MULTIPLIER
    value ^= value >> 13
    value *= MULTIPLIER
    return value ^ (value >> 15)


cdef int32_t partition_of_key(const uint8_t* key, int32_t size, int32_t partition_count) noexcept nogil:
    return <int32_t>((murmur2_hash(key, <size_t>size) & 0x7FFFFFFF) % <uint32_t>partition_count)


cdef uint32_t next_random(Partitioner* partitioner) noexcept nogil:
    """xorshift64*. The choice of partitions needs no secure generator."""
    cdef uint64_t x = partitioner.random
    x ^= x >> 12
    x ^= x << 25
    x ^= x >> 27
    partitioner.random = x
    return <uint32_t>((x * SCRAMBLER) >> 32)


cdef inline bint is_available(const Partitioner* partitioner, const PartitionQueue* queue, bint mind_nodes) noexcept nogil:
    if queue.node == NO_NODE:
        return False
    return not (mind_nodes and queue.node < partitioner.node_count and partitioner.node_is_unavailable[queue.node])


cdef int32_t random_partition(Partitioner* partitioner, TopicQueues* topic, bint mind_nodes) noexcept nogil:
    """Return a random available partition; any partition if none is available."""
    cdef int32_t available = 0
    cdef int32_t i, rank
    for i in range(topic.partition_count):
        available += is_available(partitioner, topic.queues[i], mind_nodes)
    if available == 0:
        return <int32_t>(next_random(partitioner) % <uint32_t>topic.partition_count)
    rank = <int32_t>(next_random(partitioner) % <uint32_t>available)
    for i in range(topic.partition_count):
        if is_available(partitioner, topic.queues[i], mind_nodes):
            if rank == 0:
                return i
            rank -= 1
    return 0


cdef int32_t next_sticky(Partitioner* partitioner, TopicQueues* topic) noexcept nogil:
    """Return a random partition, weighted by how much shorter its queue is than the longest, plus one (KIP-794)."""
    cdef int64_t longest = 0
    cdef int64_t total = 0
    cdef int64_t mark
    cdef int32_t i
    cdef PartitionQueue* queue
    if not partitioner.is_adaptive or topic.partition_count < 2:
        return random_partition(partitioner, topic, False)
    for i in range(topic.partition_count):
        longest = max(longest, <int64_t>topic.queues[i].batch_count)
    for i in range(topic.partition_count):
        queue = topic.queues[i]
        if is_available(partitioner, queue, True):
            total += longest + 1 - queue.batch_count
    if total == 0:
        return random_partition(partitioner, topic, False)
    mark = <int64_t>(next_random(partitioner) % <uint64_t>total)
    for i in range(topic.partition_count):
        queue = topic.queues[i]
        if is_available(partitioner, queue, True):
            mark -= longest + 1 - queue.batch_count
            if mark < 0:
                return i
    return 0


cdef int32_t round_robin(Partitioner* partitioner, TopicQueues* topic) noexcept nogil:
    """Return the next available partition, or the next one if none is available."""
    cdef int32_t i, partition
    for i in range(topic.partition_count):
        partition = <int32_t>((<uint32_t>topic.turn + <uint32_t>i) % <uint32_t>topic.partition_count)
        if is_available(partitioner, topic.queues[partition], False):
            topic.turn = (partition + 1) % topic.partition_count
            return partition
    partition = topic.turn % topic.partition_count
    topic.turn = (partition + 1) % topic.partition_count
    return partition


cdef int32_t other_partition(Partitioner* partitioner, TopicQueues* topic) noexcept nogil:
    """Return a random partition other than the current one, if possible (StickyPartitionCache.nextPartition)."""
    cdef int32_t attempt, partition = 0
    for attempt in range(16):
        partition = random_partition(partitioner, topic, False)
        if partition != topic.sticky_partition:
            break
    return partition


cdef int32_t choose_partition(Partitioner* partitioner, TopicQueues* topic, const uint8_t* key,
                              int32_t key_size) noexcept nogil:
    if partitioner.kind == PARTITION_ROUND_ROBIN:
        return round_robin(partitioner, topic)
    if partitioner.kind == PARTITION_BUILT_IN and key_size >= 0 and not partitioner.ignores_keys:
        return partition_of_key(key, key_size, topic.partition_count)
    if topic.sticky_partition == PARTITION_NOT_CHOSEN or topic.sticky_partition >= topic.partition_count:
        topic.sticky_partition = next_sticky(partitioner, topic)
        topic.sticky_bytes = 0
    return topic.sticky_partition


cdef void partition_was_used(Partitioner* partitioner, TopicQueues* topic, int64_t record_bytes,
                             bint batch_is_full) noexcept nogil:
    topic.sticky_bytes += record_bytes
    if partitioner.kind != PARTITION_BUILT_IN:
        return
    if ((topic.sticky_bytes >= partitioner.sticky_bytes_max and batch_is_full)
            or topic.sticky_bytes >= 2 * partitioner.sticky_bytes_max):
        topic.sticky_partition = next_sticky(partitioner, topic)
        topic.sticky_bytes = 0


cdef int32_t partition_of_new_batch(Partitioner* partitioner, TopicQueues* topic, int32_t chosen) noexcept nogil:
    if partitioner.kind != PARTITION_UNIFORM_STICKY or topic.sticky_bytes == 0:
        return chosen
    topic.sticky_partition = other_partition(partitioner, topic)
    topic.sticky_bytes = 0
    return topic.sticky_partition


def murmur2(bytes key not None):
    """Return the hash as a signed int, as in Java."""
    return <int32_t>murmur2_hash(<const uint8_t*>key, len(key))


def partition_for_key(bytes key not None, int32_t partition_count):
    """Return the key's partition among `partition_count`."""
    if partition_count < 1:
        raise ValueError(f"{partition_count} partitions: a topic has at least one")
    return partition_of_key(<const uint8_t*>key, <int32_t>len(key), partition_count)
