"""Listening sockets."""

from libc.stdint cimport int32_t

cdef struct SocketOptions:
    int32_t send_buffer_bytes    # socket.send.buffer.bytes; -1: autotuned
    int32_t receive_buffer_bytes # socket.receive.buffer.bytes; -1: autotuned
    int32_t backlog              # socket.listen.backlog.size

# A bound, listening, non-blocking socket; OSError names the address. An empty host means every interface.
cdef int open_listener(str name, str host, int port, const SocketOptions* options) except -1
# For an accepted socket: TCP_NODELAY and the buffer sizes that are not autotuned.
cdef void set_connection_options(int socket, const SocketOptions* options) noexcept nogil
