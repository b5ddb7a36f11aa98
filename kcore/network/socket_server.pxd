"""SocketServer for native code."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from kcore.network.acceptor cimport Acceptor
from kcore.network.connection_quotas cimport ConnectionQuotas
from kcore.network.dispatch cimport DispatchTable
from kcore.network.processor cimport Processor
from kcore.network.request cimport ResponseSink
from kcore.network.request_channel cimport RequestChannel
from kcore.network.request_metrics cimport RequestErrors
from kcore.network.response cimport Response
from kcore.platform.disk cimport Disk
from kcore.quota.client_quota_manager cimport ClientQuotaManager


cdef class SocketServer(ResponseSink):
    cdef DispatchTable dispatch
    cdef ClientQuotaManager quotas
    cdef ConnectionQuotas connection_quotas
    cdef Disk disk
    cdef RequestChannel channel
    cdef Acceptor acceptor
    cdef list listeners
    cdef list bound
    cdef list processors
    cdef list threads
    cdef list factories
    cdef object acceptor_thread
    cdef object resizing         # a lock: held while processors are added, and while adding is disabled
    cdef int64_t max_request_bytes
    cdef int64_t max_idle_ns
    cdef int64_t spin_ns
    cdef int64_t free_buffer_limit
    cdef int64_t buffer_idle_ns
    cdef void* reactor[256]      # Processor, by the index in a connection's id
    cdef int32_t processor_count
    cdef int64_t open_connections
    cdef readonly RequestErrors errors

    cdef Processor add_processor(self)

    # Queues a response for a connection, from any thread. Takes over its parts and unmutes the connection. If the
    # connection is gone, frees the response. Takes only the lock of the processor's inbox.
    cdef void respond(self, uint64_t connection, Response* response) noexcept nogil
