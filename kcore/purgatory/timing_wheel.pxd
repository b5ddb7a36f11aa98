"""Hierarchical timing wheels: insert and cancel in constant time, expiry in the order of deadlines."""

from libc.stdint cimport int32_t, int64_t

cdef enum:
    TICK_MS = 1
    WHEEL_SIZE = 20

# Embedded in the waiting object: the wheel is intrusive and allocates nothing per entry.
cdef struct TimerEntry:
    int64_t deadline_ms
    TimerEntry* next
    TimerEntry* previous
    TimerBucket* bucket          # NULL while it is in no wheel
    void* owner

cdef struct TimerBucket:
    TimerEntry* first
    TimerEntry* last
    int64_t expiration_ms        # -1 while not in the queue of buckets

cdef struct TimerLevel:
    int64_t tick_ms
    int64_t interval_ms          # tick_ms * wheel size
    int64_t current_ms           # a multiple of tick_ms, never in the future
    TimerBucket* buckets
    TimerLevel* overflow

cdef struct TimingWheel:
    TimerLevel* lowest
    TimerBucket** queue          # a binary heap by expiration
    int32_t queued
    int32_t queue_capacity
    int64_t count

cdef bint wheel_init(TimingWheel* wheel, int64_t now_ms) noexcept nogil
cdef void wheel_free(TimingWheel* wheel) noexcept nogil
# Returns False, without inserting, if the deadline has passed.
cdef bint wheel_add(TimingWheel* wheel, TimerEntry* entry, int64_t now_ms) noexcept nogil
# Returns whether the entry was in the wheel.
cdef bint wheel_remove(TimingWheel* wheel, TimerEntry* entry) noexcept nogil
# When to call `wheel_advance` next; INT64_MAX if nothing waits. May be earlier than the first deadline.
cdef int64_t wheel_next_ms(const TimingWheel* wheel) noexcept nogil
# Removes the entries that are due at `now_ms`. Returns a list linked by `next`, in the order of deadlines.
cdef TimerEntry* wheel_advance(TimingWheel* wheel, int64_t now_ms) noexcept nogil
# Removes all entries, due or not.
cdef TimerEntry* wheel_take_all(TimingWheel* wheel) noexcept nogil
