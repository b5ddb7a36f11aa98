"""The ring of finished requests that a processor writes for the request log."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint
from kcore.network.request_timing cimport RequestTiming
from kcore.platform.sync cimport atomic_load_32, atomic_load_64

cdef enum:
    CLIENT_ID_BYTES = 64         # longer ids are truncated

# The client as the log shows it. Kept per connection, since clients do not change their id.
cdef struct RequestClient:
    int32_t id_size              # -1 for null
    uint8_t[64] id

cdef struct FinishedRequest:
    RequestTiming timing
    uint64_t connection
    int32_t listener
    Endpoint client
    Endpoint local
    RequestClient name


cdef class RequestRing:
    """One per processor, which writes. One thread reads."""
    cdef FinishedRequest* entries
    cdef int64_t capacity
    cdef int64_t written         # total number of entries written by the processor
    cdef int64_t taken           # total number of entries taken by the reader
    cdef int64_t lost
    cdef int32_t takes_all
    cdef int64_t slow_ns         # requests that took at least this long are always logged; 0: none

    cdef void put(self, const RequestTiming* timing, uint64_t connection, int32_t listener, const Endpoint* client,
                  const Endpoint* local, const RequestClient* name) noexcept nogil


cdef inline bint ring_is_on(RequestRing ring) noexcept nogil:
    return atomic_load_32(&ring.takes_all) or atomic_load_64(&ring.slow_ns) > 0


cdef inline bint ring_wants(RequestRing ring, const RequestTiming* timing) noexcept nogil:
    cdef int64_t slow_ns
    if atomic_load_32(&ring.takes_all):
        return True
    slow_ns = atomic_load_64(&ring.slow_ns)
    return slow_ns > 0 and timing.ended_ns - timing.received_ns >= slow_ns

# Stores the client id of a request, truncated.
cdef void note_client(RequestClient* name, const NativeRequest* request) noexcept nogil
