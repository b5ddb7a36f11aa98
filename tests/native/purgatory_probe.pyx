"""Native delayed operations that wait for a gate, and a Python face of the timing wheel, for the tests of the purgatory."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, atomic_add_32, atomic_add_64, atomic_load_32, atomic_load_64, atomic_store_32, clock_gettime,
    pthread_cond_broadcast, pthread_cond_init, pthread_cond_t, pthread_cond_timedwait, pthread_condattr_init,
    pthread_condattr_setclock, pthread_condattr_t, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t,
    pthread_mutex_unlock, timespec,
)
from kcore.purgatory.delayed_operation cimport DelayedOperation
from kcore.purgatory.purgatory cimport Purgatory
from kcore.purgatory.timing_wheel cimport (
    TimerEntry, TimingWheel, wheel_add, wheel_advance, wheel_free, wheel_init, wheel_next_ms, wheel_remove,
    wheel_take_all,
)

cdef struct Door:
    int32_t open
    int64_t completed
    int64_t expired
    int64_t overlapping          # try_complete run by two threads at once, or after the claim
    int64_t repeated             # complete run more than once
    int64_t early                # expired before the deadline
    pthread_mutex_t lock
    pthread_cond_t changed

cdef struct Visitor:
    DelayedOperation operation
    Door* door
    int32_t trying
    int32_t finished
    int64_t deadline_ns


cdef int64_t monotonic_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec


cdef bint is_open(DelayedOperation* operation) noexcept nogil:
    cdef Visitor* visitor = <Visitor*>operation.context
    cdef bint answer
    if atomic_add_32(&visitor.trying, 1) != 1 or atomic_load_32(&visitor.finished):
        atomic_add_64(&visitor.door.overlapping, 1)
    answer = atomic_load_32(&visitor.door.open) != 0
    atomic_add_32(&visitor.trying, -1)
    return answer


cdef void pass_through(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef Visitor* visitor = <Visitor*>operation.context
    if atomic_add_32(&visitor.finished, 1) != 1:
        atomic_add_64(&visitor.door.repeated, 1)
    if expired and visitor.deadline_ns and monotonic_ns() < visitor.deadline_ns:
        atomic_add_64(&visitor.door.early, 1)
    pthread_mutex_lock(&visitor.door.lock)
    if expired:
        visitor.door.expired += 1
    else:
        visitor.door.completed += 1
    pthread_cond_broadcast(&visitor.door.changed)
    pthread_mutex_unlock(&visitor.door.lock)


cdef void leave(DelayedOperation* operation) noexcept nogil:
    free(operation.context)


KEPT = []


cdef class Gate:
    """Operations made by `wait` complete when the gate is open; what became of them is counted."""
    cdef Door door

    def __cinit__(self):
        cdef pthread_condattr_t attributes
        pthread_mutex_init(&self.door.lock, NULL)
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&self.door.changed, &attributes)
        KEPT.append(self)        # operations that are never swept still point here

    def set_open(self, bint is_open=True):
        atomic_store_32(&self.door.open, is_open)

    def wait(self, Purgatory purgatory, list keys, int64_t timeout_ms, bint check_early=False):
        """Watches under `keys`; what try_complete_else_watch answered."""
        cdef uint64_t[64] native_keys
        cdef int count = <int>len(keys)
        cdef int i
        cdef bint completed
        cdef Visitor* visitor = <Visitor*>calloc(1, sizeof(Visitor))
        for i in range(count):
            native_keys[i] = keys[i]
        visitor.door = &self.door
        visitor.deadline_ns = monotonic_ns() + timeout_ms * 1000000 if check_early else 0
        visitor.operation.context = visitor
        visitor.operation.try_complete = is_open
        visitor.operation.complete = pass_through
        visitor.operation.release = leave
        with nogil:
            completed = purgatory.try_complete_else_watch(&visitor.operation, native_keys, count, timeout_ms)
        return completed

    def open_and_check(self, Purgatory purgatory, uint64_t key):
        """Both without the GIL, as a produce does; how many operations that completed."""
        cdef int completed
        with nogil:
            atomic_store_32(&self.door.open, 1)
            completed = purgatory.check_and_complete(key)
        return completed

    cdef bint reaches(self, int64_t count, int seconds) noexcept nogil:
        cdef timespec deadline
        cdef bint reached
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += seconds
        pthread_mutex_lock(&self.door.lock)
        while self.door.completed + self.door.expired < count:
            if pthread_cond_timedwait(&self.door.changed, &self.door.lock, &deadline) != 0:
                break
        reached = self.door.completed + self.door.expired >= count
        pthread_mutex_unlock(&self.door.lock)
        return reached

    def wait_until_done(self, int64_t count, int seconds=20):
        """Whether `count` operations were completed or expired before the time was over."""
        cdef bint reached
        with nogil:
            reached = self.reaches(count, seconds)
        return reached

    def wait_holding_the_gil(self, int64_t count, int seconds=20):
        """The same while no Python code of the process can run."""
        return self.reaches(count, seconds)

    @property
    def completed(self):
        return self.door.completed

    @property
    def expired(self):
        return self.door.expired

    @property
    def broken_promises(self):
        """How often try_complete overlapped, complete was repeated, or an expiry came early."""
        return self.door.overlapping, self.door.repeated, self.door.early


cdef class Wheel:
    """The timing wheel with numbers for entries."""
    cdef TimingWheel wheel
    cdef dict entries

    def __cinit__(self, int64_t now_ms):
        wheel_init(&self.wheel, now_ms)
        self.entries = {}

    def __dealloc__(self):
        cdef TimerEntry* entry = wheel_take_all(&self.wheel)
        cdef TimerEntry* following
        while entry != NULL:
            following = entry.next
            free(entry)
            entry = following
        wheel_free(&self.wheel)

    def add(self, token, int64_t deadline_ms, int64_t now_ms):
        cdef TimerEntry* entry = <TimerEntry*>calloc(1, sizeof(TimerEntry))
        entry.deadline_ms = deadline_ms
        if not wheel_add(&self.wheel, entry, now_ms):
            free(entry)
            return False
        self.entries[token] = <uint64_t>entry
        return True

    def remove(self, token):
        cdef TimerEntry* entry = <TimerEntry*><uint64_t>self.entries.pop(token)
        cdef bint removed = wheel_remove(&self.wheel, entry)
        free(entry)
        return removed

    def advance(self, int64_t now_ms):
        """The tokens that are due, in the wheel's order."""
        cdef TimerEntry* entry = wheel_advance(&self.wheel, now_ms)
        cdef TimerEntry* following
        tokens = {address: token for token, address in self.entries.items()}
        due = []
        while entry != NULL:
            following = entry.next
            token = tokens[<uint64_t>entry]
            due.append(token)
            del self.entries[token]
            free(entry)
            entry = following
        return due

    @property
    def next_ms(self):
        return wheel_next_ms(&self.wheel)

    def __len__(self):
        return self.wheel.count
