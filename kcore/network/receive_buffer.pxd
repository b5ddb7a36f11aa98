"""Warm receive buffers, in classes of sizes."""

from libc.stdint cimport int32_t, uint8_t

cdef enum:
    RECEIVE_CHUNK = 256 * 1024   # what one recv asks for
    SIZE_CLASSES = 81            # four for each doubling, from 4 KiB to 4 GiB

# Free buffers of one size, the last one returned first; a free buffer's first bytes hold the next one's address.
cdef struct FreeBuffers:
    void* first
    int32_t count
    int32_t unused               # the fewest that lay here since the last trim

cdef struct BufferPool:
    FreeBuffers[81] classes
    size_t free_bytes
    size_t max_free_bytes
    void* memory                 # MemoryPool: whoever takes a buffer has reserved its capacity there

# The capacity of the buffer that `size` bytes get: at most a quarter more.
cdef size_t buffer_capacity(size_t size) noexcept nogil
# At least `size` bytes, *capacity of them; NULL, with the reservation given back, without memory.
cdef uint8_t* pool_take(BufferPool* pool, size_t size, size_t* capacity) noexcept nogil
# Takes a buffer back, and with it its reservation.
cdef void pool_give(BufferPool* pool, uint8_t* buffer, size_t capacity) noexcept nogil
# Returns to the system what was never needed since the last trim.
cdef void pool_trim(BufferPool* pool) noexcept nogil
cdef void pool_free(BufferPool* pool) noexcept nogil
