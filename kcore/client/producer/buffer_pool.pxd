"""BufferPool: limits the memory of a producer's batches to `buffer.memory`, and reuses buffers (Kafka's BufferPool).

Returned buffers of `batch.size` are kept, last in, first out, so that they are in the CPU's caches. So are buffers of
the one other size that was requested last, because calls of `send_batch` request it repeatedly. Others are freed.
Concurrency: guarded by the accumulator's mutex. Threads that find no room wait in a queue. While it is not empty, only
its first thread may take a buffer, so that small records do not starve a large one.
"""

from libc.stdint cimport int64_t, uint8_t
from kcore.client.producer.waiter cimport Waiter, WaitList

# Free buffers of one size, linked through their first bytes.
cdef struct FreeBuffers:
    void* first
    size_t size


cdef class BufferPool:
    cdef readonly size_t memory_bytes           # buffer.memory
    cdef readonly size_t pooled_bytes           # batch.size
    cdef size_t used_bytes                      # in batches
    cdef size_t kept_bytes                      # in `ordinary` and `large`
    cdef FreeBuffers ordinary                   # of `pooled_bytes`
    cdef FreeBuffers large                      # of the other size that was requested last
    cdef WaitList waiters

    cdef FreeBuffers* buffers_of(self, size_t size) noexcept nogil
    cdef void* take_kept(self, FreeBuffers* buffers) noexcept nogil
    cdef bint drop_one(self) noexcept nogil
    cdef void tell_first(self) noexcept nogil

    # NULL: no room at the moment, or allocation failed. `waiter` is the caller's place in the queue, or NULL.
    cdef uint8_t* take(self, size_t size, Waiter* waiter) noexcept nogil
    # Counts malloc'ed buffers that `give` will free: those of a split batch, which may exceed the limit temporarily.
    cdef void charge(self, size_t size) noexcept nogil
    cdef void give(self, uint8_t* buffer, size_t size) noexcept nogil
    cdef void join(self, Waiter* waiter, size_t size) noexcept nogil
    cdef void leave(self, Waiter* waiter) noexcept nogil
    cdef bint is_exhausted(self) noexcept nogil   # a thread waits, so half-full batches should be sent
