"""Warm receive buffers, in classes of powers of two."""

from libc.stdint cimport uint8_t

cdef enum:
    SMALLEST_CLASS = 12          # 4 KiB
    LARGEST_CLASS = 31
    RECEIVE_CHUNK = 256 * 1024   # what one recv asks for

# A free buffer's first bytes hold the next one's address.
cdef struct BufferPool:
    void* free_buffers[32]
    size_t free_bytes
    size_t max_free_bytes

# At least `size` bytes, *capacity of them; NULL without memory.
cdef uint8_t* pool_take(BufferPool* pool, size_t size, size_t* capacity) noexcept nogil
cdef void pool_give(BufferPool* pool, uint8_t* buffer, size_t capacity) noexcept nogil
cdef void pool_free(BufferPool* pool) noexcept nogil
