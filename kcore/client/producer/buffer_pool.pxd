"""`buffer.memory`: what all batches of a producer may take together, in reused buffers (BufferPool of Apache Kafka).

Buffers of `batch.size` are kept when they come back, last in, first out, so that they are warm; so are those of the one
other size that was asked for last, which is what calls of `send_batch` ask for again and again. The rest is freed.
Concurrency: guarded by the accumulator's mutex. Threads that found no room stand in line; as long as somebody does,
only the first of them may take, so that a large record is not starved by small ones.
"""

from libc.stdint cimport int64_t, uint8_t
from kcore.client.producer.waiter cimport Waiter, WaitList

# Buffers of one size, in a chain through themselves.
cdef struct FreeBuffers:
    void* first
    size_t size


cdef class BufferPool:
    cdef readonly size_t memory_bytes           # buffer.memory
    cdef readonly size_t pooled_bytes           # batch.size
    cdef size_t used_bytes                      # in batches
    cdef size_t kept_bytes                      # in `ordinary` and `large`
    cdef FreeBuffers ordinary                   # of `pooled_bytes`
    cdef FreeBuffers large                      # of the other size that was asked for last
    cdef WaitList waiters

    cdef FreeBuffers* buffers_of(self, size_t size) noexcept nogil
    cdef void* take_kept(self, FreeBuffers* buffers) noexcept nogil
    cdef bint drop_one(self) noexcept nogil
    cdef void tell_first(self) noexcept nogil

    # NULL: no room for the moment, or none in this machine. `waiter` is the caller's place in line, or NULL.
    cdef uint8_t* take(self, size_t size, Waiter* waiter) noexcept nogil
    # Counts malloc'ed memory that `give` will get: the parts of a split batch, which may exceed the limit for a while.
    cdef void charge(self, size_t size) noexcept nogil
    cdef void give(self, uint8_t* buffer, size_t size) noexcept nogil
    cdef void join(self, Waiter* waiter, size_t size) noexcept nogil
    cdef void leave(self, Waiter* waiter) noexcept nogil
    cdef bint is_exhausted(self) noexcept nogil   # somebody waits: what is half full had better leave
