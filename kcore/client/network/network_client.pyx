"""NetworkClient: the connections of one client, run by the thread that polls.

    submit (any thread) -> inbox -> a node's connection, or the least loaded one of any -> sent -> answered -> finish
                                     `poll`: inbox, the driver's turn, timers, sending, epoll, receiving

A request to a node that cannot be reached fails after every address of the node was tried once. A request to any node
(NO_NODE) fails after every candidate was: the brokers from metadata, then the bootstrap servers, in turn. The requester
decides whether to wait longer. Requests that it submits meanwhile wait for the broker's reconnect backoff.

Concurrency: any thread may call `submit`, `wake` and the Python methods. Everything else belongs to the polling thread.
One lock, held for a few instructions, guards the inbox and the connection state that other threads read. The eventfd is
written only while the poller sleeps.
"""

from libc.errno cimport errno
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from kcore.client.network.api_versions cimport MAX_APIS, VersionTable, versions_common
from kcore.client.network.client_request cimport (
    NO_NODE, REPLY_CLOSED, REPLY_UNSENT, ClientRequest, ReplyStatus, RequestQueue, queue_pop, queue_push, queue_take,
)
from kcore.client.network.connection cimport (
    CONNECTION_DISCONNECTED, CONNECTION_NEGOTIATING, CONNECTION_READY, FAILURE_CLOSED, FAILURE_IDLE, HOST_BYTES,
    BrokerConnection, Failure, connection_close, connection_end, connection_expire, connection_flush, connection_free,
    connection_new, connection_receive, connection_submit, is_in_setup, pending_requests,
)
from kcore.client.network.connection_setup cimport (
    setup_address, setup_begin, setup_expire, setup_failed, setup_progress,
)
from kcore.platform.epoll cimport (
    EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLLIN, EPOLLOUT, epoll_create1, epoll_ctl, epoll_event,
    epoll_wait, eventfd, eventfd_read, eventfd_write,
)
from kcore.platform.sync cimport (
    atomic_load_32, atomic_load_64, atomic_store_32, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock,
)
from kcore.transport.byte_stream cimport StreamFactory

from _thread import allocate_lock

from kcore import __version__
from kcore.client.network.api_versions import api_versions_requests
from kcore.transport.plaintext import PlaintextFactory

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)

cdef enum:
    EVENTS = 64                  # maximum number of events per epoll_wait
    NANOSECONDS_PER_MS = 1000000
    LONGEST_WAIT_MS = 86400000

cdef uint64_t WAKEUP = <uint64_t>-1      # epoll data of the eventfd; differs from all slots with generations


cdef class NetworkClient:
    """`bootstrap_servers` are pairs of host and port. Times are in ms. The thread that polls also closes it."""

    def __cinit__(self):
        self.epoll = self.wakeup = -1
        self.next_timer_ns = INT64_MAX
        pthread_mutex_init(&self.lock, NULL)
        self.connections = <BrokerConnection**>calloc(MAX_NODES, sizeof(void*))
        if self.connections == NULL:
            raise MemoryError("no memory for the nodes of a client")

    def __init__(
        self,
        bootstrap_servers,
        *,
        client_id="kcli",
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=1000,
        socket_connection_setup_timeout_ms=10_000,
        socket_connection_setup_timeout_max_ms=30_000,
        connections_max_idle_ms=540_000,
        send_buffer_bytes=-1,
        receive_buffer_bytes=-1,
        max_response_bytes=1 << 30,
        StreamFactory streams=None,
    ):
        cdef epoll_event event
        self.slots = {}
        self.shared = set()
        self.naming = allocate_lock()
        self.streams = PlaintextFactory() if streams is None else streams
        self.versions_request, self.fallback_request = api_versions_requests(client_id, __version__)
        self.settings.stream_factory = <void*>self.streams
        self.settings.versions_request = self.versions_request
        self.settings.versions_request_bytes = len(self.versions_request)
        self.settings.fallback_request = self.fallback_request
        self.settings.fallback_request_bytes = len(self.fallback_request)
        self.settings.backoff.reconnect_ns = int(reconnect_backoff_ms * NANOSECONDS_PER_MS)
        self.settings.backoff.reconnect_max_ns = int(reconnect_backoff_max_ms * NANOSECONDS_PER_MS)
        self.settings.backoff.setup_timeout_ns = int(socket_connection_setup_timeout_ms * NANOSECONDS_PER_MS)
        self.settings.backoff.setup_timeout_max_ns = int(socket_connection_setup_timeout_max_ms * NANOSECONDS_PER_MS)
        self.settings.max_idle_ns = int(connections_max_idle_ms * NANOSECONDS_PER_MS)
        self.settings.send_buffer_bytes = send_buffer_bytes
        self.settings.receive_buffer_bytes = receive_buffer_bytes
        self.settings.max_response_bytes = max_response_bytes
        self.epoll = epoll_create1(EPOLL_CLOEXEC)
        self.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        memset(&event, 0, sizeof(event))
        event.events = EPOLLIN
        event.data.u64 = WAKEUP
        if self.epoll < 0 or self.wakeup < 0 or epoll_ctl(self.epoll, EPOLL_CTL_ADD, self.wakeup, &event) != 0:
            raise OSError(errno, "cannot create a client's epoll or eventfd")
        for host, port in bootstrap_servers:
            self.add_slot(host, port, True, False)

    def __dealloc__(self):
        cdef int32_t i
        if self.connections != NULL:
            self.shut()
            for i in range(self.connection_count):
                connection_free(self.connections[i])
            free(self.connections)
        if self.wakeup >= 0:
            close_descriptor(self.wakeup)
        if self.epoll >= 0:
            close_descriptor(self.epoll)
        pthread_mutex_destroy(&self.lock)

    # --- nodes; called from Python ---------------------------------------------------------------------------------

    cdef int32_t add_slot(self, str host, int port, bint is_bootstrap, bint is_apart) except -1:
        cdef int32_t slot = self.connection_count
        cdef BrokerConnection* connection
        cdef bytes name = encoded_host(host)
        if slot == MAX_NODES:
            raise ValueError(f"more than {MAX_NODES} brokers in the life of one client")
        connection = connection_new(slot, self.epoll, &self.settings, &self.counters, &self.lock)
        if connection == NULL:
            raise MemoryError("no memory for a connection")
        connection.is_bootstrap = is_bootstrap
        connection.is_apart = is_apart
        setup_address(connection, name, port)
        self.connections[slot] = connection
        atomic_store_32(&self.connection_count, slot + 1)
        return slot

    def node_slot(self, int node_id) -> int:
        """Return the slot of a broker known from `set_node`, else -1."""
        return self.slots.get(node_id, NO_NODE)

    def set_node(self, int node_id, str host, int port, bint is_apart=False) -> int:
        """Set a broker's address and return its slot. A new address applies from the next connection on.

        A broker that is also a bootstrap server shares its slot and connection, unless it `is_apart`. A node apart is
        for requests whose responses take long. Brokers respond in order, so requests to any node would wait for them.
        """
        with self.naming:
            slot = self.slots.get(node_id)
            if slot is None:
                slot = NO_NODE if is_apart else self.bootstrap_at(host, port)
                if slot == NO_NODE:
                    slot = self.add_slot(host, port, False, is_apart)
                else:
                    self.shared.add(slot)
                self.slots[node_id] = slot
            elif self.address(slot) != (host, port):
                self.move(slot, host, port)
        return slot

    def bootstrap_at(self, str host, int port) -> int:
        """Return the slot of a bootstrap server that no broker uses yet, or -1."""
        cdef int32_t slot
        taken = set(self.slots.values())
        for slot in range(self.connection_count):
            if self.connections[slot].is_bootstrap and slot not in taken and self.address(slot) == (host, port):
                return slot
        return NO_NODE

    def move(self, int slot, str host, int port) -> None:
        cdef BrokerConnection* connection = self.connections[slot]
        cdef bytes name = encoded_host(host)
        cdef const char* address = name
        if slot in self.shared:
            # Keep the bootstrap server under its address.
            self.shared.discard(slot)
            old_host, old_port = self.address(slot)
            self.add_slot(old_host, old_port, True, False)
        with nogil:
            pthread_mutex_lock(&self.lock)
            setup_address(connection, address, port)
            pthread_mutex_unlock(&self.lock)

    def versions(self, int slot) -> dict[int, tuple[int, int]] | None:
        """Return the lowest and highest version of each API from the last connection to a broker; None: not known."""
        cdef BrokerConnection* connection = self.connections[self.checked(slot)]
        cdef VersionTable table
        cdef bint is_known
        cdef int key
        with nogil:
            pthread_mutex_lock(&self.lock)
            is_known = connection.has_versions
            table = connection.known_versions
            pthread_mutex_unlock(&self.lock)
        if not is_known:
            return None
        return {key: (table.lowest[key], table.highest[key])
                for key in range(MAX_APIS) if table.highest[key] >= table.lowest[key]}

    def version_range(self, int slot, int api_key) -> tuple[int, int] | None:
        """Return the version range of one API. None: not known yet. lowest > highest: not supported."""
        cdef BrokerConnection* connection = self.connections[self.checked(slot)]
        cdef bint is_known
        cdef int lowest = 0
        cdef int highest = -1
        with nogil:
            pthread_mutex_lock(&self.lock)
            is_known = connection.has_versions
            if 0 <= api_key < MAX_APIS:
                lowest = connection.known_versions.lowest[api_key]
                highest = connection.known_versions.highest[api_key]
            pthread_mutex_unlock(&self.lock)
        return (lowest, highest) if is_known else None

    def failure(self, int slot) -> tuple[int, int, int]:
        """Return why the last connection or attempt ended: FailureKind and its details."""
        cdef BrokerConnection* connection = self.connections[self.checked(slot)]
        cdef Failure failure
        with nogil:
            pthread_mutex_lock(&self.lock)
            failure = connection.known_failure
            pthread_mutex_unlock(&self.lock)
        return failure.kind, failure.detail, failure.due

    def readiness(self, int slot) -> tuple[bool, int]:
        """Return whether requests can be sent to a node, and the number of consecutive failed connection attempts."""
        cdef BrokerConnection* connection = self.connections[self.checked(slot)]
        cdef bint is_ready
        cdef int32_t refusals
        with nogil:
            pthread_mutex_lock(&self.lock)
            is_ready = connection.is_known_ready
            refusals = connection.known_refusals
            pthread_mutex_unlock(&self.lock)
        return is_ready, refusals

    @property
    def node_count(self) -> int:
        """Number of slots."""
        return self.connection_count

    def address(self, int slot) -> tuple[str, int]:
        cdef BrokerConnection* connection = self.connections[self.checked(slot)]
        cdef char[256] host
        cdef int32_t port
        with nogil:
            pthread_mutex_lock(&self.lock)
            host = connection.host
            port = connection.port
            pthread_mutex_unlock(&self.lock)
        return (<bytes>(<char*>host)).decode(), port

    def counts(self) -> dict[str, int]:
        """Return the counters of the client."""
        return {
            "connections": atomic_load_64(&self.counters.connections),
            "requests": atomic_load_64(&self.counters.requests),
            "responses": atomic_load_64(&self.counters.responses),
            "writes": atomic_load_64(&self.counters.writes),
            "reads": atomic_load_64(&self.counters.reads),
            "bytes_out": atomic_load_64(&self.counters.bytes_out),
            "bytes_in": atomic_load_64(&self.counters.bytes_in),
        }

    def checked(self, int slot) -> int:
        if not 0 <= slot < self.connection_count:
            raise IndexError(f"the client has no node {slot}")
        return slot

    def poll_for(self, timeout_ms: float) -> None:
        """Poll on the calling thread without the GIL, until an event, at most `timeout_ms`."""
        cdef int64_t deadline_ns = monotonic_ns() + <int64_t>(min(timeout_ms, LONGEST_WAIT_MS) * NANOSECONDS_PER_MS)
        with nogil:
            self.poll(deadline_ns)

    def close(self) -> None:
        """Close all connections and finish every request as closed. The polling thread must have ended."""
        with nogil:
            self.shut()

    # --- from any thread -------------------------------------------------------------------------------------------

    cdef void submit(self, ClientRequest* request) noexcept nogil:
        cdef bint has_to_wake
        pthread_mutex_lock(&self.lock)
        if self.is_closed:
            pthread_mutex_unlock(&self.lock)
            request.finish(request, REPLY_CLOSED, NULL, 0)
            return
        queue_push(&self.inbox, request)
        has_to_wake = self.is_sleeping
        self.is_sleeping = False
        pthread_mutex_unlock(&self.lock)
        if has_to_wake:
            eventfd_write(self.wakeup, 1)

    cdef void wake(self) noexcept nogil:
        cdef bint has_to_wake
        pthread_mutex_lock(&self.lock)
        self.is_woken = True
        has_to_wake = self.is_sleeping
        self.is_sleeping = False
        pthread_mutex_unlock(&self.lock)
        if has_to_wake:
            eventfd_write(self.wakeup, 1)

    # --- on the thread that polls ----------------------------------------------------------------------------------

    cdef bint is_ready(self, int32_t node, int64_t now_ns) noexcept nogil:
        return (0 <= node < atomic_load_32(&self.connection_count) and self.connections[node].state == CONNECTION_READY
                and self.connections[node].throttled_until_ns <= now_ns)

    cdef void throttle(self, int32_t node, int64_t now_ns, int32_t throttle_ms) noexcept nogil:
        cdef int64_t until_ns = now_ns + <int64_t>throttle_ms * NANOSECONDS_PER_MS
        if 0 <= node < atomic_load_32(&self.connection_count) and self.connections[node].throttled_until_ns < until_ns:
            self.connections[node].throttled_until_ns = until_ns
            self.next_timer_ns = min(self.next_timer_ns, until_ns)

    cdef bint begin_connecting(self, int32_t node, int64_t now_ns) noexcept nogil:
        cdef BrokerConnection* connection
        if not 0 <= node < atomic_load_32(&self.connection_count):
            return False
        connection = self.connections[node]
        if connection.state == CONNECTION_DISCONNECTED:
            if connection.backoff.not_before_ns > now_ns:
                connection.is_wanted = True
                self.touched(connection)
            else:
                self.connect(connection, now_ns)
        return connection.backoff.failures == 0

    cdef int32_t in_flight(self, int32_t node) noexcept nogil:
        if not 0 <= node < atomic_load_32(&self.connection_count):
            return 0
        return pending_requests(self.connections[node])

    cdef int16_t version_of(self, int32_t node, int16_t api_key, int16_t lowest, int16_t highest) noexcept nogil:
        if not 0 <= node < atomic_load_32(&self.connection_count) or self.connections[node].state != CONNECTION_READY:
            return -1
        return versions_common(&self.connections[node].versions, api_key, lowest, highest)

    cdef Failure failure_of(self, int32_t node) noexcept nogil:
        cdef Failure none
        if 0 <= node < atomic_load_32(&self.connection_count):
            return self.connections[node].failure
        memset(&none, 0, sizeof(none))
        return none

    cdef void drive(self, Turn turn, void* driver) noexcept nogil:
        self.turn = turn
        self.driver = driver

    # --- routing ---------------------------------------------------------------------------------------------------

    cdef void take_inbox(self, int64_t now_ns) noexcept nogil:
        cdef RequestQueue taken
        cdef ClientRequest* request
        pthread_mutex_lock(&self.lock)
        taken = queue_take(&self.inbox)
        pthread_mutex_unlock(&self.lock)
        request = queue_pop(&taken)
        while request != NULL:
            self.route(request, now_ns)
            request = queue_pop(&taken)

    cdef void route(self, ClientRequest* request, int64_t now_ns) noexcept nogil:
        cdef int32_t node = request.node
        if node == NO_NODE:
            if self.unrouted.first == NULL:
                self.round += 1
            self.next_timer_ns = min(self.next_timer_ns, request.deadline_ns)
            queue_push(&self.unrouted, request)
        elif 0 <= node < atomic_load_32(&self.connection_count):
            self.route_to(self.connections[node], request, now_ns)
        else:
            self.happened = True
            request.finish(request, REPLY_UNSENT, NULL, 0)

    cdef void route_to(self, BrokerConnection* connection, ClientRequest* request, int64_t now_ns) noexcept nogil:
        cdef int32_t before = pending_requests(connection)
        connection_submit(connection, request)
        if pending_requests(connection) == before:
            self.happened = True
        if connection.state == CONNECTION_DISCONNECTED and connection.backoff.not_before_ns <= now_ns:
            self.connect(connection, now_ns)
        else:
            self.touched(connection)

    cdef BrokerConnection* least_loaded(self) noexcept nogil:
        cdef BrokerConnection* best = NULL
        cdef int32_t i
        for i in range(atomic_load_32(&self.connection_count)):
            if self.connections[i].state == CONNECTION_READY and not self.connections[i].is_apart and (
                    best == NULL or pending_requests(self.connections[i]) < pending_requests(best)):
                best = self.connections[i]
        return best

    cdef int64_t route_unrouted(self, int64_t now_ns) noexcept nogil:
        """Route requests to any node. Returns when to try again."""
        cdef BrokerConnection* connection = self.least_loaded()
        cdef int64_t wait_until_ns = INT64_MAX
        cdef int32_t i
        self.finish_unrouted(REPLY_UNSENT, now_ns)
        while self.unrouted.first != NULL:
            if connection != NULL:
                self.route_to(connection, queue_pop(&self.unrouted), now_ns)
                continue
            for i in range(atomic_load_32(&self.connection_count)):
                if is_in_setup(self.connections[i]) and not self.connections[i].is_apart:
                    return INT64_MAX
            connection = self.untried_candidate(now_ns, &wait_until_ns)
            if connection == NULL:
                if wait_until_ns < INT64_MAX:
                    return wait_until_ns
                self.finish_unrouted(REPLY_UNSENT, INT64_MAX)
                return INT64_MAX
            connection.tried_round = self.round
            self.next_candidate = connection.slot + 1
            self.connect(connection, now_ns)
            connection = NULL
        return INT64_MAX

    cdef BrokerConnection* untried_candidate(self, int64_t now_ns, int64_t* wait_until_ns) noexcept nogil:
        """Return the next candidate of this round: a broker if possible, else a bootstrap server; NULL if none."""
        cdef int32_t total = atomic_load_32(&self.connection_count)
        cdef BrokerConnection* connection
        cdef BrokerConnection* bootstrap = NULL
        cdef int32_t i
        for i in range(total):
            connection = self.connections[(self.next_candidate + i) % total]
            if (connection.is_apart or connection.tried_round == self.round
                    or connection.state != CONNECTION_DISCONNECTED):
                continue
            if connection.backoff.not_before_ns > now_ns:
                wait_until_ns[0] = min(wait_until_ns[0], connection.backoff.not_before_ns)
            elif not connection.is_bootstrap:
                return connection
            elif bootstrap == NULL:
                bootstrap = connection
        return bootstrap

    cdef void finish_unrouted(self, ReplyStatus status, int64_t expired_ns) noexcept nogil:
        """Finish the requests whose deadlines are not after `expired_ns`."""
        cdef RequestQueue waiting = queue_take(&self.unrouted)
        cdef ClientRequest* request = queue_pop(&waiting)
        while request != NULL:
            if request.deadline_ns <= expired_ns:
                self.happened = True
                request.finish(request, status, NULL, 0)
            else:
                self.next_timer_ns = min(self.next_timer_ns, request.deadline_ns)
                queue_push(&self.unrouted, request)
            request = queue_pop(&waiting)

    # --- connections -----------------------------------------------------------------------------------------------

    cdef void connect(self, BrokerConnection* connection, int64_t now_ns) noexcept nogil:
        connection.is_wanted = False
        setup_begin(connection, now_ns)
        if connection.state == CONNECTION_DISCONNECTED:
            self.happened = True
        self.touched(connection)

    cdef void touched(self, BrokerConnection* connection) noexcept nogil:
        """Update the timer and the list of connections to flush, after any change of a connection."""
        cdef int64_t next_ns = connection.next_deadline_ns
        if is_in_setup(connection):
            next_ns = min(next_ns, connection.setup_deadline_ns)
        elif connection.state == CONNECTION_DISCONNECTED:
            if connection.waiting.count or connection.is_wanted:
                next_ns = min(next_ns, connection.backoff.not_before_ns)
        elif self.settings.max_idle_ns >= 0 and pending_requests(connection) == 0:
            next_ns = min(next_ns, connection.last_active_ns + self.settings.max_idle_ns)
        self.next_timer_ns = min(self.next_timer_ns, next_ns)
        if connection.unsent.first != NULL and not connection.is_dirty and not connection.interest & EPOLLOUT:
            connection.is_dirty = True
            connection.next_dirty = self.dirty
            self.dirty = connection

    cdef void failed(self, BrokerConnection* connection, int64_t now_ns) noexcept nogil:
        # The driver may wait for the requests that this finishes. It gets a turn before the poller sleeps.
        self.happened = True
        if is_in_setup(connection):
            setup_failed(connection, now_ns)
        else:
            connection_end(connection, connection.failure, now_ns)

    cdef void flush(self, BrokerConnection* connection, int64_t now_ns) noexcept nogil:
        cdef Failure failure
        cdef bint is_sent = connection.state < CONNECTION_NEGOTIATING or connection_flush(connection, now_ns)
        if connection.has_finished_unanswered:
            # The driver may have waited for this. It gets a turn before the poller sleeps.
            connection.has_finished_unanswered = False
            self.happened = True
        if is_sent:
            return
        # Responses that the broker sent before it closed the connection still count.
        failure = connection.failure
        connection_receive(connection, now_ns)
        connection.failure = failure
        self.failed(connection, now_ns)

    cdef void flush_dirty(self, int64_t now_ns) noexcept nogil:
        cdef BrokerConnection* connection = self.dirty
        self.dirty = NULL
        while connection != NULL:
            connection.is_dirty = False
            self.flush(connection, now_ns)
            self.touched(connection)
            connection = connection.next_dirty

    cdef void run_timers(self, int64_t now_ns) noexcept nogil:
        cdef BrokerConnection* connection
        cdef int32_t i
        self.happened = True
        self.next_timer_ns = INT64_MAX
        for i in range(atomic_load_32(&self.connection_count)):
            connection = self.connections[i]
            connection_expire(connection, now_ns)
            if is_in_setup(connection):
                setup_expire(connection, now_ns)
            elif connection.state == CONNECTION_DISCONNECTED:
                if connection.backoff.not_before_ns <= now_ns and (connection.waiting.count or connection.is_wanted):
                    self.connect(connection, now_ns)
            elif (self.settings.max_idle_ns >= 0 and pending_requests(connection) == 0
                    and connection.last_active_ns + self.settings.max_idle_ns <= now_ns):
                connection_close(connection, FAILURE_IDLE)
            self.touched(connection)
            if connection.throttled_until_ns > now_ns:
                self.next_timer_ns = min(self.next_timer_ns, connection.throttled_until_ns)
        self.finish_unrouted(REPLY_UNSENT, now_ns)

    # --- the loop --------------------------------------------------------------------------------------------------

    cdef int64_t work(self, int64_t now_ns) noexcept nogil:
        """Do everything that needs no waiting. Returns when there is more to do."""
        cdef int64_t next_ns = INT64_MAX
        self.take_inbox(now_ns)
        if self.turn != NULL:
            next_ns = self.turn(self.driver, now_ns)
            self.take_inbox(now_ns)
        if now_ns >= self.next_timer_ns:
            self.run_timers(now_ns)
        if self.unrouted.first != NULL:
            next_ns = min(next_ns, self.route_unrouted(now_ns))
        self.flush_dirty(now_ns)
        return min(next_ns, self.next_timer_ns)

    cdef bint fall_asleep(self) noexcept nogil:
        """Return whether there is nothing to do. From then on, other threads write the eventfd."""
        cdef bint may_sleep
        pthread_mutex_lock(&self.lock)
        if self.is_woken:
            self.happened = True
            self.is_woken = False
            may_sleep = False
        else:
            may_sleep = self.inbox.first == NULL
        self.is_sleeping = may_sleep
        pthread_mutex_unlock(&self.lock)
        return may_sleep

    cdef void take_event(self, const epoll_event* event, int64_t now_ns) noexcept nogil:
        cdef uint64_t word
        cdef BrokerConnection* connection
        if event.data.u64 == WAKEUP:
            eventfd_read(self.wakeup, &word)
            return
        connection = self.connections[<int32_t><uint32_t>event.data.u64]
        if connection.generation != <uint32_t>(event.data.u64 >> 32):
            return
        self.happened = True
        if connection.state < CONNECTION_NEGOTIATING:
            setup_progress(connection, now_ns)
        elif event.events & ~<uint32_t>EPOLLOUT and not connection_receive(connection, now_ns):
            self.failed(connection, now_ns)
        elif event.events & EPOLLOUT:
            self.flush(connection, now_ns)
        self.touched(connection)

    cdef void poll(self, int64_t deadline_ns) noexcept nogil:
        cdef epoll_event[64] events
        cdef int64_t now_ns = monotonic_ns()
        cdef int64_t wait_ns
        cdef int ready
        cdef int i
        self.happened = False
        while not self.is_closed:
            wait_ns = min(deadline_ns, self.work(now_ns)) - now_ns
            if self.happened or wait_ns <= 0 or not self.fall_asleep():
                wait_ns = 0
            ready = epoll_wait(self.epoll, events, EVENTS, timeout_ms(wait_ns))
            pthread_mutex_lock(&self.lock)
            self.is_sleeping = False
            pthread_mutex_unlock(&self.lock)
            now_ns = monotonic_ns()
            for i in range(ready):
                self.take_event(&events[i], now_ns)
            # Return after an interrupted wait, because the caller may have to handle a signal.
            if self.happened or ready < 0 or now_ns >= deadline_ns:
                return

    cdef void shut(self) noexcept nogil:
        cdef RequestQueue abandoned
        cdef ClientRequest* request
        cdef int32_t i
        pthread_mutex_lock(&self.lock)
        self.is_closed = True
        abandoned = queue_take(&self.inbox)
        pthread_mutex_unlock(&self.lock)
        for i in range(atomic_load_32(&self.connection_count)):
            connection_close(self.connections[i], FAILURE_CLOSED)
        self.finish_unrouted(REPLY_CLOSED, INT64_MAX)
        request = queue_pop(&abandoned)
        while request != NULL:
            request.finish(request, REPLY_CLOSED, NULL, 0)
            request = queue_pop(&abandoned)


cdef int timeout_ms(int64_t wait_ns) noexcept nogil:
    """Convert a wait to ms, rounded up, because a wait that ends too early would be repeated. At most a day."""
    cdef int64_t wait_ms = wait_ns // NANOSECONDS_PER_MS + (1 if wait_ns % NANOSECONDS_PER_MS else 0)
    return <int>wait_ms if wait_ms < LONGEST_WAIT_MS else LONGEST_WAIT_MS


def encoded_host(host: str) -> bytes:
    """Return a host name as bytes for the resolver."""
    name = host.encode("idna" if not host.isascii() else "ascii")
    if not 0 < len(name) < HOST_BYTES or b"\0" in name:
        raise ValueError(f"{host!r} is no name of a host")
    return name
