"""The native handler of Produce."""

from libc.stdint cimport int64_t
from kcore.network.dispatch cimport Disposition, NativeRequest
from kcore.network.response cimport Response
from kcore.network.socket_server cimport SocketServer
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.protocol.output cimport Output
from kcore.server.fast_path.produce_request cimport ProduceRequest

cdef struct DelayedProduce

cdef class ProducePath:
    cdef readonly ReplicaManager replicas
    cdef SocketServer server
    cdef int64_t inline_bytes    # network threads do not decompress batches that may become larger

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil
    cdef bint pin_all(self, const ProduceRequest* produce, void** partitions) noexcept nogil
    cdef Disposition append_all(self, NativeRequest* request, const ProduceRequest* produce, void** partitions,
                                Response* response) noexcept nogil
    cdef Disposition wait(self, NativeRequest* request, const ProduceRequest* produce, Output* answer,
                          DelayedProduce* delayed, bint failed) noexcept nogil
