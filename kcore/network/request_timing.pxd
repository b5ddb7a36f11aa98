"""The times of a request, from its last byte received to the last byte of its response (RequestChannel.Request)."""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.network.dispatch cimport NativeRequest

# All times are nanoseconds of the disk table's monotonic clock. None is before the one above it.
cdef struct RequestTiming:
    int16_t api_key
    int16_t api_version
    int32_t correlation_id
    int32_t throttle_ms
    bint native                  # answered without a handler
    bint settled                 # its times of execution are known
    bint has_error               # of a native response
    int64_t request_bytes        # without the length field, like response_bytes
    int64_t response_bytes
    int64_t received_ns
    int64_t begun_ns             # left the queue of requests
    int64_t left_ns              # the handler finished, or passed it to a purgatory
    int64_t completed_ns         # the response was ready
    int64_t sending_ns           # the processor took the response
    int64_t ended_ns
    int64_t sent_at              # value of the connection's bytes_sent at the end of the response

# The requests of one connection whose responses are not sent yet, oldest first: entries[head:count].
cdef struct TimingQueue:
    RequestTiming* entries
    int32_t head
    int32_t count
    int32_t capacity
    int32_t unsettled            # the last ones, whose times of execution are not known yet

cdef enum:
    KEPT_TIMINGS = 4             # capacity that an idle connection may keep


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

# Appends a copy of `timing`. If memory is exhausted, returns False, and the request is not measured.
cdef bint timings_push(TimingQueue* queue, const RequestTiming* timing) noexcept nogil
# Divides the time until now equally among the unsettled requests, which were executed one after another.
cdef void timings_settle(TimingQueue* queue, int64_t now_ns) noexcept nogil
# The oldest one, valid until the next push, or NULL.
cdef RequestTiming* timings_first(TimingQueue* queue) noexcept nogil
cdef void timings_pop(TimingQueue* queue) noexcept nogil
# Frees the memory of a past burst, or with `everything` all memory.
cdef void timings_trim(TimingQueue* queue, bint everything) noexcept nogil
