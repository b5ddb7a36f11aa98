"""The byte stream of a connection: plaintext now, and TLS later without changes to the network layer.

Operations run without the GIL and never block. They return a count >= 0 or a negated errno. STREAM_WANT_READ and
STREAM_WANT_WRITE mean: try again when the socket is readable or writable. With TLS, both directions may return either.
"""

from libc.stdint cimport int64_t
from kcore.platform.disk cimport DiskOperations, iovec

cdef enum:
    STREAM_WANT_READ = -100001
    STREAM_WANT_WRITE = -100002

cdef struct ByteStream:
    int socket
    # Returns 0 once the connection can carry frames.
    int (*handshake)(ByteStream* stream) noexcept nogil
    # Returns the number of bytes received, or 0 at the end of the stream.
    int64_t (*recv)(ByteStream* stream, void* buffer, size_t size) noexcept nogil
    # `more`: further bytes follow at once, so an incomplete packet can wait for them (MSG_MORE).
    int64_t (*writev)(ByteStream* stream, iovec* parts, int count, bint more) noexcept nogil
    int64_t (*sendfile)(ByteStream* stream, const DiskOperations* disk, int descriptor, int64_t position,
                        size_t size) noexcept nogil
    # Whether the stream has buffered received bytes, which epoll does not report.
    bint (*has_buffered)(ByteStream* stream) noexcept nogil
    # Closes the socket and frees the stream.
    void (*close)(ByteStream* stream) noexcept nogil


cdef class StreamFactory:
    """Creates the streams of one listener. Its Python owner must keep it alive as long as its streams."""
    # Takes over a connected, non-blocking socket. If memory is exhausted, returns NULL; the caller keeps the socket.
    cdef ByteStream* open(self, int socket) noexcept nogil
