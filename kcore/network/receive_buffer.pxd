"""Reusable receive buffers in size classes."""

from libc.stdint cimport int32_t, uint8_t

cdef enum:
    RECEIVE_CHUNK = 256 * 1024   # bytes that one recv asks for
    SIZE_CLASSES = 81            # four per doubling, from 4 KiB to 4 GiB

# Free buffers of one size, in LIFO order. The first bytes of a free buffer have the address of the next one.
cdef struct FreeBuffers:
    void* first
    int32_t count
    int32_t unused               # minimum of `count` since the last trim

cdef struct BufferPool:
    FreeBuffers[81] classes
    size_t free_bytes
    size_t max_free_bytes
    void* memory                 # MemoryPool, where the caller of pool_take has reserved the capacity

# The capacity of the buffer for `size` bytes: at most a quarter more.
cdef size_t buffer_capacity(size_t size) noexcept nogil
# A buffer of at least `size` bytes; sets *capacity. If memory is exhausted, releases the reservation and returns NULL.
cdef uint8_t* pool_take(BufferPool* pool, size_t size, size_t* capacity) noexcept nogil
# Takes back a buffer and releases its reservation.
cdef void pool_give(BufferPool* pool, uint8_t* buffer, size_t capacity) noexcept nogil
# Returns buffers to the system that were not used since the last trim.
cdef void pool_trim(BufferPool* pool) noexcept nogil
cdef void pool_free(BufferPool* pool) noexcept nogil
