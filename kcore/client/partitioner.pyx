"""Which partition a record without an explicit one goes to (Kafka's BuiltInPartitioner).

A record with a key goes where the murmur2 hash of the key's bytes says, so that equal keys stay in order, and every
client of Kafka that hashes so agrees. An empty key is a key. Records without a key stick to one partition as long as
a batch is filling, which makes few large batches of many records.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t

import random

cdef uint32_t MULTIPLIER = 0x5BD1E995
cdef uint32_t SEED = 0x9747B28C


cdef uint32_t hash_bytes(const uint8_t* data, size_t size) noexcept nogil:
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


def murmur2(bytes key not None):
    """The hash as Java's signed int."""
    return <int32_t>hash_bytes(<const uint8_t*>key, len(key))


def partition_for_key(bytes key not None, int32_t partition_count):
    """The key's partition among `partition_count`."""
    if partition_count < 1:
        raise ValueError(f"{partition_count} partitions: a topic has at least one")
    return <int32_t>((hash_bytes(<const uint8_t*>key, len(key)) & 0x7FFFFFFF) % <uint32_t>partition_count)


cdef class StickyPartitioner:
    """The partition in use of each topic, changed whenever a batch is full."""

    cdef dict _current

    def __init__(self):
        self._current = {}

    def partition(self, str topic not None, int32_t partition_count):
        """The partition that takes the topic's records without a key at the moment."""
        current = self._current.get(topic)
        if current is None or current >= partition_count:
            current = self._current[topic] = random.randrange(partition_count)
        return current

    def next_batch(self, str topic not None, int32_t partition_count):
        """Moves on to another partition, if there is another one."""
        current = self._current.get(topic)
        if current is None or partition_count < 2:
            return
        step = random.randrange(1, partition_count)
        self._current[topic] = (current + step) % partition_count
