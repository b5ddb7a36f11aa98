"""Host name lookups without the GIL that do not block the polling thread."""

from libc.stdint cimport int32_t, uint32_t, uint8_t

cdef extern from "<sys/socket.h>" nogil:
    struct sockaddr:
        unsigned short sa_family
    ctypedef uint32_t socklen_t

cdef enum:
    MAX_ADDRESSES = 16           # of one host; others are not tried
    ADDRESS_BYTES = 28           # a sockaddr_in6

cdef struct Address:
    uint8_t[28] bytes
    socklen_t size

cdef struct AddressList:
    Address[16] entries
    int32_t count
    int32_t next_index           # the next one to try
    int error                    # getaddrinfo's error if there is none

# A running lookup. The connection and the lookup's thread hold it; the last release frees it.
cdef struct NameLookup:
    char* host
    int32_t port
    int32_t holders
    int32_t is_done              # atomic; `addresses` is valid once it is set
    int wakeup                   # an eventfd, written when the lookup is done
    AddressList addresses

# Fills in a numeric address, which needs no lookup. Returns False if `host` is not numeric.
cdef bint resolve_numeric(const char* host, int32_t port, AddressList* addresses) noexcept nogil
# Begins a lookup on a new thread. NULL if there is no memory, descriptor or thread.
cdef NameLookup* lookup_begin(const char* host, int32_t port) noexcept nogil
# Releases a lookup, done or not.
cdef void lookup_release(NameLookup* lookup) noexcept nogil
