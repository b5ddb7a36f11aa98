"""Operations that wait for a condition or their time-out: DelayedOperationPurgatory of Kafka, without the GIL.

An operation is watched under one or more 64-bit keys. Whoever changes what a key stands for calls
`check_and_complete(key)`; the timing wheel expires what is left. `complete` runs exactly once, on the thread that
completed it, under no lock of the purgatory.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from kcore.platform.sync cimport pthread_mutex_t

cdef struct DelayedOperation:
    # The maker fills these four; `try_complete` answers whether the condition holds now, without side effects that
    # a second answer would repeat; `complete` does the work; `release` frees the structure with its last reference.
    void* context
    bint (*try_complete)(DelayedOperation* operation) noexcept nogil
    void (*complete)(DelayedOperation* operation, bint expired) noexcept nogil
    void (*release)(DelayedOperation* operation) noexcept nogil
    # The purgatory's own.
    int32_t completed
    int32_t references
    pthread_mutex_t lock
    int64_t deadline_tick
    DelayedOperation* timer_next
    DelayedOperation* timer_previous
    void* timer_bucket

cdef class Purgatory:
    """One kind of delayed operation (produce, fetch, rebalance, heartbeat), with its own timing wheel and reaper."""
    cdef void* watchers
    cdef void* timer

    # True: completed at once (or now), and `operation` is gone. False: it waits; the purgatory owns it.
    cdef bint try_complete_else_watch(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                                      int64_t timeout_ms) noexcept nogil
    # How many operations this call completed.
    cdef int check_and_complete(self, uint64_t key) noexcept nogil
    # Completes every operation of a key as expired (the partition or connection is going away).
    cdef int cancel(self, uint64_t key) noexcept nogil
    cdef int64_t delayed_count(self) noexcept nogil
    cdef int64_t watched_count(self) noexcept nogil
