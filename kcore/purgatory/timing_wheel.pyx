"""Kafka's TimingWheel and its queue of buckets in one structure, without a lock of its own.

The lowest wheel has WHEEL_SIZE buckets of TICK_MS. Later deadlines go to an overflow wheel, created on demand, whose
tick is the interval of the wheel below it. A due bucket of an overflow wheel is emptied into the wheels below it, so an
entry expires at its deadline, to the millisecond, and never earlier. Only buckets with entries are in the queue, so an
idle period of any length is one step.

Concurrency: the caller's lock. Source: org.apache.kafka.server.util.timer.TimingWheel and SystemTimer.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset


cdef TimerLevel* level_new(int64_t tick_ms, int64_t now_ms) noexcept nogil:
    cdef TimerLevel* level = <TimerLevel*>calloc(1, sizeof(TimerLevel))
    cdef int32_t i
    if level == NULL:
        return NULL
    level.buckets = <TimerBucket*>calloc(WHEEL_SIZE, sizeof(TimerBucket))
    if level.buckets == NULL:
        free(level)
        return NULL
    for i in range(WHEEL_SIZE):
        level.buckets[i].expiration_ms = -1
    level.tick_ms = tick_ms
    level.interval_ms = tick_ms * WHEEL_SIZE
    level.current_ms = now_ms - now_ms % tick_ms
    return level


cdef bint reserve_queue(TimingWheel* wheel) noexcept nogil:
    """Makes room for the buckets of one more level, so that queueing a bucket cannot fail."""
    cdef int32_t capacity = wheel.queue_capacity + WHEEL_SIZE
    cdef void* grown = realloc(wheel.queue, <size_t>capacity * sizeof(TimerBucket*))
    if grown == NULL:
        return False
    wheel.queue = <TimerBucket**>grown
    wheel.queue_capacity = capacity
    return True


cdef bint wheel_init(TimingWheel* wheel, int64_t now_ms) noexcept nogil:
    memset(wheel, 0, sizeof(TimingWheel))
    if not reserve_queue(wheel):
        return False
    wheel.lowest = level_new(TICK_MS, now_ms)
    return wheel.lowest != NULL


cdef void wheel_free(TimingWheel* wheel) noexcept nogil:
    cdef TimerLevel* level = wheel.lowest
    cdef TimerLevel* overflow
    while level != NULL:
        overflow = level.overflow
        free(level.buckets)
        free(level)
        level = overflow
    free(wheel.queue)
    memset(wheel, 0, sizeof(TimingWheel))


# --- the queue of buckets ------------------------------------------------------------------------------------------

cdef void queue_push(TimingWheel* wheel, TimerBucket* bucket) noexcept nogil:
    cdef int32_t child = wheel.queued
    cdef int32_t parent
    wheel.queued += 1
    while child > 0:
        parent = (child - 1) // 2
        if wheel.queue[parent].expiration_ms <= bucket.expiration_ms:
            break
        wheel.queue[child] = wheel.queue[parent]
        child = parent
    wheel.queue[child] = bucket


cdef TimerBucket* queue_pop(TimingWheel* wheel) noexcept nogil:
    cdef TimerBucket* first = wheel.queue[0]
    cdef TimerBucket* moved
    cdef int32_t parent = 0
    cdef int32_t child
    wheel.queued -= 1
    moved = wheel.queue[wheel.queued]
    while True:
        child = 2 * parent + 1
        if child >= wheel.queued:
            break
        if child + 1 < wheel.queued and wheel.queue[child + 1].expiration_ms < wheel.queue[child].expiration_ms:
            child += 1
        if moved.expiration_ms <= wheel.queue[child].expiration_ms:
            break
        wheel.queue[parent] = wheel.queue[child]
        parent = child
    wheel.queue[parent] = moved
    return first


# --- entries -------------------------------------------------------------------------------------------------------

cdef void bucket_append(TimerBucket* bucket, TimerEntry* entry) noexcept nogil:
    entry.bucket = bucket
    entry.next = NULL
    entry.previous = bucket.last
    if bucket.last != NULL:
        bucket.last.next = entry
    else:
        bucket.first = entry
    bucket.last = entry


cdef TimerLevel* overflow_of(TimingWheel* wheel, TimerLevel* level) noexcept nogil:
    if level.overflow == NULL and reserve_queue(wheel):
        level.overflow = level_new(level.interval_ms, level.current_ms)
    return level.overflow


cdef bint place(TimingWheel* wheel, TimerEntry* entry) noexcept nogil:
    cdef TimerLevel* level = wheel.lowest
    cdef TimerLevel* overflow
    cdef TimerBucket* bucket
    cdef int64_t deadline_ms = entry.deadline_ms
    cdef int64_t tick
    if deadline_ms < level.current_ms + level.tick_ms:
        return False
    while deadline_ms >= level.current_ms + level.interval_ms:
        overflow = overflow_of(wheel, level)
        if overflow == NULL:
            # If memory for a coarser wheel is exhausted, the entry waits in the last bucket of this one and is placed
            # again.
            deadline_ms = level.current_ms + level.interval_ms - level.tick_ms
        else:
            level = overflow
    tick = deadline_ms // level.tick_ms
    bucket = &level.buckets[tick % WHEEL_SIZE]
    bucket_append(bucket, entry)
    if bucket.expiration_ms != tick * level.tick_ms:
        bucket.expiration_ms = tick * level.tick_ms
        queue_push(wheel, bucket)
    return True


cdef void set_clock(TimingWheel* wheel, int64_t now_ms) noexcept nogil:
    cdef TimerLevel* level = wheel.lowest
    while level != NULL and now_ms >= level.current_ms + level.tick_ms:
        level.current_ms = now_ms - now_ms % level.tick_ms
        level = level.overflow


cdef bint wheel_add(TimingWheel* wheel, TimerEntry* entry, int64_t now_ms) noexcept nogil:
    # No bucket may be skipped, so advance the clock only if nothing is due.
    if now_ms < wheel_next_ms(wheel):
        set_clock(wheel, now_ms)
    if not place(wheel, entry):
        return False
    wheel.count += 1
    return True


cdef bint wheel_remove(TimingWheel* wheel, TimerEntry* entry) noexcept nogil:
    cdef TimerBucket* bucket = entry.bucket
    if bucket == NULL:
        return False
    if entry.previous != NULL:
        entry.previous.next = entry.next
    else:
        bucket.first = entry.next
    if entry.next != NULL:
        entry.next.previous = entry.previous
    else:
        bucket.last = entry.previous
    entry.bucket = NULL
    entry.next = entry.previous = NULL
    wheel.count -= 1
    return True


cdef int64_t wheel_next_ms(const TimingWheel* wheel) noexcept nogil:
    return wheel.queue[0].expiration_ms if wheel.queued else INT64_MAX


cdef TimerEntry* empty_bucket(TimerBucket* bucket) noexcept nogil:
    cdef TimerEntry* entries = bucket.first
    bucket.first = bucket.last = NULL
    bucket.expiration_ms = -1
    return entries


cdef TimerEntry* wheel_advance(TimingWheel* wheel, int64_t now_ms) noexcept nogil:
    cdef TimerEntry* expired = NULL
    cdef TimerEntry* last = NULL
    cdef TimerEntry* entry
    cdef TimerEntry* following
    cdef TimerBucket* bucket
    while wheel_next_ms(wheel) <= now_ms:
        bucket = queue_pop(wheel)
        set_clock(wheel, bucket.expiration_ms)
        following = empty_bucket(bucket)
        while following != NULL:
            entry = following
            following = entry.next
            if place(wheel, entry):
                continue
            wheel.count -= 1
            entry.bucket = NULL
            entry.next = entry.previous = NULL
            if last == NULL:
                expired = entry
            else:
                last.next = entry
            last = entry
    set_clock(wheel, now_ms)
    return expired


cdef TimerEntry* wheel_take_all(TimingWheel* wheel) noexcept nogil:
    cdef TimerEntry* taken = NULL
    cdef TimerEntry* entry
    cdef TimerEntry* following
    while wheel.queued:
        following = empty_bucket(queue_pop(wheel))
        while following != NULL:
            entry = following
            following = entry.next
            entry.bucket = NULL
            entry.previous = NULL
            entry.next = taken
            taken = entry
    wheel.count = 0
    return taken
