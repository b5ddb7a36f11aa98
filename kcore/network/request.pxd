"""A request in the queue of handler threads, and the object that a handler responds with."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint
from kcore.network.memory_pool cimport UNCOUNTED_BYTES, MemoryPool
from kcore.network.response cimport Response

# One block of memory: the structure, then copies of the frame and of the user's name, to which `native` points.
cdef struct QueuedRequest:
    QueuedRequest* next
    NativeRequest native
    Endpoint client
    Endpoint local

cdef QueuedRequest* queued_request_new(const NativeRequest* request, const Endpoint* client,
                                       const Endpoint* local) noexcept nogil


cdef class ResponseSink:
    # Base of SocketServer, with what a request needs of it.
    cdef void respond(self, uint64_t connection, Response* response) noexcept nogil
    # Nanoseconds of the clock for request times.
    cdef int64_t now_ns(self) noexcept nogil


cdef class Request:
    cdef ResponseSink sink
    cdef MemoryPool memory
    cdef int64_t charged_bytes   # released from the memory pool when the request is answered
    cdef Endpoint client_endpoint
    cdef Endpoint local_endpoint
    cdef bint answered
    cdef void answer(self, bytes payload, bint close, int32_t throttle_ms, int64_t cut_bytes)
    cdef readonly uint64_t connection
    cdef readonly int32_t listener
    cdef readonly int16_t api_key
    cdef readonly int16_t api_version
    cdef readonly int32_t correlation_id
    cdef readonly str client_id
    cdef readonly bytes frame
    cdef readonly Py_ssize_t body
    cdef readonly int64_t received_ns
    cdef readonly bint peer_closed
    cdef readonly int64_t network_ns
    cdef readonly str user
    cdef readonly int64_t turn   # the turn of the RequestChannel in which it was taken
    cdef int64_t begun_ns
    cdef int64_t left_ns

# The bytes that a queued or handled request of `size` bytes counts in the MemoryPool.
cdef inline int64_t charge_of(size_t size) noexcept nogil:
    return <int64_t>size if size > UNCOUNTED_BYTES else 0

# Copies what the handler needs, and takes over the charged bytes. The caller still owns `queued`.
cdef Request request_from_queue(const QueuedRequest* queued, ResponseSink sink, MemoryPool memory)
