"""Listening sockets."""

from libc.stdint cimport int32_t

cdef struct SocketOptions:
    int32_t send_buffer_bytes    # socket.send.buffer.bytes; -1: autotuned
    int32_t receive_buffer_bytes # socket.receive.buffer.bytes; -1: autotuned
    int32_t backlog              # socket.listen.backlog.size

# Returns a bound, listening, non-blocking socket. An empty host means every interface. OSError names the address.
cdef int open_listener(str name, str host, int port, const SocketOptions* options) except -1
# Sets TCP_NODELAY, SO_KEEPALIVE and the send buffer size of an accepted socket.
cdef void set_connection_options(int socket, const SocketOptions* options) noexcept nogil
