"""Client quotas of the native paths."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.dispatch cimport NativeRequest
from kcore.quota.client_quota_manager cimport ClientQuotaManager, QuotaClient

# The charge of a fetch. The client is known at the start, the amount at the end.
cdef struct QuotaCharge:
    QuotaClient* client          # pinned; NULL if no quota applies
    int64_t started_ns           # start of the time not yet in used_ns; 0 while it waits, or if time has no quota
    int64_t used_ns

# Charges a produce for its bytes, and for its time if it is answered. Returns how long to throttle its client in ms.
cdef int32_t charge_produce(ClientQuotaManager quotas, const NativeRequest* request, bint is_answered) noexcept nogil
# Charges a request for its time only. Returns how long to throttle its client in ms.
cdef int32_t charge_time_only(ClientQuotaManager quotas, const NativeRequest* request) noexcept nogil
# Pins the client until charge_end.
cdef void charge_begin(QuotaCharge* charge, ClientQuotaManager quotas, const NativeRequest* request) noexcept nogil
# The most bytes to read: what is left of the quota, but at least the amount of one window.
cdef int32_t charge_most_bytes(const QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil
# Stops counting time: the request waits from here on.
cdef void charge_pause(QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil
# Charges the response; call it once. Returns how long to throttle the client in ms. If this is not 0, send a response
# without records: they were not charged.
cdef int32_t charge_fetch(QuotaCharge* charge, ClientQuotaManager quotas, int32_t partition_count,
                          int64_t record_bytes) noexcept nogil
cdef void charge_end(QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil
