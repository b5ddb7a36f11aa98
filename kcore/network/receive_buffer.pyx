"""A processor's stock of receive buffers.

A page that was never touched costs several times the copy into it, so buffers are reused, the last one returned first.
The pool keeps at most `max_free_bytes` of free ones. It belongs to one thread and has no lock.
"""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc


cdef int class_of(size_t size) noexcept nogil:
    cdef int size_class = SMALLEST_CLASS
    while size_class < LARGEST_CLASS and (<size_t>1 << size_class) < size:
        size_class += 1
    return size_class


cdef uint8_t* pool_take(BufferPool* pool, size_t size, size_t* capacity) noexcept nogil:
    cdef int size_class = class_of(size)
    cdef void* buffer = pool.free_buffers[size_class]
    capacity[0] = <size_t>1 << size_class
    if buffer == NULL:
        return <uint8_t*>malloc(capacity[0])
    pool.free_buffers[size_class] = (<void**>buffer)[0]
    pool.free_bytes -= capacity[0]
    return <uint8_t*>buffer


cdef void pool_give(BufferPool* pool, uint8_t* buffer, size_t capacity) noexcept nogil:
    cdef int size_class = class_of(capacity)
    if pool.free_bytes + capacity > pool.max_free_bytes:
        free(buffer)
        return
    (<void**>buffer)[0] = pool.free_buffers[size_class]
    pool.free_buffers[size_class] = buffer
    pool.free_bytes += capacity


cdef void pool_free(BufferPool* pool) noexcept nogil:
    cdef int size_class
    cdef void* buffer
    for size_class in range(LARGEST_CLASS + 1):
        while pool.free_buffers[size_class] != NULL:
            buffer = pool.free_buffers[size_class]
            pool.free_buffers[size_class] = (<void**>buffer)[0]
            free(buffer)
    pool.free_bytes = 0
