"""The bounded queue between the processors and the handler threads."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint
from kcore.network.memory_pool cimport MemoryPool
from kcore.network.request cimport QueuedRequest, ResponseSink
from kcore.platform.sync cimport pthread_cond_t, pthread_mutex_t
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink

cdef enum:
    MAX_WAKEUPS = 256
    ROUSE_MS = 2                 # a request waits for the handler at work for so long, while others are idle

cdef enum Admission:
    ADMITTED = 0
    CHANNEL_FULL = 1             # every registered wake-up descriptor is written once there is room again
    CHANNEL_CLOSED = 2

# What one visit of a handler thread takes away.
cdef struct Haul:
    QueuedRequest* requests
    HandlerEvent* events
    int32_t request_count
    int64_t turn


cdef class RequestChannel(HandlerEventSink):
    cdef pthread_mutex_t lock
    cdef pthread_cond_t available
    cdef QueuedRequest* first
    cdef QueuedRequest* last
    cdef HandlerEvent* first_event
    cdef HandlerEvent* last_event
    cdef int64_t queued          # written under the lock; processors read it without
    cdef int64_t max_queued
    cdef int32_t waiting
    cdef int32_t working         # handlers that have taken requests in this turn and are not back
    cdef int64_t turn            # the next one begins when those at work are written off
    cdef bint called             # a handler was woken and has not come yet
    cdef int64_t taken_ns        # when requests were last taken
    cdef int64_t roused_ns       # when those at work were last written off
    cdef int64_t idle_ns         # that handler threads have waited, all together
    cdef bint starved
    cdef bint is_closed
    cdef int[256] wakeups
    cdef int wakeup_count
    cdef readonly ResponseSink sink
    cdef readonly MemoryPool memory

    cdef void attach(self, ResponseSink sink)
    cdef bint add_wakeup(self, int descriptor) noexcept nogil
    # Copies the request's frame, which is charged to the memory pool; never blocks.
    cdef Admission push(self, const NativeRequest* request, const Endpoint* client,
                        const Endpoint* local) noexcept nogil
    cdef bint has_room(self) noexcept nogil
    # Whether a request waits: whoever pushed it looks again, with `rouse`, in ROUSE_MS.
    cdef bint has_patient_requests(self) noexcept nogil
    cdef void rouse(self) noexcept nogil
    cdef void call_handler(self) noexcept nogil
    cdef void finish(self, int64_t turn) noexcept nogil
    cdef bint has_work(self) noexcept nogil
    cdef bint wait(self, int32_t limit, int64_t deadline_ns, int64_t finished_turn, Haul* haul) noexcept nogil
    cdef void take_after_waiting(self, int32_t limit, Haul* haul) noexcept nogil
    cdef void take(self, int32_t limit, Haul* haul) noexcept nogil
    cdef void take_requests(self, int32_t limit, Haul* haul) noexcept nogil
    cdef void wake_processors(self) noexcept nogil
