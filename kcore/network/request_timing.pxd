"""When a request was where, from its last byte in to its answer's last byte out (RequestChannel.Request's times)."""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.network.dispatch cimport NativeRequest

# All times are of the disk table's monotonic clock, in nanoseconds, and none is before the one above it.
cdef struct RequestTiming:
    int16_t api_key
    int16_t api_version
    int32_t correlation_id
    int32_t throttle_ms
    bint native                  # answered without a handler
    bint settled                 # it is known when it was worked on
    bint has_error               # of a native answer
    int64_t request_bytes        # without the length, as response_bytes
    int64_t response_bytes
    int64_t received_ns
    int64_t begun_ns             # left the queue of requests
    int64_t left_ns              # the handler was done, or gave it to a purgatory
    int64_t completed_ns         # the answer was ready
    int64_t sending_ns           # the answer was taken up by the processor
    int64_t ended_ns
    int64_t sent_at              # the connection's count of bytes when the answer has gone

# The requests of one connection whose answers are not sent, oldest first: entries[head:count].
cdef struct TimingQueue:
    RequestTiming* entries
    int32_t head
    int32_t count
    int32_t capacity
    int32_t unsettled            # the last ones, of which it is not known yet when they were worked on

cdef enum:
    KEPT_TIMINGS = 4             # what an idle connection may keep room for


cdef inline void timing_begin(RequestTiming* timing, const NativeRequest* request, int64_t now_ns) noexcept nogil:
    timing.api_key = request.api_key
    timing.api_version = request.api_version
    timing.correlation_id = request.correlation_id
    timing.throttle_ms = 0
    timing.native = timing.settled = timing.has_error = False
    timing.request_bytes = <int64_t>request.size
    timing.response_bytes = 0
    timing.received_ns = request.received_ns
    timing.begun_ns = timing.left_ns = timing.completed_ns = timing.sending_ns = timing.ended_ns = now_ns
    timing.sent_at = 0

# Copies `timing` behind the others; False, and it is not measured, without memory.
cdef bint timings_push(TimingQueue* queue, const RequestTiming* timing) noexcept nogil
# Says of the unsettled ones that they were worked on one after another until now, each as long as the others.
cdef void timings_settle(TimingQueue* queue, int64_t now_ns) noexcept nogil
# The oldest one, which is gone at the next push; NULL when there is none.
cdef RequestTiming* timings_first(TimingQueue* queue) noexcept nogil
cdef void timings_pop(TimingQueue* queue) noexcept nogil
# Gives memory back that a burst has left behind, all of it with `everything`.
cdef void timings_trim(TimingQueue* queue, bint everything) noexcept nogil
