"""The addresses of a host, looked up without the GIL and without holding up whoever polls."""

from libc.stdint cimport int32_t, uint32_t, uint8_t

cdef extern from "<sys/socket.h>" nogil:
    struct sockaddr:
        unsigned short sa_family
    ctypedef uint32_t socklen_t

cdef enum:
    MAX_ADDRESSES = 16           # of one host; further ones are not tried
    ADDRESS_BYTES = 28           # a sockaddr_in6

cdef struct Address:
    uint8_t[28] bytes
    socklen_t size

cdef struct AddressList:
    Address[16] entries
    int32_t count
    int32_t next_index           # which one is tried next
    int error                    # getaddrinfo's, when there is none

# A look-up on its way. Its asker and its thread each hold it; the last one frees it.
cdef struct NameLookup:
    char* host
    int32_t port
    int32_t holders
    int32_t is_done              # `addresses` may be read once it is set
    int wakeup                   # an eventfd of its own: to be watched by whoever waits
    AddressList addresses

# Numeric addresses need no look-up: False when `host` is none.
cdef bint resolve_numeric(const char* host, int32_t port, AddressList* addresses) noexcept nogil
# Begins a look-up on a thread of its own; NULL without memory or descriptors.
cdef NameLookup* lookup_begin(const char* host, int32_t port) noexcept nogil
# Gives it up, done or not.
cdef void lookup_release(NameLookup* lookup) noexcept nogil
