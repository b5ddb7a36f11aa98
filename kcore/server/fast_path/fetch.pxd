"""The native handler of Fetch."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from kcore.network.dispatch cimport Disposition, NativeRequest
from kcore.network.response cimport Response
from kcore.network.socket_server cimport SocketServer
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_request cimport FetchRequest
from kcore.server.fast_path.session_cache cimport FetchSessionCache
from kcore.server.fast_path.throttling cimport QuotaCharge
from kcore.storage.log cimport ReadResult

# One request, from its first read to its response. It owns what it points to, except the topic names: `request` borrows
# them from the frame until `keep_names` copies them.
cdef struct Fetch:
    DelayedOperation operation   # first: the purgatory's callbacks cast it to Fetch
    void* path
    uint64_t connection
    int32_t correlation_id
    int isolation
    FetchRequest request
    void** partitions            # pinned, in the order of request.partitions
    ReadResult* reads            # in the same order
    uint8_t* names
    bint failed                  # a partition has an error or a diverging epoch
    int64_t size_bytes           # of all records read
    QuotaCharge charge

cdef class FetchPath:
    cdef readonly ReplicaManager replicas
    cdef SocketServer server
    cdef FetchSessionCache sessions
    cdef int32_t fetch_max_bytes

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil
    cdef Disposition fetch_all(self, NativeRequest* request, const FetchRequest* asked, int isolation,
                               const QuotaCharge* charge, Response* response) noexcept nogil
    cdef Disposition wait(self, Fetch* fetch) noexcept nogil
    cdef int32_t open_session(self, Fetch* fetch) noexcept nogil
