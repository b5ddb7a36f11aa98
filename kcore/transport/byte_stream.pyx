"""The face that plaintext and TLS share."""


cdef class StreamFactory:
    """Base of the factories; on its own it opens nothing."""

    cdef ByteStream* open(self, int socket) noexcept nogil:
        return NULL
