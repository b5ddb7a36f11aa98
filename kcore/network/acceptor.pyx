"""Acceptor: takes connections from the listening sockets and hands them to the processors, round robin.

A listener whose connections are too many, or come too fast, is not watched until ConnectionQuotas lets it go on; its clients
wait in its backlog, and other listeners go on.

Bounds: at most MAX_DELAYED_CLOSES connections that came too fast from their address wait to be closed; beyond them they are
closed at once. When the process has no descriptor left, a spare one is given up for the moment it takes to accept and close the client, which would otherwise wait
unanswered while epoll reported it without end.
"""

from libc.errno cimport ECONNABORTED, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t
from libc.string cimport memset
from kcore.network.connection_quotas cimport (
    CONNECTION_TOO_MANY, CONNECTION_TOO_SOON, ConnectionQuotas, ConnectionVerdict,
)
from kcore.network.endpoint cimport Endpoint, endpoint_from_address, sockaddr, sockaddr_storage, socklen_t
from kcore.network.listener cimport open_listener, set_connection_options
from kcore.network.network_report cimport REPORT_ERROR, REPORT_INFO, report
from kcore.network.processor cimport MAX_LISTENERS, Processor
from kcore.network.processor_inbox cimport inbox_wake
from kcore.network.connection_table cimport MAX_PROCESSORS
from kcore.network.request_channel cimport RequestChannel
from kcore.platform.epoll cimport (
    EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLLIN, epoll_create1, epoll_ctl,
    epoll_event, epoll_wait, eventfd, eventfd_read, eventfd_write,
)
from kcore.platform.signals cimport block_signals
from kcore.platform.sync cimport atomic_load_32, atomic_store_32

cdef extern from "<sys/socket.h>" nogil:
    int accept4(int socket, sockaddr* address, socklen_t* size, int flags)
    int getpeername(int socket, sockaddr* address, socklen_t* size)
    int getsockname(int socket, sockaddr* address, socklen_t* size)
    enum:
        SOCK_NONBLOCK
        SOCK_CLOEXEC

cdef extern from "<poll.h>" nogil:
    int poll(void* descriptors, unsigned long count, int timeout_ms)

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)

cdef extern from "<fcntl.h>" nogil:
    int open_file "open"(const char* path, int flags)
    enum:
        O_RDONLY
        O_CLOEXEC

cdef enum:
    ACCEPTED_A_TURN = 64
    WAKE_UP = -1                 # epoll's datum of the wake-up descriptor
    NANOSECONDS_PER_MS = 1000000
    PAUSE_MS = 100               # after the kernel had no memory for a connection


cdef class Acceptor:
    """One a server, for all its listeners."""

    def __cinit__(self):
        self.epoll = self.wakeup = self.spare = -1
        for i in range(MAX_LISTENERS):
            self.sockets[i] = -1

    def __init__(self, list processors, RequestChannel channel, ConnectionQuotas quotas not None):
        cdef Processor processor
        if not 0 < len(processors) <= MAX_PROCESSORS:
            raise ValueError(f"num.network.threads must be between 1 and {MAX_PROCESSORS}, not {len(processors)}")
        self.processor_owners = []
        for processor in processors:
            self.add_processor(processor)
        self.take_turns_among(<int32_t>len(processors))
        self.channel = channel
        self.epoll = epoll_create1(EPOLL_CLOEXEC)
        self.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        self.spare = open_file(b"/dev/null", O_RDONLY | O_CLOEXEC)
        if self.epoll < 0 or self.wakeup < 0 or self.spare < 0:
            raise OSError(errno, "cannot create the acceptor's epoll or eventfd")
        self.watch(self.wakeup, WAKE_UP)
        self.quotas = quotas
        quotas.wakeup = self.wakeup

    def __dealloc__(self):
        self.close_sockets()
        self.close_delayed(True)
        if self.quotas is not None:
            self.quotas.wakeup = -1
        if self.spare >= 0:
            close_descriptor(self.spare)
        if self.wakeup >= 0:
            close_descriptor(self.wakeup)
        if self.epoll >= 0:
            close_descriptor(self.epoll)

    cdef int add_processor(self, Processor processor) except -1:
        """One more that `take_turns_among` may count in; it is kept for as long as the acceptor lives."""
        self.processors[len(self.processor_owners)] = <void*>processor
        atomic_store_32(&self.known_processors, <int32_t>len(self.processor_owners) + 1)
        self.processor_owners.append(processor)
        return 0

    cdef void take_turns_among(self, int32_t count) noexcept:
        """From the next connection on the first `count` processors get one after another."""
        atomic_store_32(&self.processor_count, count)

    cdef int watch(self, int descriptor, int datum) except -1:
        cdef epoll_event event
        memset(&event, 0, sizeof(event))
        event.events = EPOLLIN
        event.data.u64 = <uint64_t>datum
        if epoll_ctl(self.epoll, EPOLL_CTL_ADD, descriptor, &event) != 0:
            raise OSError(errno, "cannot watch a listening socket")
        return 0

    def open(self, str name, str host, int port) -> int:
        """Listens on one more address; answers the port, which the system chose when it was 0."""
        cdef sockaddr_storage address
        cdef socklen_t size = sizeof(address)
        cdef Endpoint endpoint
        cdef int descriptor = open_listener(name, host, port, &self.options)
        self.sockets[self.listener_count] = descriptor
        getsockname(descriptor, <sockaddr*>&address, &size)
        endpoint_from_address(&address, &endpoint)
        self.watch(descriptor, self.listener_count)
        self.listener_count += 1
        return endpoint.port

    def run(self) -> None:
        """The thread's whole life."""
        with nogil:
            self.loop()

    def stop(self) -> None:
        """Ends `run`; the caller joins the thread before it closes the sockets."""
        atomic_store_32(&self.stopping, 1)
        eventfd_write(self.wakeup, 1)

    def close_sockets(self) -> None:
        cdef int32_t i
        for i in range(self.listener_count):
            if self.sockets[i] >= 0:
                close_descriptor(self.sockets[i])
                self.sockets[i] = -1

    cdef void loop(self) noexcept nogil:
        cdef epoll_event[16] events
        cdef uint64_t ignored
        cdef int ready
        cdef int i
        block_signals()
        while not atomic_load_32(&self.stopping):
            ready = epoll_wait(self.epoll, events, 16, self.wait_timeout_ms())
            for i in range(ready):
                if <int>events[i].data.u64 == WAKE_UP:
                    eventfd_read(self.wakeup, &ignored)
                else:
                    self.accept_from(<int32_t>events[i].data.u64)
            self.resume_listeners()
            self.close_delayed(False)
            if self.quotas.is_exceeded():
                self.wake_processors()
        self.close_delayed(True)

    cdef int64_t now_ns(self) noexcept nogil:
        return self.quotas.disk.operations.monotonic_ns(self.quotas.disk.operations.context)

    cdef int wait_timeout_ms(self) noexcept nogil:
        """Until the first listener goes on, or the first client is closed; -1 when nothing is due."""
        cdef int64_t due_ns = INT64_MAX
        cdef int64_t left_ns
        cdef int32_t i
        for i in range(self.listener_count):
            if self.states[i].paused_until_ns:
                due_ns = min(due_ns, self.states[i].paused_until_ns)
        for i in range(self.delayed_count):
            due_ns = min(due_ns, self.delayed_closes[i].due_ns)
        if due_ns == INT64_MAX:
            return -1
        left_ns = max(<int64_t>0, due_ns - self.now_ns())
        return <int>((left_ns + NANOSECONDS_PER_MS - 1) // NANOSECONDS_PER_MS)

    # --- listeners that wait ---------------------------------------------------------------------------------------

    cdef void set_watched(self, int32_t listener, bint watched) noexcept nogil:
        cdef epoll_event event
        memset(&event, 0, sizeof(event))
        event.events = EPOLLIN if watched else 0
        event.data.u64 = <uint64_t>listener
        epoll_ctl(self.epoll, EPOLL_CTL_MOD, self.sockets[listener], &event)

    cdef bint may_accept(self, int32_t listener) noexcept nogil:
        """Whether the next connection is to be taken now; if not, the listener is not watched until it is."""
        cdef ListenerState* state = &self.states[listener]
        cdef int64_t throttle_ms
        if not state.attempt_is_counted:
            throttle_ms = self.quotas.count_attempt(listener)
            state.attempt_is_counted = True
            if throttle_ms:
                state.paused_until_ns = self.now_ns() + throttle_ms * NANOSECONDS_PER_MS
                self.set_watched(listener, False)
                return False
        if self.quotas.has_slot(listener):
            return True
        state.waits_for_slot = True
        self.set_watched(listener, False)
        return False

    cdef void resume_listeners(self) noexcept nogil:
        cdef ListenerState* state
        cdef int32_t listener
        for listener in range(self.listener_count):
            state = &self.states[listener]
            if state.paused_until_ns and self.now_ns() >= state.paused_until_ns:
                state.paused_until_ns = 0
                self.set_watched(listener, True)
            elif state.waits_for_slot and self.quotas.has_slot(listener):
                state.waits_for_slot = False
                self.set_watched(listener, True)

    # --- clients that came too fast --------------------------------------------------------------------------------

    cdef void close_later(self, int socket, int64_t delay_ms) noexcept nogil:
        if self.delayed_count == MAX_DELAYED_CLOSES:
            close_descriptor(socket)
            return
        self.delayed_closes[self.delayed_count].socket = socket
        self.delayed_closes[self.delayed_count].due_ns = self.now_ns() + delay_ms * NANOSECONDS_PER_MS
        self.delayed_count += 1

    cdef void close_delayed(self, bint everything) noexcept nogil:
        cdef int32_t kept = 0
        cdef int32_t i
        cdef int64_t now_ns
        if self.delayed_count == 0:
            return
        now_ns = self.now_ns()
        for i in range(self.delayed_count):
            if everything or self.delayed_closes[i].due_ns <= now_ns:
                close_descriptor(self.delayed_closes[i].socket)
            else:
                self.delayed_closes[kept] = self.delayed_closes[i]
                kept += 1
        self.delayed_count = kept

    # --- accepting -------------------------------------------------------------------------------------------------

    cdef void wake_processors(self) noexcept nogil:
        cdef int32_t i
        for i in range(atomic_load_32(&self.known_processors)):
            inbox_wake(&(<Processor>self.processors[i]).inbox)

    cdef void accept_from(self, int32_t listener) noexcept nogil:
        # Where rates are bounded every connection is one that epoll has seen, so that nothing is counted that is not there.
        cdef int turns = 1 if self.quotas.limits_rate(listener) else ACCEPTED_A_TURN
        cdef int socket
        while turns > 0:
            turns -= 1
            if not self.may_accept(listener):
                return
            socket = accept4(self.sockets[listener], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
            if socket >= 0:
                self.states[listener].attempt_is_counted = False
                self.hand_to_processor(socket, listener)
            elif errno == EMFILE or errno == ENFILE:
                if not self.turn_away(listener):
                    return
            elif errno != EINTR and errno != ECONNABORTED:
                if errno == ENOBUFS or errno == ENOMEM:
                    poll(NULL, 0, PAUSE_MS)
                if self.states[listener].attempt_is_counted:
                    self.states[listener].attempt_is_counted = False
                    self.quotas.forget_attempt(listener)
                return

    cdef void hand_to_processor(self, int socket, int32_t listener) noexcept nogil:
        cdef sockaddr_storage address
        cdef socklen_t size = sizeof(address)
        cdef Endpoint client
        cdef Endpoint local
        cdef int64_t bound
        cdef ConnectionVerdict verdict
        memset(&address, 0, sizeof(address))
        getpeername(socket, <sockaddr*>&address, &size)
        endpoint_from_address(&address, &client)
        verdict = self.quotas.admit(listener, &client, &bound)
        if verdict == CONNECTION_TOO_MANY:
            report(self.channel, REPORT_INFO, b"Rejected connection from", &client,
                   b"its address already has the configured maximum of %lld connections", bound, 0)
            close_descriptor(socket)
            return
        if verdict == CONNECTION_TOO_SOON:
            self.close_later(socket, bound)
            return
        size = sizeof(address)
        getsockname(socket, <sockaddr*>&address, &size)
        endpoint_from_address(&address, &local)
        set_connection_options(socket, &self.options)
        if self.next_processor >= atomic_load_32(&self.processor_count):
            self.next_processor = 0
        (<Processor>self.processors[self.next_processor]).adopt(socket, listener, &client, &local)
        self.next_processor += 1

    cdef bint turn_away(self, int32_t listener) noexcept nogil:
        """Accepts and closes one client by means of the spare descriptor; False when that was not possible either."""
        cdef sockaddr_storage address
        cdef socklen_t size = sizeof(address)
        cdef Endpoint client
        cdef int socket
        memset(&address, 0, sizeof(address))
        if self.spare >= 0:
            close_descriptor(self.spare)
        socket = accept4(self.sockets[listener], <sockaddr*>&address, &size, SOCK_CLOEXEC)
        if socket >= 0:
            close_descriptor(socket)
        self.spare = open_file(b"/dev/null", O_RDONLY | O_CLOEXEC)
        if socket < 0:
            poll(NULL, 0, PAUSE_MS)
            return False
        endpoint_from_address(&address, &client)
        report(self.channel, REPORT_ERROR, b"Refusing the connection of", &client,
               b"the process has no file descriptor left (ulimit -n)", 0, 0)
        return True
