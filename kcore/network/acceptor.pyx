"""Acceptor: takes connections from the listening sockets and hands them to the processors, round robin.

Bounds: with `max.connections` open, a further client is accepted and closed with a WARN. When the process has no descriptor
left, a spare one is given up for the moment it takes to accept and close the client, which would otherwise wait
unanswered while epoll reported it without end.
"""

from libc.errno cimport ECONNABORTED, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM, errno
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset
from kcore.network.endpoint cimport Endpoint, endpoint_from_address, sockaddr, sockaddr_storage, socklen_t
from kcore.network.epoll cimport (
    EFD_CLOEXEC, EFD_NONBLOCK, EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLLIN, epoll_create1, epoll_ctl,
    epoll_event, epoll_wait, eventfd, eventfd_write,
)
from kcore.network.listener cimport SocketOptions, open_listener, set_connection_options
from kcore.network.network_report cimport REPORT_ERROR, REPORT_WARN, report
from kcore.network.processor cimport MAX_LISTENERS, Processor
from kcore.network.connection_table cimport MAX_PROCESSORS
from kcore.network.request_channel cimport RequestChannel
from kcore.platform.signals cimport block_signals
from kcore.platform.sync cimport atomic_load_32, atomic_load_64, atomic_store_32

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
    STOP = -1                    # epoll's datum of the wake-up descriptor
    PAUSE_MS = 100               # after the kernel had no memory for a connection


cdef class Acceptor:
    """One a server, for all its listeners."""

    def __cinit__(self):
        self.epoll = self.wakeup = self.spare = -1
        for i in range(MAX_LISTENERS):
            self.sockets[i] = -1

    def __init__(self, list processors, RequestChannel channel):
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
        self.watch(self.wakeup, STOP)

    def __dealloc__(self):
        self.close_sockets()
        if self.spare >= 0:
            close_descriptor(self.spare)
        if self.wakeup >= 0:
            close_descriptor(self.wakeup)
        if self.epoll >= 0:
            close_descriptor(self.epoll)

    cdef int add_processor(self, Processor processor) except -1:
        """One more that `take_turns_among` may count in; it is kept for as long as the acceptor lives."""
        self.processors[len(self.processor_owners)] = <void*>processor
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
        cdef int ready
        cdef int i
        block_signals()
        while not atomic_load_32(&self.stopping):
            ready = epoll_wait(self.epoll, events, 16, -1)
            for i in range(ready):
                if <int>events[i].data.u64 != STOP:
                    self.accept_from(<int32_t>events[i].data.u64)

    cdef void accept_from(self, int32_t listener) noexcept nogil:
        cdef int turns = ACCEPTED_A_TURN
        cdef int socket
        while turns > 0:
            turns -= 1
            socket = accept4(self.sockets[listener], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)
            if socket >= 0:
                self.hand_to_processor(socket, listener)
            elif errno == EMFILE or errno == ENFILE:
                if not self.turn_away(listener):
                    return
            elif errno != EINTR and errno != ECONNABORTED:
                if errno == ENOBUFS or errno == ENOMEM:
                    poll(NULL, 0, PAUSE_MS)
                return

    cdef void hand_to_processor(self, int socket, int32_t listener) noexcept nogil:
        cdef sockaddr_storage address
        cdef socklen_t size = sizeof(address)
        cdef Endpoint client
        cdef Endpoint local
        memset(&address, 0, sizeof(address))
        getpeername(socket, <sockaddr*>&address, &size)
        endpoint_from_address(&address, &client)
        if atomic_load_64(self.connection_count) >= self.max_connections:
            report(self.channel, REPORT_WARN, b"Refusing the connection of", &client,
                   b"max.connections (%lld) are open", self.max_connections, 0)
            close_descriptor(socket)
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
