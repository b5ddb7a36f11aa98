"""A processor's pool of receive buffers.

The first access to a page costs several times the copy into it, so buffers are reused, last in, first out. The pool
keeps at most `max_free_bytes` of free buffers. Buffers that stay unused from one trim to the next are returned to the
system page by page: the C library alone would keep most of them.

Reservations: a buffer of more than UNCOUNTED_BYTES counts with its capacity in the server's MemoryPool while it is in
use. A pool belongs to one thread and has no lock.
"""

from libc.stdint cimport int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, malloc
from kcore.network.memory_pool cimport UNCOUNTED_BYTES, MemoryPool

cdef extern from *:
    int count_leading_zeros "__builtin_clzll"(unsigned long long value) noexcept nogil

cdef extern from "<sys/mman.h>" nogil:
    int madvise(void* address, size_t size, int advice)
    enum:
        MADV_DONTNEED

cdef enum:
    SMALLEST_OCTAVE = 12         # the smallest class: 4 KiB
    PAGE = 4096


cdef int class_of(size_t size) noexcept nogil:
    cdef int octave
    if size <= <size_t>1 << SMALLEST_OCTAVE:
        return 0
    octave = 63 - count_leading_zeros(size - 1)
    return 4 * (octave - SMALLEST_OCTAVE) + 1 + <int>((size - 1 - (<size_t>1 << octave)) >> (octave - 2))


cdef size_t capacity_of_class(int size_class) noexcept nogil:
    cdef int octave = SMALLEST_OCTAVE + ((size_class - 1) >> 2)
    if size_class == 0:
        return <size_t>1 << SMALLEST_OCTAVE
    return (<size_t>1 << octave) + (<size_t>(((size_class - 1) & 3) + 1) << (octave - 2))


cdef size_t buffer_capacity(size_t size) noexcept nogil:
    return capacity_of_class(class_of(size))


cdef uint8_t* pool_take(BufferPool* pool, size_t size, size_t* capacity) noexcept nogil:
    cdef int size_class = class_of(size)
    cdef FreeBuffers* buffers = &pool.classes[size_class]
    cdef void* buffer = buffers.first
    capacity[0] = capacity_of_class(size_class)
    if buffer == NULL:
        buffer = malloc(capacity[0])
        if buffer == NULL and capacity[0] > UNCOUNTED_BYTES:
            (<MemoryPool>pool.memory).release(<int64_t>capacity[0])
        return <uint8_t*>buffer
    buffers.first = (<void**>buffer)[0]
    buffers.count -= 1
    if buffers.unused > buffers.count:
        buffers.unused = buffers.count
    pool.free_bytes -= capacity[0]
    return <uint8_t*>buffer


cdef void pool_give(BufferPool* pool, uint8_t* buffer, size_t capacity) noexcept nogil:
    cdef FreeBuffers* buffers = &pool.classes[class_of(capacity)]
    if capacity > UNCOUNTED_BYTES:
        (<MemoryPool>pool.memory).release(<int64_t>capacity)
    if pool.free_bytes + capacity > pool.max_free_bytes:
        free(buffer)
        return
    (<void**>buffer)[0] = buffers.first
    buffers.first = buffer
    buffers.count += 1
    pool.free_bytes += capacity


cdef void give_back(void* buffer, size_t capacity) noexcept nogil:
    """Frees a buffer and returns its pages to the system, even if the C library keeps their addresses."""
    cdef uintptr_t first = (<uintptr_t>buffer + PAGE - 1) & ~<uintptr_t>(PAGE - 1)
    cdef uintptr_t end = (<uintptr_t>buffer + capacity) & ~<uintptr_t>(PAGE - 1)
    if end > first:
        madvise(<void*>first, end - first, MADV_DONTNEED)
    free(buffer)


cdef void drop_free(BufferPool* pool, int size_class, int32_t count) noexcept nogil:
    """Drops the `count` free buffers of a class that have been unused for longest."""
    cdef FreeBuffers* buffers = &pool.classes[size_class]
    cdef void** link = &buffers.first
    cdef void* buffer
    cdef int32_t kept = buffers.count - count
    cdef int32_t i
    for i in range(kept):
        link = <void**>link[0]
    while link[0] != NULL:
        buffer = link[0]
        link[0] = (<void**>buffer)[0]
        give_back(buffer, capacity_of_class(size_class))
        pool.free_bytes -= capacity_of_class(size_class)
    buffers.count = kept


cdef void pool_trim(BufferPool* pool) noexcept nogil:
    cdef int size_class
    for size_class in range(SIZE_CLASSES):
        if pool.classes[size_class].unused:
            drop_free(pool, size_class, pool.classes[size_class].unused)
        pool.classes[size_class].unused = pool.classes[size_class].count


cdef void pool_free(BufferPool* pool) noexcept nogil:
    cdef int size_class
    for size_class in range(SIZE_CLASSES):
        drop_free(pool, size_class, pool.classes[size_class].count)
