"""Charges native requests to client quotas and computes throttle times (KafkaApis).

A produce is charged the bytes of its request, a fetch approximately the bytes of its response. If a client has exceeded
its quota, its fetch is answered without records and not charged for them; it fetches again after the throttle time.
Kafka does this if the response itself would exceed the quota. Then clients of a shared quota that fetch less would
always be served first, and a response larger than ten windows' worth of bytes would never be sent. The time of a
request is what it took of the processor, plus what the processor spent on the connection before it.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.string cimport memset
from kcore.network.dispatch cimport NativeRequest
from kcore.quota.client_quota_manager cimport (
    QUOTA_FETCH, QUOTA_PRODUCE, QUOTA_REQUEST, ClientQuotaManager, QuotaClient,
)

cdef enum:
    PERCENT_OF_A_SECOND_NS = 10000000    # request time is counted in percent of one thread's (KIP-124)
    NANOSECONDS_PER_MS = 1000000
    # Approximate sizes in a fetch response of any version: the fields before all partitions, and those of a partition.
    HEAD_BYTES = 24
    PARTITION_BYTES = 42


cdef int32_t charge_produce(ClientQuotaManager quotas, const NativeRequest* request, bint is_answered) noexcept nogil:
    cdef QuotaClient* client
    cdef int64_t now_ns, throttle_ms
    if not quotas.is_enabled(QUOTA_PRODUCE) and not request.started_ns:
        return 0
    client = quotas.pin(request.user, request.user_size, request.client_id, request.client_id_size)
    if client == NULL:
        return 0
    now_ns = quotas.now_ns()
    throttle_ms = quotas.charge(client, QUOTA_PRODUCE, <double>request.size, now_ns // NANOSECONDS_PER_MS)
    if is_answered and request.started_ns:
        throttle_ms = max(throttle_ms, charge_time(
            quotas, client, now_ns - request.started_ns + request.network_ns, now_ns))
    quotas.unpin(client)
    return <int32_t>throttle_ms


cdef int32_t charge_time_only(ClientQuotaManager quotas, const NativeRequest* request) noexcept nogil:
    cdef QuotaClient* client
    cdef int64_t now_ns, throttle_ms
    if not request.started_ns:
        return 0
    client = quotas.pin(request.user, request.user_size, request.client_id, request.client_id_size)
    if client == NULL:
        return 0
    now_ns = quotas.now_ns()
    throttle_ms = charge_time(quotas, client, now_ns - request.started_ns + request.network_ns, now_ns)
    quotas.unpin(client)
    return <int32_t>throttle_ms


cdef int64_t charge_time(ClientQuotaManager quotas, QuotaClient* client, int64_t used_ns, int64_t now_ns) noexcept nogil:
    return quotas.charge(client, QUOTA_REQUEST, used_ns / <double>PERCENT_OF_A_SECOND_NS, now_ns // NANOSECONDS_PER_MS)


cdef void charge_begin(QuotaCharge* charge, ClientQuotaManager quotas, const NativeRequest* request) noexcept nogil:
    memset(charge, 0, sizeof(QuotaCharge))
    if quotas.is_enabled(QUOTA_FETCH) or request.started_ns:
        charge.client = quotas.pin(request.user, request.user_size, request.client_id, request.client_id_size)
        charge.started_ns = request.started_ns
        charge.used_ns = request.network_ns


cdef int32_t charge_most_bytes(const QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil:
    cdef double most
    if charge.client == NULL:
        return INT32_MAX
    most = quotas.most_at_once(charge.client, QUOTA_FETCH, quotas.now_ms())
    return <int32_t>most if most < INT32_MAX else INT32_MAX


cdef void charge_pause(QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil:
    if charge.started_ns:
        charge.used_ns += quotas.now_ns() - charge.started_ns
        charge.started_ns = 0


cdef int32_t charge_fetch(QuotaCharge* charge, ClientQuotaManager quotas, int32_t partition_count,
                          int64_t record_bytes) noexcept nogil:
    cdef double size_bytes = <double>(HEAD_BYTES + <int64_t>PARTITION_BYTES * partition_count + record_bytes)
    cdef int64_t now_ns
    cdef int64_t throttle_ms = 0
    if charge.client == NULL:
        return 0
    charge_pause(charge, quotas)
    now_ns = quotas.now_ns()
    if charge.used_ns:
        throttle_ms = charge_time(quotas, charge.client, charge.used_ns, now_ns)
        charge.used_ns = 0
    # If its time throttles the request, the response has no records to charge. Its bytes may throttle it for longer.
    return <int32_t>max(throttle_ms, quotas.charge_strictly(
        charge.client, QUOTA_FETCH, 0 if throttle_ms else size_bytes, now_ns // NANOSECONDS_PER_MS))


cdef void charge_end(QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil:
    if charge.client != NULL:
        quotas.unpin(charge.client)
        charge.client = NULL
