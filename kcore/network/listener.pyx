"""Opens listening sockets, and sets the options of accepted ones.

Socket buffers are autotuned unless a size is configured: a small fixed receive buffer costs more than anything else in
the network layer. The `socket` module is not used, because its import takes a fifth of the broker's start.
"""

from libc.errno cimport EADDRNOTAVAIL, errno
from libc.stdint cimport int32_t
from libc.string cimport memset, strerror

cdef extern from "<sys/socket.h>" nogil:
    struct sockaddr:
        pass
    ctypedef unsigned int socklen_t
    int open_socket "socket"(int domain, int kind, int protocol)
    int bind(int socket, const sockaddr* address, socklen_t size)
    int listen(int socket, int backlog)
    int setsockopt(int socket, int level, int option, const void* value, socklen_t size)
    enum:
        SOCK_STREAM
        SOCK_NONBLOCK
        SOCK_CLOEXEC
        SOL_SOCKET
        SO_REUSEADDR
        SO_RCVBUF
        SO_SNDBUF
        SO_KEEPALIVE

cdef extern from "<netinet/tcp.h>" nogil:
    enum:
        IPPROTO_TCP
        TCP_NODELAY

cdef extern from "<netdb.h>" nogil:
    struct addrinfo:
        int ai_flags
        int ai_family
        int ai_socktype
        int ai_protocol
        socklen_t ai_addrlen
        sockaddr* ai_addr
        addrinfo* ai_next
    int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found)
    void freeaddrinfo(addrinfo* found)
    const char* gai_strerror(int error)
    enum:
        AI_PASSIVE

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)


cdef int open_listener(str name, str host, int port, const SocketOptions* options) except -1:
    cdef addrinfo hints
    cdef addrinfo* found = NULL
    cdef addrinfo* candidate
    cdef bytes host_bytes = host.encode("idna") if not host.isascii() else host.encode("ascii")
    cdef bytes service = str(port).encode("ascii")
    cdef const char* host_text = host_bytes
    cdef const char* service_text = service
    cdef int descriptor = -1
    cdef int error
    memset(&hints, 0, sizeof(hints))
    hints.ai_flags = AI_PASSIVE
    hints.ai_socktype = SOCK_STREAM
    with nogil:
        error = getaddrinfo(host_text if host_text[0] else NULL, service_text, &hints, &found)
    if error != 0:
        raise OSError(EADDRNOTAVAIL, f"cannot resolve the listener {name}://{host}:{port}: "
                                     f"{gai_strerror(error).decode('utf-8', 'replace')}")
    with nogil:
        candidate = found
        while candidate != NULL and descriptor < 0:
            descriptor = bind_listener(candidate, options)
            candidate = candidate.ai_next
        error = errno
        freeaddrinfo(found)
    if descriptor < 0:
        raise OSError(error, f"cannot listen on {name}://{host}:{port}: {strerror(error).decode('utf-8', 'replace')}")
    return descriptor


cdef int bind_listener(const addrinfo* candidate, const SocketOptions* options) noexcept nogil:
    """A listening socket, or -1 with errno set."""
    cdef int descriptor = open_socket(candidate.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                                      candidate.ai_protocol)
    if descriptor < 0:
        return -1
    set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    # The TCP window scale is fixed during the handshake, so the receive buffer must be set before listen.
    if options.receive_buffer_bytes > 0:
        set_option(descriptor, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes)
    if (bind(descriptor, candidate.ai_addr, candidate.ai_addrlen) == 0
            and listen(descriptor, options.backlog) == 0):
        return descriptor
    # close(2) of a socket that was never connected does not change errno.
    close_descriptor(descriptor)
    return -1


cdef void set_option(int descriptor, int level, int option, int32_t value) noexcept nogil:
    setsockopt(descriptor, level, option, &value, sizeof(value))


cdef void set_connection_options(int socket, const SocketOptions* options) noexcept nogil:
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1)
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1)
    if options.send_buffer_bytes > 0:
        set_option(socket, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes)
