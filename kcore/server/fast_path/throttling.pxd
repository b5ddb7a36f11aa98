"""Quotas on the native paths."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.dispatch cimport NativeRequest
from kcore.quota.client_quota_manager cimport QUOTA_REQUEST, ClientQuotaManager, QuotaClient, QuotaType

cdef enum:
    PERCENT_OF_A_SECOND_NS = 10000000    # request time is counted in percent of one thread's (KIP-124)


cdef inline int32_t throttle_time_ms(ClientQuotaManager quotas, const NativeRequest* request, QuotaType type,
                                     double size_bytes, bint charges_time) noexcept nogil:
    """Charges a request's bytes and, unless it gets no answer, its time; what its client is throttled for by either."""
    cdef QuotaClient* client
    cdef int64_t throttle_ms
    if not quotas.is_enabled(type) and not request.started_ns:
        return 0
    client = quotas.pin(request.user, request.user_size, request.client_id, request.client_id_size)
    if client == NULL:
        return 0
    throttle_ms = quotas.charge(client, type, size_bytes, quotas.now_ms())
    if charges_time:
        throttle_ms = max(throttle_ms, charge_time(quotas, client, request.started_ns, request.network_ns))
    quotas.unpin(client)
    return <int32_t>throttle_ms


cdef inline int64_t charge_time(ClientQuotaManager quotas, QuotaClient* client, int64_t started_ns,
                                int64_t network_ns) noexcept nogil:
    """Charges what a request took of the processor since `started_ns`, which is 0 where time has no quota."""
    cdef int64_t now_ns
    if not started_ns:
        return 0
    now_ns = quotas.now_ns()
    return quotas.charge(client, QUOTA_REQUEST, (now_ns - started_ns + network_ns) / <double>PERCENT_OF_A_SECOND_NS,
                         now_ns // 1000000)
