"""The server's side of the network, as native code sees it."""

from libc.stdint cimport int64_t, uint64_t
from kcore.network.dispatch cimport DispatchTable
from kcore.network.response cimport Response

cdef class SocketServer:
    cdef DispatchTable dispatch
    cdef void* reactor
    # Queues a response for a connection from any thread, takes over its parts, unmutes the connection once it is
    # queued; frees it silently when the connection is gone. Takes the processor's queue lock only.
    cdef void respond(self, uint64_t connection, Response* response) noexcept nogil
