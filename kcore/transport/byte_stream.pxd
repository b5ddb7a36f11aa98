"""A connection's bytes, whatever carries them: plaintext now, TLS later, without touching the reactor.

Every operation runs without the GIL and never blocks. It answers a count >= 0, or a negated errno; STREAM_WANT_READ and
STREAM_WANT_WRITE stand for "try again when the socket is readable (writable)", which TLS may ask of either direction.
"""

from libc.stdint cimport int64_t
from kcore.platform.disk cimport DiskOperations, iovec

cdef enum:
    STREAM_WANT_READ = -100001
    STREAM_WANT_WRITE = -100002

cdef struct ByteStream:
    int socket
    # 0 once the connection may carry frames.
    int (*handshake)(ByteStream* stream) noexcept nogil
    # Bytes received, 0 at the end of the stream.
    int64_t (*recv)(ByteStream* stream, void* buffer, size_t size) noexcept nogil
    # `more`: further bytes follow at once, a packet need not be filled up by these (MSG_MORE).
    int64_t (*writev)(ByteStream* stream, iovec* parts, int count, bint more) noexcept nogil
    int64_t (*sendfile)(ByteStream* stream, const DiskOperations* disk, int descriptor, int64_t position,
                        size_t size) noexcept nogil
    # Whether received bytes wait inside the stream, where epoll does not see them.
    bint (*has_buffered)(ByteStream* stream) noexcept nogil
    # Closes the socket and frees the stream.
    void (*close)(ByteStream* stream) noexcept nogil


cdef class StreamFactory:
    """Makes the streams of one listener; its Python owner keeps it alive as long as a stream of it lives."""
    # Takes over a connected, non-blocking socket; NULL (the socket stays the caller's) without memory.
    cdef ByteStream* open(self, int socket) noexcept nogil
