"""Processor: one thread that runs an epoll loop for its share of the connections, without the GIL.

A turn of a connection executes the buffered frames and receives more. It ends when the connection is muted (a request
is in a handler or a purgatory), the client does not read its responses, no data is left, or the turn's budget is used
up. The responses to all frames of a turn are sent together. While a request is in flight or a response is unsent, no
later request of the connection is executed, so responses are in the order of requests.

A muted connection keeps EPOLLIN until its socket becomes readable: most clients wait for their response, and muting
them then costs no system call. When it becomes readable, EPOLLIN is removed, and added again when the connection
continues. EPOLLRDHUP stays until the client closes its side. Requests executed after that are marked (`peer_closed`),
which the group coordinator uses.

If no memory is left for a connection's frame (MemoryPool), the connection is muted without EPOLLIN: its socket buffer
fills up, and its client waits. It continues, in the order of claims, when it is granted memory.

A response with `throttle_ms` mutes its connection from when it is queued. What the client sends meanwhile waits in the
connection's buffer or in the socket (KIP-219), while the response, which contains the time, is sent.

Bounds: `socket.request.max.bytes` per frame and `queued.max.request.bytes` for all of them; TURN_BYTES and TURN_FRAMES
per turn; UNSENT_PARTS unsent parts, above which nothing more is executed; the request channel has its own bound. A
frame that violates the protocol closes its connection, with one WARN line.

Stopping: while the processor drains, it executes nothing new, and closes each connection that has nothing in flight and
nothing unsent. The loop ends with the last connection, or at the deadline.

Concurrency: all state belongs to the loop's thread, except the inbox (own lock), the counters (atomic stores) and
`draining`. Nothing here waits for the GIL or for a lock that is held across a system call.
"""

from libc.errno cimport errno
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from kcore.metrics.histogram cimport count
from kcore.network.connection cimport (
    FLUSH_FAILED, FLUSH_YIELD, LISTED_READY, LISTED_STALLED, LISTED_STARVED, RECEIVE_DRAINED, RECEIVE_END,
    RECEIVE_FAILED, RECEIVE_STARVED, UNLISTED, Connection, FlushStatus, ReceiveStatus, buffered_bytes, connection_enqueue, connection_flush,
    connection_free, connection_new, connection_park, connection_receive, has_unsent, is_muted,
)
from kcore.network.connection_quotas cimport ConnectionQuotas
from kcore.network.connection_table cimport (
    table_add, table_any, table_find, table_free, table_init, table_list, table_remove, table_touch, table_unlist,
)
from kcore.network.dispatch cimport (
    DELAYED, DISPATCH_SIZE, RESPONDED, TO_HANDLER, DispatchEntry, DispatchTable, Disposition, NativeRequest,
)
from kcore.network.endpoint cimport Endpoint
from kcore.network.memory_pool cimport is_granted
from kcore.network.network_report cimport REPORT_WARN, report
from kcore.network.processor_inbox cimport (
    MESSAGE_ADOPT, MESSAGE_CLOSE, MESSAGE_RESPONSE, ProcessorMessage, inbox_close, inbox_free, inbox_init,
    inbox_is_empty, inbox_post, inbox_set_reader, inbox_take, inbox_wake, message_drop, message_new,
)
from kcore.network.receive_buffer cimport RECEIVE_CHUNK, buffer_capacity, pool_free, pool_trim
from kcore.network.request_channel cimport ADMITTED, CHANNEL_FULL, ROUSE_MS, Admission, RequestChannel
from kcore.network.request_header cimport read_request_header
from kcore.network.request_log cimport RequestRing, note_client, ring_is_on, ring_wants
from kcore.network.request_metrics cimport RequestMetrics
from kcore.network.request_timing cimport RequestTiming, timing_begin, timings_first, timings_pop, timings_push, timings_settle
from kcore.network.response cimport Response, response_free, response_init, response_reset, response_seal
from kcore.network.selector cimport (
    WAKEUP, selector_add, selector_free, selector_init, selector_modify, selector_select,
)
from kcore.network.throttle_queue cimport throttle_add, throttle_first, throttle_free, throttle_remove
from kcore.platform.disk cimport Disk
from kcore.platform.epoll cimport EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, EPOLLRDHUP, epoll_event, eventfd_read
from kcore.platform.signals cimport block_signals
from kcore.quota.client_quota_manager cimport QUOTA_REQUEST, ClientQuotaManager
from kcore.platform.sync cimport atomic_add_64, atomic_load_32, atomic_load_64, atomic_store_32, atomic_store_64
from kcore.transport.byte_stream cimport STREAM_WANT_READ, STREAM_WANT_WRITE, ByteStream, StreamFactory

cdef extern from "<endian.h>" nogil:
    uint32_t be32toh(uint32_t)

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)

cdef enum:
    LENGTH_PREFIX = 4
    TURN_BYTES = 2 * 1024 * 1024
    TURN_FRAMES = 128
    SENT_A_TURN = 1024 * 1024
    MEASURED_BYTES = 16 * 1024
    UNSENT_PARTS = 256
    LONGEST_WAIT_MS = 60000
    STRETCH_NS = 250000          # of work, after which a processor yields its core
    REST_NS = 20000              # a wait of this length counts as yielding
    NANOSECONDS_PER_MS = 1000000


# Without authentication, this is the principal of every connection (KafkaPrincipal.ANONYMOUS).
cdef const char* ANONYMOUS_USER = b"ANONYMOUS"

cdef enum:
    ANONYMOUS_SIZE = 9


cdef class Processor:
    """One of the `num.network.threads` processors."""

    def __cinit__(self):
        self.selector.epoll = -1
        self.inbox.wakeup = -1
        response_init(&self.scratch)

    def __init__(self, int index, RequestChannel channel, DispatchTable dispatch, Disk disk,
                 ClientQuotaManager quotas, ConnectionQuotas connection_quotas, list factories):
        cdef StreamFactory factory
        table_init(&self.table, index)
        self.channel = channel
        self.metrics = RequestMetrics()
        self.log = RequestRing()
        self.pool.memory = <void*>channel.memory
        self.dispatch = dispatch
        self.quotas = quotas
        self.connection_quotas = connection_quotas
        self.disk_owner = disk
        self.disk = &disk.operations
        self.factory_owners = factories
        if len(factories) > MAX_LISTENERS:
            raise ValueError(f"at most {MAX_LISTENERS} listeners can be served, not {len(factories)}")
        for listener, factory in enumerate(factories):
            self.factories[<int>listener] = <void*>factory
        if not inbox_init(&self.inbox) or not selector_init(&self.selector, &self.inbox):
            raise OSError(errno, "cannot create a processor's epoll or eventfd")
        channel.add_wakeup(self.inbox.wakeup)

    def __dealloc__(self):
        self.close_everything()
        inbox_free(&self.inbox)
        selector_free(&self.selector)
        table_free(&self.table)
        throttle_free(&self.throttled)
        pool_free(&self.pool)
        response_free(&self.scratch)

    def run(self) -> None:
        """Runs the processor. It is the body of its thread."""
        with nogil:
            self.loop()

    # --- called on any thread --------------------------------------------------------------------------------------

    cdef void post_response(self, uint64_t connection, Response* response) noexcept nogil:
        cdef ProcessorMessage* message = message_new(MESSAGE_RESPONSE, connection)
        if message == NULL:
            response_free(response)
            return
        message.response = response[0]
        response_init(response)
        inbox_post(&self.inbox, message)

    cdef void adopt(self, int socket, int32_t listener, const Endpoint* client, const Endpoint* local) noexcept nogil:
        cdef ProcessorMessage* message = message_new(MESSAGE_ADOPT, 0)
        if message == NULL:
            close_descriptor(socket)
            self.connection_quotas.closed(listener, client)
            return
        message.socket = socket
        message.listener = listener
        message.client = client[0]
        message.local = local[0]
        inbox_post(&self.inbox, message)

    cdef void post_close(self, uint64_t connection) noexcept nogil:
        cdef ProcessorMessage* message = message_new(MESSAGE_CLOSE, connection)
        if message != NULL:
            inbox_post(&self.inbox, message)

    cdef void drain(self, int64_t deadline_ns) noexcept nogil:
        atomic_store_64(&self.drain_deadline_ns, deadline_ns)
        atomic_store_32(&self.draining, 1)
        inbox_wake(&self.inbox)

    # --- the loop --------------------------------------------------------------------------------------------------

    cdef void loop(self) noexcept nogil:
        cdef epoll_event[256] events
        cdef int ready
        cdef int i
        block_signals()
        inbox_set_reader(&self.inbox)
        while True:
            self.give_way()
            ready = self.wait(events)
            for i in range(ready):
                self.on_event(&events[i])
            self.take_messages()
            self.resume_throttled()
            self.serve_ready()
            if self.channel.has_patient_requests():
                self.channel.rouse()
            self.close_idle()
            self.close_excess()
            self.trim_buffers()
            if atomic_load_32(&self.draining) and self.is_drained():
                break
        self.close_everything()

    cdef void give_way(self) noexcept nogil:
        """Yields the core after STRETCH_NS of work.

        The scheduler switches threads only at its ticks, several milliseconds apart. Without yielding, processors that
        share a core would each run for that long, while the connections of the others wait.
        """
        if self.clock_ns - self.rested_ns >= STRETCH_NS:
            sched_yield()
            self.rested_ns = self.look_at_clock()

    cdef int64_t look_at_clock(self) noexcept nogil:
        self.clock_ns = self.disk.monotonic_ns(self.disk.context)
        return self.clock_ns

    cdef int wait(self, epoll_event* events) noexcept nogil:
        # The last clock reading is recent enough: the work since then is negligible.
        cdef int64_t started_ns = self.clock_ns if self.clock_ns else self.look_at_clock()
        cdef int timeout_ms = self.wait_timeout_ms(started_ns)
        cdef int ready
        self.now_ns = started_ns
        if timeout_ms != 0:
            atomic_store_64(&self.waiting_since_ns, started_ns)
        ready = selector_select(&self.selector, events, timeout_ms, self.disk, &self.now_ns)
        self.clock_ns = self.now_ns
        if timeout_ms != 0:
            atomic_store_64(&self.waiting_since_ns, 0)
            count(&self.counters.idle_ns, self.now_ns - started_ns)
            if self.now_ns - started_ns >= REST_NS:
                self.rested_ns = self.now_ns
        return ready

    cdef int wait_timeout_ms(self, int64_t now_ns) noexcept nogil:
        cdef int64_t until_ns = now_ns + <int64_t>LONGEST_WAIT_MS * NANOSECONDS_PER_MS
        if self.table.ready.count or not inbox_is_empty(&self.inbox):
            return 0
        if self.channel.has_patient_requests():
            until_ns = now_ns + <int64_t>ROUSE_MS * NANOSECONDS_PER_MS
        if self.limits.max_idle_ns > 0 and self.table.idle_first != NULL:
            until_ns = min(until_ns, self.table.idle_first.last_active_ns + self.limits.max_idle_ns)
        if self.throttled.count:
            until_ns = min(until_ns, throttle_first(&self.throttled).throttled_until_ns)
        if self.pool.free_bytes:
            until_ns = min(until_ns, self.trim_due_ns)
        if atomic_load_32(&self.draining):
            until_ns = min(until_ns, atomic_load_64(&self.drain_deadline_ns))
        if until_ns <= now_ns:
            return 0
        return <int>((until_ns - now_ns + NANOSECONDS_PER_MS - 1) // NANOSECONDS_PER_MS)

    cdef void on_event(self, const epoll_event* event) noexcept nogil:
        cdef Connection* connection
        cdef uint64_t ignored
        if event.data.u64 == WAKEUP:
            eventfd_read(self.inbox.wakeup, &ignored)
            self.retry_stalled()
            self.resume_granted()
            return
        connection = table_find(&self.table, event.data.u64)
        if connection == NULL:
            return
        if event.events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP):
            connection.peer_closed = True
        if connection.handshaking:
            self.shake_hands(connection)
            return
        if event.events & (EPOLLIN | EPOLLERR | EPOLLHUP):
            connection.maybe_readable = True
        if is_muted(connection) and has_unsent(connection) and event.events & EPOLLOUT:
            self.serve(connection)
        elif is_muted(connection) or connection.listed == LISTED_STALLED or connection.listed == LISTED_STARVED:
            if event.events & (EPOLLERR | EPOLLHUP):
                self.close(connection)
            else:
                self.set_interest(connection, 0)
        else:
            self.serve(connection)

    cdef void take_messages(self) noexcept nogil:
        cdef ProcessorMessage* message = inbox_take(&self.inbox)
        cdef ProcessorMessage* next_message
        while message != NULL:
            next_message = message.next
            self.on_message(message)
            message_drop(message)
            message = next_message

    cdef void on_message(self, ProcessorMessage* message) noexcept nogil:
        cdef Connection* connection
        if message.kind == MESSAGE_ADOPT:
            self.register(message)
            return
        connection = table_find(&self.table, message.connection)
        if connection == NULL:
            return
        if message.kind == MESSAGE_CLOSE:
            self.close(connection)
        elif connection.in_flight:
            connection.in_flight = False
            self.answered(connection, &message.response)
            if self.enqueue(connection, &message.response):
                self.serve(connection)

    cdef void register(self, ProcessorMessage* message) noexcept nogil:
        """Creates the connection of an accepted socket. On success it takes the socket out of `message`."""
        cdef ByteStream* stream = NULL
        cdef Connection* connection
        if not atomic_load_32(&self.draining):
            stream = (<StreamFactory>self.factories[message.listener]).open(message.socket)
        if stream == NULL:
            self.connection_quotas.closed(message.listener, &message.client)
            return
        message.socket = -1
        connection = connection_new(stream)
        if connection == NULL:
            stream.close(stream)
            self.connection_quotas.closed(message.listener, &message.client)
            return
        connection.listener = message.listener
        connection.client = message.client
        connection.local = message.local
        connection.handshaking = True
        if not table_add(&self.table, connection):
            connection_free(connection, &self.pool)
            self.connection_quotas.closed(message.listener, &message.client)
            return
        table_touch(&self.table, connection, self.now_ns)
        atomic_add_64(self.connection_count, 1)
        count(&self.counters.connections_opened, 1)
        count(&self.listener_counters[connection.listener].opened, 1)
        connection.interest = EPOLLIN | EPOLLRDHUP
        if not selector_add(&self.selector, stream.socket, connection.id, connection.interest):
            self.close(connection)
            return
        self.shake_hands(connection)

    cdef void serve_ready(self) noexcept nogil:
        """Serves one turn of each connection that was ready at the start of the call."""
        cdef int32_t turns = self.table.ready.count
        while turns > 0 and self.table.ready.first != NULL:
            self.serve(self.table.ready.first)
            turns -= 1

    cdef void retry_stalled(self) noexcept nogil:
        cdef Connection* connection
        while self.table.stalled.first != NULL:
            connection = self.table.stalled.first
            table_unlist(&self.table, connection)
            table_list(&self.table, connection, LISTED_READY)

    cdef void resume_granted(self) noexcept nogil:
        """Resumes connections whose claims were granted. Claims are granted in the order of the list."""
        cdef Connection* connection = self.table.starved.first
        while connection != NULL and is_granted(&connection.claim):
            table_unlist(&self.table, connection)
            table_list(&self.table, connection, LISTED_READY)
            connection = self.table.starved.first

    cdef void resume_throttled(self) noexcept nogil:
        """Resumes connections whose throttle time is over."""
        cdef Connection* connection = throttle_first(&self.throttled)
        while connection != NULL and connection.throttled_until_ns <= self.now_ns:
            throttle_remove(&self.throttled, connection)
            connection.received_ns = self.now_ns
            if not connection.in_flight:
                table_list(&self.table, connection, LISTED_READY)
            connection = throttle_first(&self.throttled)

    cdef void trim_buffers(self) noexcept nogil:
        if self.pool.free_bytes and self.now_ns >= self.trim_due_ns:
            pool_trim(&self.pool)
            self.trim_due_ns = self.now_ns + self.limits.buffer_idle_ns
        atomic_store_64(&self.free_buffer_bytes, <int64_t>self.pool.free_bytes)

    cdef void close_idle(self) noexcept nogil:
        cdef Connection* connection = self.table.idle_first
        if self.limits.max_idle_ns <= 0:
            return
        while connection != NULL and connection.last_active_ns + self.limits.max_idle_ns <= self.now_ns:
            # A connection that waits for a handler, for room or for memory is not idle. A throttled one is (KIP-219):
            # it is not read, so its end is not noticed, and its throttle time may be days.
            if connection.in_flight or connection.listed != UNLISTED:
                table_touch(&self.table, connection, self.now_ns)
            else:
                count(&self.counters.connections_idle_closed, 1)
                self.close(connection)
            connection = self.table.idle_first

    cdef void close_excess(self) noexcept nogil:
        """Closes connections above max.connections, those idle for longest first, but not of the protected listener."""
        cdef Connection* connection = self.table.idle_first
        cdef Connection* following
        while connection != NULL and self.connection_quotas.is_exceeded():
            following = connection.idle_next
            if connection.listener != atomic_load_32(&self.connection_quotas.protected_listener):
                if not self.connection_quotas.claim_excess():
                    return
                self.close(connection)
                self.connection_quotas.unclaim()
            connection = following

    cdef bint is_drained(self) noexcept nogil:
        """Closes connections without work. Returns whether none is left or the deadline has passed."""
        cdef Connection* connection = self.table.idle_first
        cdef Connection* following
        while connection != NULL:
            following = connection.idle_next
            if not connection.in_flight and not has_unsent(connection):
                self.close(connection)
            connection = following
        return self.table.count == 0 or self.now_ns >= atomic_load_64(&self.drain_deadline_ns)

    cdef void close_everything(self) noexcept nogil:
        while table_any(&self.table) != NULL:
            self.close(table_any(&self.table))
        if self.inbox.wakeup >= 0:
            inbox_close(&self.inbox)

    # --- one connection's turn -------------------------------------------------------------------------------------

    cdef void serve(self, Connection* connection) noexcept nogil:
        """Serves one turn. If request time has quotas, the time is charged to the connection's next request."""
        cdef int64_t started_ns
        if not self.quotas.is_enabled(QUOTA_REQUEST):
            self.take_turn(connection)
            return
        started_ns = self.disk.monotonic_ns(self.disk.context)
        self.charged_ns = 0
        if self.take_turn(connection):
            connection.network_ns += self.disk.monotonic_ns(self.disk.context) - started_ns - self.charged_ns

    cdef bint take_turn(self, Connection* connection) noexcept nogil:
        """Runs one turn. Returns False if the connection was closed."""
        cdef int frames = TURN_FRAMES
        cdef int64_t received = 0
        cdef Progress progress
        table_touch(&self.table, connection, self.now_ns)
        table_unlist(&self.table, connection)
        if not self.flush(connection):
            return False
        while not has_unsent(connection) and not is_muted(connection):
            progress = self.execute_buffered(connection, &frames)
            if progress == PROGRESS_CLOSED or not self.flush(connection):
                return False
            if has_unsent(connection) or is_muted(connection) or connection.listed != UNLISTED:
                break
            if frames == 0 or received >= TURN_BYTES:
                table_list(&self.table, connection, LISTED_READY)
                break
            if progress == PROGRESS_MORE:
                continue
            if connection.ended:
                self.close(connection)
                return False
            if not connection.maybe_readable or atomic_load_32(&self.draining):
                break
            if not self.receive(connection, &received):
                self.close(connection)
                return False
        connection_park(connection, &self.pool)
        self.arm(connection)
        return True

    cdef bint receive(self, Connection* connection, int64_t* received_in_turn) noexcept nogil:
        """Calls recv once. Returns False if the connection must be closed."""
        cdef int64_t received
        cdef ReceiveStatus status = connection_receive(connection, &self.pool, &received)
        received_in_turn[0] += received
        if received > 0:
            count(&self.counters.bytes_in, received)
            # For few bytes the clock is not read: the time to copy them then counts as local time.
            connection.received_ns = self.look_at_clock() if received >= MEASURED_BYTES else self.clock_ns
        if status == RECEIVE_FAILED:
            return False
        if status == RECEIVE_STARVED:
            self.wait_for_memory(connection)
        elif status == RECEIVE_END:
            connection.ended = connection.peer_closed = True
        elif status == RECEIVE_DRAINED and (received == 0 or connection.expected_bytes <= RECEIVE_CHUNK):
            # In a large frame, maybe_readable stays set: the client is still sending, so another recv is worthwhile.
            connection.maybe_readable = connection.stream.has_buffered(connection.stream)
        return True

    cdef void wait_for_memory(self, Connection* connection) noexcept nogil:
        cdef int64_t size = <int64_t>buffer_capacity(connection.expected_bytes)
        if not self.channel.memory.wait(&connection.claim, size, self.inbox.wakeup):
            table_list(&self.table, connection, LISTED_STARVED)

    cdef Progress execute_buffered(self, Connection* connection, int* frames) noexcept nogil:
        cdef uint32_t prefix
        cdef int32_t size
        while buffered_bytes(connection) >= LENGTH_PREFIX:
            memcpy(&prefix, connection.buffer + connection.start, LENGTH_PREFIX)
            size = <int32_t>be32toh(prefix)
            if size <= 0:
                self.refuse(connection, b"a request of %lld bytes is no request", size, 0)
                return PROGRESS_PAUSED
            if size > self.limits.max_request_bytes:
                self.refuse(connection, b"a request of %lld bytes is larger than socket.request.max.bytes (%lld)",
                            size, self.limits.max_request_bytes)
                return PROGRESS_PAUSED
            connection.expected_bytes = <size_t>size + LENGTH_PREFIX
            if buffered_bytes(connection) < connection.expected_bytes or atomic_load_32(&self.draining):
                return PROGRESS_PAUSED
            if frames[0] == 0 or connection.count - connection.head >= UNSENT_PARTS:
                return PROGRESS_MORE
            frames[0] -= 1
            if not self.execute(connection, connection.buffer + connection.start + LENGTH_PREFIX, <size_t>size):
                return PROGRESS_CLOSED
            if connection.listed == LISTED_STALLED:
                return PROGRESS_PAUSED
            connection.start += connection.expected_bytes
            count(&self.counters.requests, 1)
            if is_muted(connection) or connection.close_after_send:
                return PROGRESS_PAUSED
        return PROGRESS_PAUSED

    cdef bint execute(self, Connection* connection, uint8_t* frame, size_t size) noexcept nogil:
        """Executes one request. Returns False if the connection was closed."""
        cdef NativeRequest request
        cdef Disposition disposition
        if not read_request_header(frame, size, self.dispatch.entries, &request):
            self.refuse(connection, b"the header of a request of %lld bytes (API key %lld) is malformed",
                        <int64_t>size, request.api_key)
            return True
        request.connection = connection.id
        request.listener = connection.listener
        request.received_ns = connection.received_ns
        request.peer_closed = connection.peer_closed
        timing_begin(&connection.timing, &request, self.clock_ns)
        if ring_is_on(self.log):
            note_client(&connection.name, &request)
        request.user = <const uint8_t*>ANONYMOUS_USER
        request.user_size = ANONYMOUS_SIZE
        request.started_ns = request.network_ns = 0
        if self.quotas.is_enabled(QUOTA_REQUEST):
            request.started_ns = self.disk.monotonic_ns(self.disk.context)
            request.network_ns = connection.network_ns
            connection.network_ns = 0
        disposition = self.ask_native_handler(&request)
        connection.timing.native = disposition == RESPONDED or disposition == DELAYED
        if disposition == RESPONDED:
            return self.enqueue(connection, &self.scratch)
        if disposition == DELAYED:
            self.settle_timings(connection)
            connection.timing.left_ns = connection.timing.completed_ns = self.look_at_clock()
            connection.in_flight = True
            return True
        if disposition == TO_HANDLER:
            return self.hand_over(connection, &request)
        connection.close_after_send = True
        return True

    cdef Disposition ask_native_handler(self, NativeRequest* request) noexcept nogil:
        cdef const DispatchEntry* entry
        cdef Disposition disposition
        if not 0 <= request.api_key < DISPATCH_SIZE:
            return TO_HANDLER
        entry = &self.dispatch.entries[request.api_key]
        if entry.handle == NULL or not entry.min_version <= request.api_version <= entry.max_version:
            return TO_HANDLER
        if atomic_load_32(&entry.handed_over):
            return TO_HANDLER
        disposition = entry.handle(entry.context, request, &self.scratch)
        if request.started_ns and disposition != TO_HANDLER:
            self.charged_ns += self.disk.monotonic_ns(self.disk.context) - request.started_ns
        if disposition != RESPONDED:
            # Reset the scratch response: the next request may be of another connection.
            if self.scratch.count:
                response_free(&self.scratch)
            response_reset(&self.scratch)
        return disposition

    cdef bint hand_over(self, Connection* connection, const NativeRequest* request) noexcept nogil:
        """Pushes the request to the request channel. If that is full, adds the connection to the stalled list."""
        cdef Admission admission = self.channel.push(request, &connection.client, &connection.local)
        if admission == ADMITTED:
            connection.in_flight = True
        elif admission == CHANNEL_FULL:
            table_list(&self.table, connection, LISTED_STALLED)
        else:
            self.close(connection)
            return False
        return True

    cdef bint enqueue(self, Connection* connection, Response* response) noexcept nogil:
        """Queues a response to be sent. Returns False if the connection was closed."""
        cdef bint sendable = True
        cdef int64_t before = connection.bytes_enqueued
        if response.throttle_ms > 0:
            throttle_add(&self.throttled, connection, self.disk.monotonic_ns(self.disk.context)
                         + response.throttle_ms * <int64_t>NANOSECONDS_PER_MS)
        if response.empty:
            connection.close_after_send = connection.close_after_send or response.close_after
        else:
            sendable = response_seal(response) and connection_enqueue(connection, response, self.disk)
            connection.timing.response_bytes = max(<int64_t>0, connection.bytes_enqueued - before - LENGTH_PREFIX)
        connection.timing.has_error = response.has_error
        connection.timing.throttle_ms = response.throttle_ms
        self.queue_timing(connection)
        if response.count:
            response_free(response)
        response_reset(response)
        if not sendable:
            self.close(connection)
        return sendable

    cdef bint flush(self, Connection* connection) noexcept nogil:
        """Sends as much as possible. Returns False if the connection was closed."""
        cdef FlushStatus status
        cdef int64_t sent
        if has_unsent(connection):
            self.settle_timings(connection)
            status = connection_flush(connection, self.disk, SENT_A_TURN, &sent)
            count(&self.counters.bytes_out, sent)
            self.look_at_clock()
            self.end_timings(connection, connection.bytes_sent)
            if status == FLUSH_FAILED:
                self.close(connection)
                return False
            if status == FLUSH_YIELD:
                table_list(&self.table, connection, LISTED_READY)
        if connection.close_after_send and not has_unsent(connection):
            self.close(connection)
            return False
        return True

    cdef void answered(self, Connection* connection, const Response* response) noexcept nogil:
        """Records the times of a request that was in flight."""
        cdef RequestTiming* timing = &connection.timing
        timing.settled = True
        timing.completed_ns = max(response.completed_ns, timing.left_ns)
        if response.begun_ns:
            timing.begun_ns = response.begun_ns
            timing.left_ns = response.left_ns if response.left_ns else timing.completed_ns
        # Kafka does not read from a muted connection, so bytes that came meanwhile count as received now.
        connection.received_ns = self.now_ns

    cdef void queue_timing(self, Connection* connection) noexcept nogil:
        """Queues the times of a response. One without bytes is complete if nothing is queued before it."""
        connection.timing.sending_ns = max(self.clock_ns, connection.timing.completed_ns)
        connection.timing.sent_at = connection.bytes_enqueued
        timings_push(&connection.timings, &connection.timing)
        if not has_unsent(connection):
            self.end_timings(connection, connection.bytes_sent)

    cdef void settle_timings(self, Connection* connection) noexcept nogil:
        """Sets the completion time of requests that were executed in a row."""
        if connection.timings.unsettled:
            timings_settle(&connection.timings, self.look_at_clock())

    cdef void end_timings(self, Connection* connection, int64_t bytes_sent) noexcept nogil:
        """Records the requests whose responses are within the first `bytes_sent` bytes of the connection."""
        cdef RequestTiming* timing
        self.settle_timings(connection)
        timing = timings_first(&connection.timings)
        while timing != NULL and timing.sent_at <= bytes_sent:
            timing.ended_ns = max(self.clock_ns, timing.sending_ns)
            self.metrics.record(timing)
            if ring_wants(self.log, timing):
                self.log.put(timing, connection.id, connection.listener, &connection.client, &connection.local,
                             &connection.name)
            timings_pop(&connection.timings)
            timing = timings_first(&connection.timings)

    cdef void shake_hands(self, Connection* connection) noexcept nogil:
        cdef int status = connection.stream.handshake(connection.stream)
        if status == 0:
            connection.handshaking = False
            self.arm(connection)
        elif status == STREAM_WANT_READ:
            self.set_interest(connection, EPOLLIN)
        elif status == STREAM_WANT_WRITE:
            self.set_interest(connection, EPOLLOUT)
        else:
            self.close(connection)

    cdef void refuse(self, Connection* connection, const char* rule, int64_t first, int64_t second) noexcept nogil:
        """Closes the connection after the responses to earlier requests."""
        report(self.channel, REPORT_WARN, b"Closing the connection of", &connection.client, rule, first, second)
        count(&self.counters.connections_refused, 1)
        connection.close_after_send = True

    cdef void arm(self, Connection* connection) noexcept nogil:
        """Sets the epoll interest of a connection. The module docstring describes EPOLLIN of muted connections."""
        if has_unsent(connection):
            self.set_interest(connection, connection.interest if connection.listed == LISTED_READY else EPOLLOUT)
        elif connection.ended or connection.listed == LISTED_STARVED or atomic_load_32(&self.draining):
            self.set_interest(connection, 0)
        elif is_muted(connection) or connection.listed != UNLISTED:
            self.set_interest(connection, connection.interest & EPOLLIN)
        else:
            self.set_interest(connection, EPOLLIN)

    cdef void set_interest(self, Connection* connection, uint32_t interest) noexcept nogil:
        # Watch for the client's close even while the connection is muted, but only until it has been reported.
        interest = interest & ~<uint32_t>EPOLLRDHUP if connection.peer_closed else interest | EPOLLRDHUP
        if connection.interest != interest:
            connection.interest = interest
            selector_modify(&self.selector, connection.stream.socket, connection.id, interest)

    cdef void close(self, Connection* connection) noexcept nogil:
        # As in Kafka, responses that will not be sent end now.
        self.end_timings(connection, INT64_MAX)
        count(&self.listener_counters[connection.listener].closed, 1)
        self.connection_quotas.closed(connection.listener, &connection.client)
        table_remove(&self.table, connection)
        throttle_remove(&self.throttled, connection)
        connection_free(connection, &self.pool)
        atomic_add_64(self.connection_count, -1)
        count(&self.counters.connections_closed, 1)
