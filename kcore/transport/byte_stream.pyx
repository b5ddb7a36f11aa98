"""The interface of plaintext and TLS streams."""


cdef class StreamFactory:
    """Base class of stream factories. It opens no streams."""

    cdef ByteStream* open(self, int socket) noexcept nogil:
        return NULL
