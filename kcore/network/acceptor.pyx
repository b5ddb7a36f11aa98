"""Acceptor: accepts connections on the listening sockets and hands them to the processors, round robin.

A listener with too many connections, or whose connections come too fast, is not watched until ConnectionQuotas permits
it. Its clients wait in its backlog. Other listeners are not affected.

Bounds: at most MAX_DELAYED_CLOSES connections that exceeded the rate of their address wait to be closed. Further ones
are closed at once. When the process has no descriptor left, the acceptor closes a spare one, and then accepts and
closes the client. Otherwise the client would wait without an answer, and epoll would report it in a busy loop.
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
    WAKE_UP = -1                 # epoll data of the wake-up descriptor
    NANOSECONDS_PER_MS = 1000000
    PAUSE_MS = 100               # pause when the kernel has no memory or descriptor for a connection


cdef class Acceptor:
    """The acceptor of all listeners of a server."""

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
        """Adds a processor, which gets connections if `take_turns_among` includes it. It is never removed."""
        self.processors[len(self.processor_owners)] = <void*>processor
        atomic_store_32(&self.known_processors, <int32_t>len(self.processor_owners) + 1)
        self.processor_owners.append(processor)
        return 0

    cdef void take_turns_among(self, int32_t count) noexcept:
        """Distributes new connections among the first `count` processors."""
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
        """Listens on one more address. Returns the port, which the system chooses if `port` is 0."""
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
        """Runs the acceptor. It is the body of its thread."""
        with nogil:
            self.loop()

    def stop(self) -> None:
        """Ends `run`. Join the thread before you close the sockets."""
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
        """The time until the first listener resumes or the first client is closed, or -1 if there is none."""
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

    # --- paused listeners ------------------------------------------------------------------------------------------

    cdef void set_watched(self, int32_t listener, bint watched) noexcept nogil:
        cdef epoll_event event
        memset(&event, 0, sizeof(event))
        event.events = EPOLLIN if watched else 0
        event.data.u64 = <uint64_t>listener
        epoll_ctl(self.epoll, EPOLL_CTL_MOD, self.sockets[listener], &event)

    cdef bint may_accept(self, int32_t listener) noexcept nogil:
        """Whether to accept the next connection now. If not, stops watching the listener until it may continue."""
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

    # --- clients over the rate of their address --------------------------------------------------------------------

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
        # With a rate limit, accept only connections that epoll has reported, so that only real ones are counted.
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
        """Uses the spare descriptor to accept and close one client. False if that failed too."""
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
