"""The connections of one client, behind one epoll.

A node is a slot: -1 is none, the bootstrap servers have slots, and each broker gets one as metadata names it. Slots are
never reused while the client lives; the address behind one may change.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.client.network.client_request cimport ClientRequest, ReplyStatus, RequestQueue
from kcore.client.network.connection cimport BrokerConnection, ConnectionCounters, ConnectionSettings, Failure
from kcore.platform.epoll cimport epoll_event
from kcore.platform.sync cimport CLOCK_MONOTONIC, clock_gettime, pthread_mutex_t, timespec
from kcore.transport.byte_stream cimport StreamFactory

cdef enum:
    MAX_NODES = 4096             # slots of one client

# What a driver does between two polls; answers when it wants its next turn (CLOCK_MONOTONIC, ns), INT64_MAX: when something happens.
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
    cdef dict slots              # of nodes, by id
    cdef set shared              # those of them that are bootstrap servers too
    cdef object naming           # Python's lock while a node is named
    cdef BrokerConnection** connections
    cdef int32_t connection_count
    cdef int epoll
    cdef int wakeup
    # Under the lock: what came from other threads, and whether the poller has to be woken for it.
    cdef pthread_mutex_t lock
    cdef RequestQueue inbox
    cdef bint is_sleeping
    cdef bint is_woken
    cdef bint is_closed
    # The poller's.
    cdef RequestQueue unrouted   # requests to any node, while none is ready
    cdef int64_t round           # counts the times that there were some
    cdef int32_t next_candidate
    cdef BrokerConnection* dirty
    cdef int64_t next_timer_ns
    cdef bint happened
    cdef Turn turn
    cdef void* driver

    # From any thread, GIL or not. Once the client is closed the request is finished here and now.
    cdef void submit(self, ClientRequest* request) noexcept nogil
    cdef void wake(self) noexcept nogil
    # On the thread that polls.
    cdef bint is_ready(self, int32_t node, int64_t now_ns) noexcept nogil         # connected, negotiated, able to take a request
    cdef bint begin_connecting(self, int32_t node, int64_t now_ns) noexcept nogil # False while connections to it fail: it is connected to by itself then, and the driver gets a turn
    # A response said so (throttle_time_ms): the node is not ready for so long, and the driver gets a turn afterwards (KIP-219).
    cdef void throttle(self, int32_t node, int64_t now_ns, int32_t throttle_ms) noexcept nogil
    cdef int32_t in_flight(self, int32_t node) noexcept nogil                     # submitted and not finished, inbox apart
    cdef int16_t version_of(self, int32_t node, int16_t api_key, int16_t lowest, int16_t highest) noexcept nogil  # -1: none in common
    cdef Failure failure_of(self, int32_t node) noexcept nogil                    # why its last connection ended
    cdef void drive(self, Turn turn, void* driver) noexcept nogil
    # Takes what was submitted, connects, sends, receives and finishes until something happened or the deadline.
    cdef void poll(self, int64_t deadline_ns) noexcept nogil
    # Finishes everything as closed; nobody polls any more.
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
