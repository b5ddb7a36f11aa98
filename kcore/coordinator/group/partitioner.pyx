"""The partition of `__consumer_offsets` for a group: the absolute value of Java's `String.hashCode`, modulo the count.

Every broker and tool must compute the same value. The hash is over UTF-16 code units. It is native code because every
group request needs it.
"""

from libc.stdint cimport INT32_MIN, int32_t, uint32_t


def java_hash_code(str text not None) -> int:
    """`String.hashCode()` as a signed 32-bit number."""
    cdef uint32_t value = 0
    cdef Py_UCS4 character
    for character in text:
        if character > 0xFFFF:
            # A surrogate pair: two code units.
            value = 31 * value + (0xD800 + ((<uint32_t>character - 0x10000) >> 10))
            value = 31 * value + (0xDC00 + ((<uint32_t>character - 0x10000) & 0x3FF))
        else:
            value = 31 * value + <uint32_t>character
    return <int32_t>value


def partition_for(str group_id not None, int32_t partition_count) -> int:
    """The partition of a group (Kafka's `GroupMetadataManager.partitionFor`). The minimum int32 counts as 0."""
    cdef int32_t value = java_hash_code(group_id)
    return (0 if value == INT32_MIN else abs(value)) % partition_count
