"""The queue of a connection's requests that are answered, but whose responses are not sent yet.

Small requests come in bursts, and reading the clock costs as much as all other measurements of a request. So the
requests that a processor executes in a row share the time of the row.

Bound: a connection with unsent responses executes nothing further. Concurrency: a queue belongs to its processor's
thread.
"""

from libc.stdint cimport int32_t, int64_t
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
    queue.unsettled += not timing.settled
    return True


cdef void timings_settle(TimingQueue* queue, int64_t now_ns) noexcept nogil:
    cdef RequestTiming* timing
    cdef int64_t at_ns, share_ns
    if queue.unsettled == 0:
        return
    timing = &queue.entries[queue.count - queue.unsettled]
    at_ns = timing.begun_ns
    share_ns = max(<int64_t>0, now_ns - at_ns) // queue.unsettled
    while queue.unsettled > 0:
        timing.begun_ns = at_ns
        at_ns += share_ns
        timing.left_ns = timing.completed_ns = timing.sending_ns = at_ns
        timing += 1
        queue.unsettled -= 1


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
        queue.head = queue.count = queue.capacity = queue.unsettled = 0
