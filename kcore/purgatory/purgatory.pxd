"""Operations that wait for a condition or their time-out: DelayedOperationPurgatory of Kafka, without the GIL.

An operation is watched under one or more 64-bit keys. Whoever changes what a key stands for calls
`check_and_complete(key)`; the timing wheel expires what is left. `complete` runs exactly once, on the thread that
completed it, under no lock of the purgatory.
"""

from libc.stdint cimport int64_t, uint64_t
from kcore.platform.sync cimport pthread_cond_t, pthread_mutex_t
from kcore.purgatory.delayed_operation cimport DelayedOperation
from kcore.purgatory.timing_wheel cimport TimerEntry, TimingWheel
from kcore.purgatory.watchers cimport WatcherTable

cdef class Purgatory:
    """One kind of delayed operation (produce, fetch, rebalance, heartbeat), with its own timing wheel and reaper."""
    cdef WatcherTable watchers
    cdef TimingWheel wheel
    cdef pthread_mutex_t wheel_lock
    cdef pthread_cond_t wheel_changed
    cdef int64_t purge_interval
    cdef int64_t completed_watches   # entries of watcher lists whose operation is completed, about
    cdef int64_t manual_now_ms
    cdef bint manual_clock
    cdef bint is_stopping
    cdef object thread
    cdef object kept                 # what operations point to, alive as long as the reaper
    cdef readonly str name

    # True: completed at once (or now), and `operation` is gone. False: it waits; the purgatory owns it.
    cdef bint try_complete_else_watch(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                                      int64_t timeout_ms) noexcept nogil
    # The same for an operation that `operation_init` has made and to which the caller keeps its reference.
    cdef bint begin(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                    int64_t timeout_ms) noexcept nogil
    # How many operations this call completed.
    cdef int check_and_complete(self, uint64_t key) noexcept nogil
    # Completes every operation of a key as expired (the partition or connection is going away).
    cdef int cancel(self, uint64_t key) noexcept nogil
    # Completes one operation, to which the caller holds a reference, whether its condition holds or not; False when
    # somebody was earlier.
    cdef bint complete_by_force(self, DelayedOperation* operation, bint expired) noexcept nogil
    cdef int64_t delayed_count(self) noexcept nogil
    cdef int64_t watched_count(self) noexcept nogil

    cdef bint watch(self, DelayedOperation* operation, const uint64_t* keys, int key_count) noexcept nogil
    cdef void start_timer(self, DelayedOperation* operation, int64_t timeout_ms) noexcept nogil
    cdef void stop_timer(self, DelayedOperation* operation) noexcept nogil
    cdef void finish(self, DelayedOperation* operation, bint expired) noexcept nogil
    cdef int complete_watchers(self, uint64_t key, bint by_force) noexcept nogil
    cdef int64_t now_ns(self) noexcept nogil
    cdef bint is_sweep_due(self) noexcept nogil
    cdef void sweep_when_due(self) noexcept nogil
    cdef void sweep(self) noexcept nogil
    cdef void expire_all(self) noexcept nogil
    cdef void expire_due(self, int64_t now_ms) noexcept nogil
    cdef void reap(self) noexcept nogil
    cdef void expire(self, TimerEntry* entries) noexcept nogil
