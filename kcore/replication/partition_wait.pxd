"""Waiting for partitions: one delayed operation under the keys of all those that it is about."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

from kcore.purgatory.purgatory cimport DelayedOperation, Purgatory
from kcore.replication.partition cimport Partition


cdef inline bint wait_for_partitions(Purgatory purgatory, DelayedOperation* operation, const void* first, size_t stride,
                                     int32_t count, int64_t timeout_ms) noexcept nogil:
    """Hands the operation over to the purgatory; False, and it is still the caller's, without memory.

    `first` is the first of `count` pointers to pinned partitions that stand `stride` bytes apart.
    """
    cdef uint64_t* keys = <uint64_t*>malloc(<size_t>max(1, count) * sizeof(uint64_t))
    cdef const void* partition
    cdef int32_t position
    if keys == NULL:
        return False
    for position in range(count):
        partition = (<void**>(<const char*>first + <size_t>position * stride))[0]
        keys[position] = (<Partition>partition).key
    purgatory.try_complete_else_watch(operation, keys, count, timeout_ms)
    free(keys)
    return True
