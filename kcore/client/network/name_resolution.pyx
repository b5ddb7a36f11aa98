"""Name resolution: numeric addresses at once, names with getaddrinfo(3) on a new thread for each lookup.

The system's resolver blocks, possibly until its servers time out. So nothing waits for the thread: a lookup that is no
longer needed is released, and the thread frees it when it is done. A connection has one lookup at a time.
"""

from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset, strdup
from kcore.client.network.name_resolution cimport Address, AddressList, NameLookup, sockaddr, socklen_t
from kcore.platform.epoll cimport EFD_CLOEXEC, EFD_NONBLOCK, eventfd, eventfd_write
from kcore.platform.signals cimport block_signals
from kcore.platform.sync cimport atomic_add_32, atomic_store_32

cdef extern from "<netdb.h>" nogil:
    struct addrinfo:
        int ai_flags
        int ai_family
        int ai_socktype
        socklen_t ai_addrlen
        sockaddr* ai_addr
        addrinfo* ai_next
    int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** out)
    void freeaddrinfo(addrinfo* found)
    const char* gai_strerror(int error)
    enum:
        AI_NUMERICHOST
        AI_NUMERICSERV
        EAI_FAIL

cdef extern from "<sys/socket.h>" nogil:
    enum:
        SOCK_STREAM

cdef extern from "<stdio.h>" nogil:
    int snprintf(char* out, size_t size, const char* form, ...)

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_t:
        pass
    ctypedef struct pthread_attr_t:
        pass
    int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*) noexcept nogil,
                       void* argument)
    int pthread_detach(pthread_t thread)


cdef int resolve(const char* host, int32_t port, int flags, AddressList* addresses) noexcept nogil:
    """Fill in the list. Returns 0 or getaddrinfo's error."""
    cdef char[12] service
    cdef addrinfo hints
    cdef addrinfo* found = NULL
    cdef addrinfo* entry
    cdef int error
    memset(&hints, 0, sizeof(hints))
    memset(addresses, 0, sizeof(AddressList))
    hints.ai_socktype = SOCK_STREAM
    hints.ai_flags = flags | AI_NUMERICSERV
    snprintf(service, sizeof(service), b"%d", <int>port)
    error = getaddrinfo(host, service, &hints, &found)
    if error != 0:
        return error
    entry = found
    while entry != NULL and addresses.count < MAX_ADDRESSES:
        if entry.ai_addrlen <= ADDRESS_BYTES:
            memcpy(addresses.entries[addresses.count].bytes, entry.ai_addr, entry.ai_addrlen)
            addresses.entries[addresses.count].size = entry.ai_addrlen
            addresses.count += 1
        entry = entry.ai_next
    freeaddrinfo(found)
    return 0 if addresses.count else EAI_FAIL


cdef bint resolve_numeric(const char* host, int32_t port, AddressList* addresses) noexcept nogil:
    return resolve(host, port, AI_NUMERICHOST, addresses) == 0


cdef void* run_lookup(void* argument) noexcept nogil:
    cdef NameLookup* lookup = <NameLookup*>argument
    block_signals()
    lookup.addresses.error = resolve(lookup.host, lookup.port, 0, &lookup.addresses)
    atomic_store_32(&lookup.is_done, 1)
    eventfd_write(lookup.wakeup, 1)
    lookup_release(lookup)
    return NULL


cdef NameLookup* lookup_begin(const char* host, int32_t port) noexcept nogil:
    cdef NameLookup* lookup = <NameLookup*>calloc(1, sizeof(NameLookup))
    cdef pthread_t thread
    if lookup == NULL:
        return NULL
    lookup.holders = 1
    lookup.port = port
    lookup.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    lookup.host = strdup(host)
    if lookup.wakeup < 0 or lookup.host == NULL:
        lookup_release(lookup)
        return NULL
    lookup.holders = 2
    if pthread_create(&thread, NULL, run_lookup, lookup) != 0:
        lookup.holders = 1
        lookup_release(lookup)
        return NULL
    pthread_detach(thread)
    return lookup


cdef void lookup_release(NameLookup* lookup) noexcept nogil:
    if atomic_add_32(&lookup.holders, -1) != 0:
        return
    if lookup.wakeup >= 0:
        close_descriptor(lookup.wakeup)
    free(lookup.host)
    free(lookup)


def lookup_error_text(int error) -> str:
    """Return the system's text for an error of getaddrinfo."""
    return (<bytes>gai_strerror(error)).decode(errors="replace")
