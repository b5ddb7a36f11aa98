"""Waiting for partitions: one delayed operation, watched under the keys of all its partitions."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc

from kcore.errors cimport REQUEST_TIMED_OUT
from kcore.purgatory.purgatory cimport DelayedOperation, Purgatory
from kcore.replication.partition cimport Partition

# A partition that an operation waits for, and the offset up to which a produce needs its acknowledgement. An operation
# has an array of entries that begin with this structure.
cdef struct AwaitedPartition:
    void* partition              # pinned; the first field, for `wait_for_partitions`
    int64_t required_offset


cdef inline int16_t awaited_error(const AwaitedPartition* awaited, int16_t acks) noexcept nogil:
    """The error of a produce that is answered now: REQUEST_TIMED_OUT if the acknowledgement is missing."""
    cdef int16_t error
    if (<Partition>awaited.partition).is_acknowledged(acks, awaited.required_offset, &error):
        return error
    return REQUEST_TIMED_OUT


cdef inline bint are_acknowledged(const AwaitedPartition* first, size_t stride, int32_t count,
                                  int16_t acks) noexcept nogil:
    """Whether a produce need not wait any longer: every partition has acknowledged it or failed.

    `first` is the first of `count` entries, `stride` bytes apart.
    """
    cdef const AwaitedPartition* awaited
    cdef int32_t position
    cdef int16_t error
    for position in range(count):
        awaited = <const AwaitedPartition*>(<const char*>first + <size_t>position * stride)
        if not (<Partition>awaited.partition).is_acknowledged(acks, awaited.required_offset, &error):
            return False
    return True


cdef inline bint wait_for_partitions(Purgatory purgatory, DelayedOperation* operation, const void* first, size_t stride,
                                     int32_t count, int64_t timeout_ms) noexcept nogil:
    """Passes the operation to the purgatory. Returns False if memory is exhausted: the caller still owns the operation.

    `first` is the first of `count` pointers to pinned partitions, `stride` bytes apart.
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
