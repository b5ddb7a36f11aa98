"""The queue of requests that a connection has answered and not yet sent the answers of.

Bounded by what bounds the answers themselves: a connection with unsent answers executes nothing further. Concurrency:
belongs to its processor.
"""

from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove


cdef bint timings_push(TimingQueue* queue, const RequestTiming* timing) noexcept nogil:
    cdef RequestTiming* entries
    cdef int32_t capacity
    if queue.count == queue.capacity:
        if queue.head:
            queue.count -= queue.head
            memmove(queue.entries, queue.entries + queue.head, <size_t>queue.count * sizeof(RequestTiming))
            queue.head = 0
        else:
            capacity = queue.capacity * 2 if queue.capacity else 1
            entries = <RequestTiming*>realloc(queue.entries, <size_t>capacity * sizeof(RequestTiming))
            if entries == NULL:
                return False
            queue.entries = entries
            queue.capacity = capacity
    queue.entries[queue.count] = timing[0]
    queue.count += 1
    return True


cdef RequestTiming* timings_first(TimingQueue* queue) noexcept nogil:
    return &queue.entries[queue.head] if queue.head < queue.count else NULL


cdef void timings_pop(TimingQueue* queue) noexcept nogil:
    queue.head += 1
    if queue.head == queue.count:
        queue.head = queue.count = 0


cdef void timings_trim(TimingQueue* queue, bint everything) noexcept nogil:
    if everything or (queue.count == 0 and queue.capacity > KEPT_TIMINGS):
        free(queue.entries)
        queue.entries = NULL
        queue.head = queue.count = queue.capacity = 0
