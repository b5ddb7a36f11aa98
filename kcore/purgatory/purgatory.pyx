"""The purgatory: watcher lists, a timing wheel, and a reaper thread that never needs the GIL.

An operation is tried, watched, and tried again; otherwise a change between the first try and the watching would be
missed. Then its timer starts. Once it is watched, any thread may complete it; all use `operation_claim`.

A completed operation leaves the wheel and the list of the key that completed it at once. The reaper sweeps the lists of
its other keys when they have more than `purge_interval` completed entries, and more than half of all entries.

A deadline is rounded up to the next millisecond, so nothing expires early.

Concurrency: lock order is operation, then watcher shard or wheel. Neither of the latter is held while an operation is
tried, completed or released. After `shutdown` an operation that cannot complete expires at once.
Source: kafka.server.DelayedOperationPurgatory.
"""

import threading

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from kcore.platform.signals cimport block_signals
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, atomic_add_64, atomic_load_64, atomic_store_64, clock_gettime, pthread_cond_destroy,
    pthread_cond_init, pthread_cond_signal, pthread_cond_timedwait, pthread_cond_wait, pthread_condattr_destroy,
    pthread_condattr_init, pthread_condattr_setclock, pthread_condattr_t, pthread_mutex_destroy, pthread_mutex_init,
    pthread_mutex_lock, pthread_mutex_unlock, timespec,
)
from kcore.purgatory.delayed_operation cimport (
    DelayedOperation, operation_acquire, operation_claim, operation_init, operation_is_completed, operation_release,
)
from kcore.purgatory.timing_wheel cimport (
    TimerEntry, wheel_add, wheel_advance, wheel_free, wheel_init, wheel_next_ms, wheel_remove, wheel_take_all,
)
from kcore.purgatory.watchers cimport (
    WatchSnapshot, snapshot_release, watchers_add, watchers_free, watchers_init, watchers_snapshot, watchers_sweep,
    watchers_sweep_all,
)

cdef enum:
    NANOSECONDS = 1000000000
    NANOSECONDS_PER_MS = 1000000

# Longer timeouts are cut to this one, three hundred years, so that adding it to the clock does not overflow.
cdef int64_t LONGEST_TIMEOUT_MS = 10000000000000


cdef class Purgatory:
    """One kind of delayed operation, with its own wheel and reaper.

    With `manual_clock` there is no reaper, and time advances only in `advance_clock`.
    """

    def __cinit__(self, str name, int64_t purge_interval=1000, bint manual_clock=False):
        cdef pthread_condattr_t attributes
        self.name = name
        self.purge_interval = purge_interval
        self.manual_clock = manual_clock
        pthread_mutex_init(&self.wheel_lock, NULL)
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&self.wheel_changed, &attributes)
        pthread_condattr_destroy(&attributes)
        if not watchers_init(&self.watchers) or not wheel_init(&self.wheel, self.now_ns() // NANOSECONDS_PER_MS):
            raise MemoryError

    def __dealloc__(self):
        cdef TimerEntry* entries = wheel_take_all(&self.wheel)
        cdef TimerEntry* entry
        while entries != NULL:
            entry = entries
            entries = entry.next
            operation_release(<DelayedOperation*>entry.owner)
        watchers_free(&self.watchers)
        wheel_free(&self.wheel)
        pthread_cond_destroy(&self.wheel_changed)
        pthread_mutex_destroy(&self.wheel_lock)

    # --- without the GIL -------------------------------------------------------------------------------------------

    cdef int64_t now_ns(self) noexcept nogil:
        cdef timespec now
        if self.manual_clock:
            return atomic_load_64(&self.manual_now_ms) * NANOSECONDS_PER_MS
        clock_gettime(CLOCK_MONOTONIC, &now)
        return <int64_t>now.tv_sec * NANOSECONDS + now.tv_nsec

    cdef bint try_complete_else_watch(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                                      int64_t timeout_ms) noexcept nogil:
        cdef bint completed
        operation_init(operation)
        completed = self.begin(operation, keys, key_count, timeout_ms)
        operation_release(operation)
        return completed

    cdef bint begin(self, DelayedOperation* operation, const uint64_t* keys, int key_count,
                    int64_t timeout_ms) noexcept nogil:
        if operation_claim(operation, False):
            self.finish(operation, False)
            return True
        if timeout_ms <= 0 or self.is_stopping:
            return self.complete_by_force(operation, True)
        if self.watch(operation, keys, key_count):
            return True
        self.start_timer(operation, timeout_ms)
        return False

    cdef bint watch(self, DelayedOperation* operation, const uint64_t* keys, int key_count) noexcept nogil:
        """Adds the operation under its keys and tries it once more. Returns True if this try completed it."""
        cdef int i
        operation.watched_keys = key_count
        for i in range(key_count):
            # If memory for an entry is exhausted, the operation still has its timer.
            watchers_add(&self.watchers, keys[i], operation)
        if key_count == 0 or not operation_claim(operation, False):
            return False
        self.finish(operation, False)
        return True

    cdef void start_timer(self, DelayedOperation* operation, int64_t timeout_ms) noexcept nogil:
        cdef int64_t now_ns = self.now_ns()
        cdef int64_t next_ms
        cdef bint waits = True
        operation.timer.deadline_ms = (
            (now_ns + NANOSECONDS_PER_MS - 1) // NANOSECONDS_PER_MS + min(timeout_ms, LONGEST_TIMEOUT_MS))
        pthread_mutex_lock(&self.wheel_lock)
        # A thread that completes it later finds it in the wheel. One that completed it earlier has claimed it by now.
        if not operation_is_completed(operation):
            next_ms = wheel_next_ms(&self.wheel)
            operation_acquire(operation)
            waits = wheel_add(&self.wheel, &operation.timer, now_ns // NANOSECONDS_PER_MS) and not self.is_stopping
            if wheel_next_ms(&self.wheel) < next_ms:
                pthread_cond_signal(&self.wheel_changed)
            if operation.timer.bucket == NULL:
                operation_release(operation)
        pthread_mutex_unlock(&self.wheel_lock)
        if not waits:
            self.complete_by_force(operation, True)

    cdef void stop_timer(self, DelayedOperation* operation) noexcept nogil:
        cdef bint removed
        pthread_mutex_lock(&self.wheel_lock)
        removed = wheel_remove(&self.wheel, &operation.timer)
        pthread_mutex_unlock(&self.wheel_lock)
        if removed:
            operation_release(operation)

    cdef void finish(self, DelayedOperation* operation, bint expired) noexcept nogil:
        """Completes an operation after a successful claim. The caller holds a reference."""
        self.stop_timer(operation)
        atomic_add_64(&self.completed_watches, operation.watched_keys)
        operation.complete(operation, expired)
        self.sweep_when_due()

    cdef bint complete_by_force(self, DelayedOperation* operation, bint expired) noexcept nogil:
        if not operation_claim(operation, True):
            return False
        self.finish(operation, expired)
        return True

    cdef int check_and_complete(self, uint64_t key) noexcept nogil:
        return self.complete_watchers(key, False)

    cdef int cancel(self, uint64_t key) noexcept nogil:
        return self.complete_watchers(key, True)

    cdef int complete_watchers(self, uint64_t key, bint by_force) noexcept nogil:
        cdef WatchSnapshot snapshot
        cdef int completed = 0
        cdef bint has_completed = False
        cdef int32_t i
        watchers_snapshot(&self.watchers, key, &snapshot)
        for i in range(snapshot.count):
            if not operation_is_completed(snapshot.operations[i]) and operation_claim(snapshot.operations[i], by_force):
                self.finish(snapshot.operations[i], by_force)
                completed += 1
            has_completed = has_completed or operation_is_completed(snapshot.operations[i])
        snapshot_release(&snapshot)
        if has_completed:
            atomic_add_64(&self.completed_watches, -watchers_sweep(&self.watchers, key))
        return completed

    cdef int64_t delayed_count(self) noexcept nogil:
        cdef int64_t count
        pthread_mutex_lock(&self.wheel_lock)
        count = self.wheel.count
        pthread_mutex_unlock(&self.wheel_lock)
        return count

    cdef int64_t watched_count(self) noexcept nogil:
        return atomic_load_64(&self.watchers.watched)

    # --- the reaper ------------------------------------------------------------------------------------------------

    cdef bint is_sweep_due(self) noexcept nogil:
        cdef int64_t completed = atomic_load_64(&self.completed_watches)
        return completed > self.purge_interval and 2 * completed > atomic_load_64(&self.watchers.watched)

    cdef void sweep_when_due(self) noexcept nogil:
        """Wakes the reaper for a sweep if one is due. With a manual clock, sweeps here."""
        if not self.is_sweep_due():
            return
        if self.manual_clock:
            self.sweep()
            return
        pthread_mutex_lock(&self.wheel_lock)
        pthread_cond_signal(&self.wheel_changed)
        pthread_mutex_unlock(&self.wheel_lock)

    cdef void sweep(self) noexcept nogil:
        cdef int64_t removed = watchers_sweep_all(&self.watchers)
        if removed:
            atomic_add_64(&self.completed_watches, -removed)
        else:
            # The count is too high: some entries were not added because memory was exhausted.
            atomic_store_64(&self.completed_watches, 0)

    cdef void expire(self, TimerEntry* entries) noexcept nogil:
        """Completes the operations that left the wheel, and drops the wheel's references."""
        cdef TimerEntry* entry
        cdef DelayedOperation* operation
        while entries != NULL:
            entry = entries
            entries = entry.next
            operation = <DelayedOperation*>entry.owner
            self.complete_by_force(operation, True)
            operation_release(operation)

    cdef void reap(self) noexcept nogil:
        cdef TimerEntry* expired
        cdef int64_t next_ms
        cdef timespec deadline
        block_signals()
        pthread_mutex_lock(&self.wheel_lock)
        while not self.is_stopping:
            expired = wheel_advance(&self.wheel, self.now_ns() // NANOSECONDS_PER_MS)
            if expired != NULL or self.is_sweep_due():
                pthread_mutex_unlock(&self.wheel_lock)
                self.expire(expired)
                if self.is_sweep_due():
                    self.sweep()
                pthread_mutex_lock(&self.wheel_lock)
                continue
            next_ms = wheel_next_ms(&self.wheel)
            if next_ms == INT64_MAX:
                pthread_cond_wait(&self.wheel_changed, &self.wheel_lock)
                continue
            deadline.tv_sec = <long>(next_ms // 1000)
            deadline.tv_nsec = <long>(next_ms % 1000 * NANOSECONDS_PER_MS)
            pthread_cond_timedwait(&self.wheel_changed, &self.wheel_lock, &deadline)
        pthread_mutex_unlock(&self.wheel_lock)

    # --- Python ----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """The reaper's main loop."""
        with nogil:
            self.reap()

    def start(self) -> None:
        if self.thread is not None or self.manual_clock:
            raise RuntimeError(f"the purgatory {self.name} has a reaper already, or needs none")
        self.thread = threading.Thread(target=self.run, name=f"expiration-reaper-{self.name}", daemon=True)
        self.thread.start()

    def shutdown(self) -> None:
        """Ends the reaper and completes the waiting operations as expired."""
        with nogil:
            pthread_mutex_lock(&self.wheel_lock)
            self.is_stopping = True
            pthread_cond_signal(&self.wheel_changed)
            pthread_mutex_unlock(&self.wheel_lock)
        if self.thread is not None:
            self.thread.join()
            self.thread = None
        with nogil:
            self.expire_all()

    cdef void expire_all(self) noexcept nogil:
        cdef TimerEntry* entries
        pthread_mutex_lock(&self.wheel_lock)
        entries = wheel_take_all(&self.wheel)
        pthread_mutex_unlock(&self.wheel_lock)
        self.expire(entries)
        self.sweep()

    def advance_clock(self, int64_t now_ms) -> None:
        """With a manual clock: sets the time, and completes on this thread the operations that are due."""
        if not self.manual_clock:
            raise RuntimeError(f"the purgatory {self.name} goes by the machine's clock")
        with nogil:
            atomic_store_64(&self.manual_now_ms, now_ms)
            self.expire_due(now_ms)

    cdef void expire_due(self, int64_t now_ms) noexcept nogil:
        cdef TimerEntry* entries
        pthread_mutex_lock(&self.wheel_lock)
        entries = wheel_advance(&self.wheel, now_ms)
        pthread_mutex_unlock(&self.wheel_lock)
        self.expire(entries)

    def check(self, uint64_t key) -> int:
        """`check_and_complete` for Python. Returns how many operations of the key this call completed."""
        cdef int completed
        with nogil:
            completed = self.check_and_complete(key)
        return completed

    def expire_key(self, uint64_t key) -> int:
        """Completes every operation of the key as expired. Returns how many."""
        cdef int completed
        with nogil:
            completed = self.cancel(key)
        return completed

    @property
    def delayed(self) -> int:
        """The number of waiting operations (Kafka's NumDelayedOperations)."""
        cdef int64_t count
        with nogil:
            count = self.delayed_count()
        return count

    @property
    def watched(self) -> int:
        """The number of entries in watcher lists, including completed ones not swept yet (Kafka's PurgatorySize)."""
        return self.watched_count()
