"""One end of a connection: an address and a port in compact form."""

from libc.stdint cimport int32_t, uint8_t, uint16_t

cdef extern from "<sys/socket.h>" nogil:
    struct sockaddr:
        pass
    struct sockaddr_storage:
        unsigned short ss_family
    ctypedef unsigned int socklen_t
    enum:
        AF_INET
        AF_INET6

cdef enum:
    ENDPOINT_TEXT_SIZE = 64      # enough for an IPv6 address in brackets, a colon, a port and a NUL

cdef struct Endpoint:
    int32_t family               # AF_INET, AF_INET6, or 0 if unknown
    uint16_t port
    uint8_t address[16]          # network order; the first four bytes for IPv4

cdef void endpoint_from_address(const sockaddr_storage* address, Endpoint* out) noexcept nogil
# Writes "10.0.0.1:9092" or "[::1]:9092" to a buffer of ENDPOINT_TEXT_SIZE bytes.
cdef void endpoint_text(const Endpoint* endpoint, char* out) noexcept nogil
cdef str endpoint_host(const Endpoint* endpoint)
