"""Operations that wait for a condition or a timeout: Kafka's DelayedOperationPurgatory, without the GIL.

An operation is watched under one or more 64-bit keys. After a change that concerns a key, call
`check_and_complete(key)`. The timing wheel expires the remaining operations. `complete` runs exactly once, on the
thread that completed the operation, with no lock of the purgatory held.
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
    cdef int64_t completed_watches   # approximate number of watcher list entries with a completed operation
    cdef int64_t manual_now_ms
    cdef bint manual_clock
    cdef bint is_stopping
    cdef object thread
    cdef object kept                 # objects that operations point to, kept alive as long as the purgatory
    cdef readonly str name

    # Returns True if the operation completed at once; `operation` is freed. False: it waits, and the purgatory owns it.
    cdef bint try_complete_else_watch(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                                      int64_t timeout_ms) noexcept nogil
    # The same for an operation after `operation_init`; the caller keeps its reference.
    cdef bint begin(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                    int64_t timeout_ms) noexcept nogil
    # Completes the operations of a key whose condition holds. Returns how many this call completed.
    cdef int check_and_complete(self, uint64_t key) noexcept nogil
    # Completes every operation of a key as expired, because its partition or connection goes away.
    cdef int cancel(self, uint64_t key) noexcept nogil
    # Completes one operation regardless of its condition. The caller holds a reference. False if it was completed
    # before.
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
