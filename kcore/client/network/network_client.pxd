"""NetworkClient: the connections of one client, on one epoll.

A node is a slot number. Bootstrap servers have slots, and each broker gets one when metadata names it. -1 is none.
Slots are never reused during the client's lifetime. The address of a slot may change.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.client.network.client_request cimport ClientRequest, ReplyStatus, RequestQueue
from kcore.client.network.connection cimport BrokerConnection, ConnectionCounters, ConnectionSettings, Failure
from kcore.platform.epoll cimport epoll_event
from kcore.platform.sync cimport CLOCK_MONOTONIC, clock_gettime, pthread_mutex_t, timespec
from kcore.transport.byte_stream cimport StreamFactory

cdef enum:
    MAX_NODES = 4096             # slots of one client

# A driver's step between two polls. Returns when its next turn is due (CLOCK_MONOTONIC, ns), INT64_MAX: after an event.
ctypedef int64_t (*Turn)(void* driver, int64_t now_ns) noexcept nogil


cdef inline int64_t monotonic_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1000000000 + now.tv_nsec


cdef class NetworkClient:
    cdef object __weakref__
    cdef ConnectionSettings settings
    cdef ConnectionCounters counters
    cdef StreamFactory streams
    cdef bytes versions_request
    cdef bytes fallback_request
    cdef dict slots              # by node id
    cdef set shared              # slots of brokers that are bootstrap servers, too
    cdef object naming           # a Python lock, held while a node is added or moved
    cdef BrokerConnection** connections
    cdef int32_t connection_count
    cdef int epoll
    cdef int wakeup
    # Under the lock: submissions from other threads, and whether the poller must be woken for them.
    cdef pthread_mutex_t lock
    cdef RequestQueue inbox
    cdef bint is_sleeping
    cdef bint is_woken
    cdef bint is_closed
    # Used by the poller only.
    cdef RequestQueue unrouted   # requests to any node, while none is ready
    cdef int64_t round           # number of times that `unrouted` became non-empty
    cdef int32_t next_candidate
    cdef BrokerConnection* dirty
    cdef int64_t next_timer_ns
    cdef bint happened
    cdef Turn turn
    cdef void* driver

    # From any thread, with or without the GIL. After the client is closed, the request is finished at once.
    cdef void submit(self, ClientRequest* request) noexcept nogil
    cdef void wake(self) noexcept nogil
    # On the polling thread.
    cdef bint is_ready(self, int32_t node, int64_t now_ns) noexcept nogil         # connected, negotiated, able to take a request
    # Returns False while connections to the node fail. It is then connected to later, and the driver gets a turn.
    cdef bint begin_connecting(self, int32_t node, int64_t now_ns) noexcept nogil
    # Applies a response's throttle_time_ms: the node is not ready for this time, then the driver gets a turn (KIP-219).
    cdef void throttle(self, int32_t node, int64_t now_ns, int32_t throttle_ms) noexcept nogil
    cdef int32_t in_flight(self, int32_t node) noexcept nogil                     # unfinished, without the inbox
    cdef int16_t version_of(self, int32_t node, int16_t api_key, int16_t lowest, int16_t highest) noexcept nogil  # -1: none in common
    cdef Failure failure_of(self, int32_t node) noexcept nogil                    # why its last connection ended
    cdef void drive(self, Turn turn, void* driver) noexcept nogil
    # Handles submissions, connects, sends, receives and finishes, until an event or the deadline.
    cdef void poll(self, int64_t deadline_ns) noexcept nogil
    # Finishes everything as closed. Nothing may poll afterwards.
    cdef void shut(self) noexcept nogil

    cdef void take_inbox(self, int64_t now_ns) noexcept nogil
    cdef void route(self, ClientRequest* request, int64_t now_ns) noexcept nogil
    cdef void route_to(self, BrokerConnection* connection, ClientRequest* request, int64_t now_ns) noexcept nogil
    cdef BrokerConnection* least_loaded(self) noexcept nogil
    cdef int64_t route_unrouted(self, int64_t now_ns) noexcept nogil
    cdef BrokerConnection* untried_candidate(self, int64_t now_ns, int64_t* wait_until_ns) noexcept nogil
    cdef void finish_unrouted(self, ReplyStatus status, int64_t expired_ns) noexcept nogil
    cdef void connect(self, BrokerConnection* connection, int64_t now_ns) noexcept nogil
    cdef void touched(self, BrokerConnection* connection) noexcept nogil
    cdef void failed(self, BrokerConnection* connection, int64_t now_ns) noexcept nogil
    cdef void flush(self, BrokerConnection* connection, int64_t now_ns) noexcept nogil
    cdef void flush_dirty(self, int64_t now_ns) noexcept nogil
    cdef void run_timers(self, int64_t now_ns) noexcept nogil
    cdef int64_t work(self, int64_t now_ns) noexcept nogil
    cdef bint fall_asleep(self) noexcept nogil
    cdef void take_event(self, const epoll_event* event, int64_t now_ns) noexcept nogil
    cdef int32_t add_slot(self, str host, int port, bint is_bootstrap, bint is_apart) except -1
