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
    ROUSE_MS = 2                 # how long a request waits for a busy handler while others are idle

cdef enum Admission:
    ADMITTED = 0
    CHANNEL_FULL = 1             # the registered wake-up descriptors are written once there is room again
    CHANNEL_CLOSED = 2

# What a handler thread takes from the channel at once.
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
    cdef int32_t working         # handlers that have taken requests in this turn and not returned
    cdef int64_t turn            # incremented when the working handlers are written off
    cdef bint called             # a handler was woken and has not arrived yet
    cdef int64_t taken_ns        # last time that requests were taken
    cdef int64_t roused_ns       # last time that the working handlers were written off
    cdef int64_t idle_ns         # total waiting time of all handler threads
    cdef bint starved
    cdef bint is_closed
    cdef int[256] wakeups
    cdef int wakeup_count
    cdef readonly ResponseSink sink
    cdef readonly MemoryPool memory

    cdef void attach(self, ResponseSink sink)
    cdef bint add_wakeup(self, int descriptor) noexcept nogil
    # Copies the request's frame and charges it to the memory pool. Never blocks.
    cdef Admission push(self, const NativeRequest* request, const Endpoint* client,
                        const Endpoint* local) noexcept nogil
    cdef bint has_room(self) noexcept nogil
    # Whether a request is waiting for a busy handler. The pusher must then call `rouse` after ROUSE_MS.
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
