"""PLAINTEXT: bytes are sent and received unchanged.

Callers need not handle SIGPIPE: `sendmsg` disables it, and the threads that call `sendfile` block all signals.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from kcore.platform.disk cimport DiskOperations, iovec
from kcore.transport.byte_stream cimport ByteStream, StreamFactory, STREAM_WANT_READ, STREAM_WANT_WRITE

cdef extern from "<sys/socket.h>" nogil:
    struct msghdr:
        iovec* msg_iov
        size_t msg_iovlen
    ssize_t recv(int socket, void* buffer, size_t size, int flags)
    ssize_t sendmsg(int socket, const msghdr* message, int flags)
    enum:
        MSG_DONTWAIT
        MSG_MORE
        MSG_NOSIGNAL

cdef extern from "<unistd.h>" nogil:
    int close_socket "close"(int descriptor)


cdef int plaintext_handshake(ByteStream* stream) noexcept nogil:
    return 0


cdef int64_t plaintext_recv(ByteStream* stream, void* buffer, size_t size) noexcept nogil:
    cdef ssize_t received
    while True:
        received = recv(stream.socket, buffer, size, MSG_DONTWAIT)
        if received >= 0:
            return received
        if errno != EINTR:
            return STREAM_WANT_READ if errno == EAGAIN else -errno


cdef int64_t plaintext_writev(ByteStream* stream, iovec* parts, int count, bint more) noexcept nogil:
    cdef msghdr message
    cdef ssize_t sent
    cdef int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (MSG_MORE if more else 0)
    # memset is needed: Cython does not initialize members that it does not declare (address, control).
    memset(&message, 0, sizeof(message))
    message.msg_iov = parts
    message.msg_iovlen = <size_t>count
    while True:
        sent = sendmsg(stream.socket, &message, flags)
        if sent >= 0:
            return sent
        if errno != EINTR:
            return STREAM_WANT_WRITE if errno == EAGAIN else -errno


cdef int64_t plaintext_sendfile(ByteStream* stream, const DiskOperations* disk, int descriptor, int64_t position,
                                size_t size) noexcept nogil:
    cdef int64_t sent
    while True:
        sent = disk.sendfile(disk.context, stream.socket, descriptor, position, size)
        if sent != -EINTR:
            return STREAM_WANT_WRITE if sent == -EAGAIN else sent


cdef bint plaintext_has_buffered(ByteStream* stream) noexcept nogil:
    return False


cdef void plaintext_close(ByteStream* stream) noexcept nogil:
    close_socket(stream.socket)
    free(stream)


cdef class PlaintextFactory(StreamFactory):
    """Creates the streams of a PLAINTEXT listener. It has no state."""

    cdef ByteStream* open(self, int socket) noexcept nogil:
        cdef ByteStream* stream = <ByteStream*>calloc(1, sizeof(ByteStream))
        if stream == NULL:
            return NULL
        stream.socket = socket
        stream.handshake = plaintext_handshake
        stream.recv = plaintext_recv
        stream.writev = plaintext_writev
        stream.sendfile = plaintext_sendfile
        stream.has_buffered = plaintext_has_buffered
        stream.close = plaintext_close
        return stream
