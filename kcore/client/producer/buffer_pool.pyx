"""Implementation of BufferPool; see buffer_pool.pxd for its rules."""

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from kcore.client.producer.waiter cimport Waiter, waiter_join, waiter_leave, waiter_tell


@cython.final
cdef class BufferPool:
    """`memory_bytes` is the total, `pooled_bytes` the size of a reused buffer."""

    def __cinit__(self, size_t memory_bytes, size_t pooled_bytes):
        self.memory_bytes = memory_bytes
        # Free buffers contain the pointer to the next one.
        self.pooled_bytes = max(pooled_bytes, sizeof(void*))
        self.ordinary.size = self.pooled_bytes

    def __dealloc__(self):
        while self.drop_one():
            pass

    cdef FreeBuffers* buffers_of(self, size_t size) noexcept nogil:
        if size == self.ordinary.size:
            return &self.ordinary
        return &self.large if size == self.large.size else NULL

    cdef void* take_kept(self, FreeBuffers* buffers) noexcept nogil:
        cdef void* buffer = buffers.first
        if buffer != NULL:
            buffers.first = (<void**>buffer)[0]
            self.kept_bytes -= buffers.size
        return buffer

    cdef bint drop_one(self) noexcept nogil:
        """Free one unused buffer. Returns False if there is none."""
        cdef void* buffer = self.take_kept(&self.large)
        if buffer == NULL:
            buffer = self.take_kept(&self.ordinary)
        free(buffer)
        return buffer != NULL

    cdef uint8_t* take(self, size_t size, Waiter* waiter) noexcept nogil:
        cdef FreeBuffers* buffers = self.buffers_of(size)
        cdef void* buffer
        if self.used_bytes + size > self.memory_bytes:
            return NULL
        if self.waiters.first != NULL and waiter != self.waiters.first:
            return NULL
        if buffers == NULL and size > self.pooled_bytes:
            while self.large.first != NULL:
                free(self.take_kept(&self.large))
            self.large.size = size
        buffer = NULL if buffers == NULL else self.take_kept(buffers)
        if buffer == NULL:
            while self.used_bytes + self.kept_bytes + size > self.memory_bytes and self.drop_one():
                pass
            buffer = malloc(size)
            if buffer == NULL:
                return NULL
        self.used_bytes += size
        return <uint8_t*>buffer

    cdef void give(self, uint8_t* buffer, size_t size) noexcept nogil:
        cdef FreeBuffers* buffers = self.buffers_of(size)
        self.used_bytes -= size
        if buffers != NULL:
            (<void**>buffer)[0] = buffers.first
            buffers.first = buffer
            self.kept_bytes += size
        else:
            free(buffer)
        self.tell_first()

    cdef void charge(self, size_t size) noexcept nogil:
        self.used_bytes += size

    cdef void tell_first(self) noexcept nogil:
        cdef Waiter* first = self.waiters.first
        if first != NULL and self.used_bytes + <size_t>first.wanted <= self.memory_bytes:
            waiter_tell(first)

    cdef void join(self, Waiter* waiter, size_t size) noexcept nogil:
        waiter.wanted = <int64_t>size
        waiter_join(&self.waiters, waiter)
        # A buffer may have been returned since the last attempt.
        self.tell_first()

    cdef void leave(self, Waiter* waiter) noexcept nogil:
        waiter_leave(&self.waiters, waiter)
        self.tell_first()

    cdef bint is_exhausted(self) noexcept nogil:
        return self.waiters.first != NULL
