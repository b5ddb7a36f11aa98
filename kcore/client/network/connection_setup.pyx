"""The setup of a connection up to READY.

All addresses of a name are tried, one after another without a pause. Each has the setup timeout
(`socket.connection.setup.timeout.ms`). Only after the last one has failed does the attempt fail, with its requests.

Concurrency: used by the polling thread only.
"""

from libc.errno cimport EINPROGRESS, errno
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset, strncpy
from kcore.client.network.api_versions cimport ASKED_VERSION
from kcore.client.network.client_request cimport RequestQueue
from kcore.client.network.connection cimport (
    CONNECTION_CONNECTING, CONNECTION_HANDSHAKING, CONNECTION_RESOLVING, FAILURE_ERRNO, FAILURE_MEMORY, FAILURE_NAME,
    FAILURE_SETUP_TIMEOUT, HOST_BYTES, BrokerConnection, ConnectionSettings, connection_drop, connection_end, connection_flush,
    connection_negotiate, connection_watch, failure_of,
)
from kcore.client.network.name_resolution cimport Address, lookup_begin, resolve_numeric, sockaddr, socklen_t
from kcore.client.network.reconnect_backoff cimport setup_timeout
from kcore.platform.epoll cimport EPOLL_CTL_ADD, EPOLLIN, EPOLLOUT, epoll_ctl, epoll_event
from kcore.platform.sync cimport atomic_load_32, pthread_mutex_lock, pthread_mutex_unlock
from kcore.transport.byte_stream cimport STREAM_WANT_READ, STREAM_WANT_WRITE, StreamFactory

cdef extern from "<sys/socket.h>" nogil:
    int open_socket "socket"(int domain, int kind, int protocol)
    int connect(int socket, const sockaddr* address, socklen_t size)
    int setsockopt(int socket, int level, int name, const void* value, socklen_t size)
    int getsockopt(int socket, int level, int name, void* value, socklen_t* size)
    enum:
        SOCK_STREAM
        SOCK_NONBLOCK
        SOCK_CLOEXEC
        SOL_SOCKET
        SO_ERROR
        SO_KEEPALIVE
        SO_RCVBUF
        SO_SNDBUF

cdef extern from "<netinet/in.h>" nogil:
    enum:
        IPPROTO_TCP

cdef extern from "<netinet/tcp.h>" nogil:
    enum:
        TCP_NODELAY

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)


cdef void setup_address(BrokerConnection* connection, const char* host, int32_t port) noexcept nogil:
    strncpy(connection.host, host, HOST_BYTES - 1)
    connection.port = port


cdef void setup_begin(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef char[256] host
    cdef int32_t port
    pthread_mutex_lock(connection.lock)
    memcpy(host, connection.host, HOST_BYTES)
    port = connection.port
    pthread_mutex_unlock(connection.lock)
    if resolve_numeric(host, port, &connection.addresses):
        dial(connection, now_ns)
    else:
        begin_lookup(connection, host, port, now_ns)


cdef void begin_lookup(BrokerConnection* connection, const char* host, int32_t port, int64_t now_ns) noexcept nogil:
    cdef epoll_event event
    connection.lookup = lookup_begin(host, port)
    if connection.lookup == NULL:
        connection_end(connection, failure_of(FAILURE_MEMORY, 0), now_ns)
        return
    connection.state = CONNECTION_RESOLVING
    connection.setup_deadline_ns = now_ns + setup_timeout(&connection.backoff, &connection.settings.backoff)
    memset(&event, 0, sizeof(event))
    event.events = EPOLLIN
    event.data.u64 = (<uint64_t>connection.generation << 32) | <uint32_t>connection.slot
    epoll_ctl(connection.epoll, EPOLL_CTL_ADD, connection.lookup.wakeup, &event)


cdef void set_option(int socket, int level, int name, int value) noexcept nogil:
    setsockopt(socket, level, name, &value, sizeof(value))


cdef int open_towards(const Address* address, const ConnectionSettings* settings) noexcept nogil:
    """Return a socket that is connected or connecting, or a negative errno."""
    cdef const sockaddr* target = <const sockaddr*>address.bytes
    cdef int error
    cdef int socket = open_socket(target.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
    if socket < 0:
        return -errno
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1)
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1)
    if settings.send_buffer_bytes >= 0:
        set_option(socket, SOL_SOCKET, SO_SNDBUF, settings.send_buffer_bytes)
    if settings.receive_buffer_bytes >= 0:
        set_option(socket, SOL_SOCKET, SO_RCVBUF, settings.receive_buffer_bytes)
    if connect(socket, target, address.size) != 0 and errno != EINPROGRESS:
        error = errno
        close_descriptor(socket)
        return -error
    return socket


cdef void dial(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    """Try the next address for which connecting does not fail at once."""
    cdef int socket
    # A connection that was not ready can have sent ApiVersions only.
    memset(&connection.unsent, 0, sizeof(RequestQueue))
    memset(&connection.in_flight, 0, sizeof(RequestQueue))
    connection.sent_parts = 0
    connection.sent_offset = 0
    connection.state = CONNECTION_CONNECTING
    while connection.addresses.next_index < connection.addresses.count:
        connection.addresses.next_index += 1
        socket = open_towards(&connection.addresses.entries[connection.addresses.next_index - 1], connection.settings)
        if socket < 0:
            connection.failure = failure_of(FAILURE_ERRNO, -socket)
            continue
        connection.stream = (<StreamFactory>connection.settings.stream_factory).open(socket)
        if connection.stream == NULL:
            close_descriptor(socket)
            connection.failure = failure_of(FAILURE_MEMORY, 0)
            break
        connection.setup_deadline_ns = now_ns + setup_timeout(&connection.backoff, &connection.settings.backoff)
        connection_watch(connection, EPOLLOUT)
        return
    connection_end(connection, connection.failure, now_ns)


cdef void setup_failed(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    connection_drop(connection)
    dial(connection, now_ns)


cdef void fail(BrokerConnection* connection, int error, int64_t now_ns) noexcept nogil:
    connection.failure = failure_of(FAILURE_ERRNO, error)
    setup_failed(connection, now_ns)


cdef void lookup_done(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    connection.addresses = connection.lookup.addresses
    connection_drop(connection)
    if connection.addresses.error != 0:
        connection_end(connection, failure_of(FAILURE_NAME, connection.addresses.error), now_ns)
    else:
        dial(connection, now_ns)


cdef int socket_error(int socket) noexcept nogil:
    cdef int error = 0
    cdef socklen_t size = sizeof(error)
    return error if getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 else errno


cdef void handshake(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef int outcome = connection.stream.handshake(connection.stream)
    if outcome == STREAM_WANT_READ or outcome == STREAM_WANT_WRITE:
        connection_watch(connection, EPOLLIN if outcome == STREAM_WANT_READ else EPOLLOUT)
        return
    if outcome < 0:
        fail(connection, -outcome, now_ns)
        return
    connection.last_active_ns = now_ns
    connection_negotiate(connection, ASKED_VERSION)
    if not connection_flush(connection, now_ns):
        setup_failed(connection, now_ns)


cdef void setup_progress(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef int error
    if connection.state == CONNECTION_RESOLVING:
        if atomic_load_32(&connection.lookup.is_done):
            lookup_done(connection, now_ns)
        return
    if connection.state == CONNECTION_CONNECTING:
        error = socket_error(connection.stream.socket)
        if error != 0:
            fail(connection, error, now_ns)
            return
        connection.state = CONNECTION_HANDSHAKING
    handshake(connection, now_ns)


cdef void setup_expire(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    if now_ns >= connection.setup_deadline_ns:
        connection.failure = failure_of(FAILURE_SETUP_TIMEOUT, 0)
        setup_failed(connection, now_ns)
