"""Fetch requests of an existing session."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t

from kcore.network.dispatch cimport Disposition, NativeRequest
from kcore.network.response cimport Response
from kcore.network.socket_server cimport SocketServer
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.server.fast_path.fetch_request cimport FetchRequest
from kcore.server.fast_path.fetch_session cimport FetchSession
from kcore.server.fast_path.session_cache cimport FetchSessionCache
from kcore.server.fast_path.throttling cimport QuotaCharge

cdef struct IncrementalFetch:
    DelayedOperation operation   # first: the purgatory's callbacks cast it to IncrementalFetch
    void* server
    uint64_t connection
    int32_t correlation_id
    int16_t version
    bint flexible
    int isolation
    int32_t max_wait_ms
    int64_t min_bytes
    int64_t max_bytes
    FetchSession* session        # holds a reference
    int32_t expected_epoch       # the session's epoch unless a later request has come
    bint failed                  # a partition has an error or a diverging epoch
    int64_t size_bytes           # of all records read
    QuotaCharge charge

# Takes ownership of the charge. Returns TO_HANDLER, with nothing changed, if a partition is unknown. The bounds in
# `request` must be clamped already.
cdef Disposition fetch_incrementally(FetchSessionCache sessions, SocketServer server, NativeRequest* frame,
                                     const FetchRequest* request, int isolation, const QuotaCharge* charge,
                                     Response* response) noexcept nogil
