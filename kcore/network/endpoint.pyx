"""Addresses of connections. An IPv4 client of a dual-stack IPv6 listener is shown with its IPv4 address."""

from libc.stdint cimport uint16_t
from libc.stdio cimport snprintf
from libc.string cimport memcmp, memcpy, memset

cdef extern from "<arpa/inet.h>" nogil:
    const char* inet_ntop(int family, const void* address, char* out, unsigned int size)
    uint16_t ntohs(uint16_t)

cdef extern from "<netinet/in.h>" nogil:
    struct in_addr:
        pass
    struct in6_addr:
        pass
    struct sockaddr_in:
        uint16_t sin_port
        in_addr sin_addr
    struct sockaddr_in6:
        uint16_t sin6_port
        in6_addr sin6_addr

cdef enum:
    HOST_TEXT_SIZE = 46          # INET6_ADDRSTRLEN

# Prefix of an IPv4 address in its IPv6 form (RFC 4291, 2.5.5.2).
cdef const char* MAPPED_PREFIX = b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"


cdef void endpoint_from_address(const sockaddr_storage* address, Endpoint* out) noexcept nogil:
    cdef const sockaddr_in* four
    cdef const sockaddr_in6* six
    memset(out, 0, sizeof(Endpoint))
    if address.ss_family == AF_INET:
        four = <const sockaddr_in*>address
        out.family = AF_INET
        out.port = ntohs(four.sin_port)
        memcpy(out.address, &four.sin_addr, 4)
    elif address.ss_family == AF_INET6:
        six = <const sockaddr_in6*>address
        out.family = AF_INET6
        out.port = ntohs(six.sin6_port)
        memcpy(out.address, &six.sin6_addr, 16)
        if memcmp(out.address, MAPPED_PREFIX, 12) == 0:
            out.family = AF_INET
            memcpy(out.address, out.address + 12, 4)


cdef void host_text(const Endpoint* endpoint, char* out) noexcept nogil:
    if endpoint.family == 0 or inet_ntop(endpoint.family, endpoint.address, out, HOST_TEXT_SIZE) == NULL:
        snprintf(out, HOST_TEXT_SIZE, b"unknown")


cdef void endpoint_text(const Endpoint* endpoint, char* out) noexcept nogil:
    cdef char[46] host
    host_text(endpoint, host)
    snprintf(out, ENDPOINT_TEXT_SIZE, b"[%s]:%u" if endpoint.family == AF_INET6 else b"%s:%u", host,
             <unsigned int>endpoint.port)


cdef str endpoint_host(const Endpoint* endpoint):
    cdef char[46] host
    host_text(endpoint, host)
    return host.decode("ascii")
