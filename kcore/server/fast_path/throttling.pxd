"""Quotas on the native paths."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.dispatch cimport NativeRequest
from kcore.quota.client_quota_manager cimport ClientQuotaManager, QuotaClient

# What a fetch is charged for: it is known at first by whom, and at last how much.
cdef struct QuotaCharge:
    QuotaClient* client          # pinned; NULL where nobody has such a quota
    int64_t started_ns           # since when its time is not counted yet; 0 where time has no quota, or it waits
    int64_t used_ns

# Charges a produce for its bytes and, unless it gets no answer, for its time; what its client is throttled for.
cdef int32_t charge_produce(ClientQuotaManager quotas, const NativeRequest* request, bint is_answered) noexcept nogil
# Charges a request that has no other quota for its time; what its client is throttled for.
cdef int32_t charge_time_only(ClientQuotaManager quotas, const NativeRequest* request) noexcept nogil
# Until charge_end.
cdef void charge_begin(QuotaCharge* charge, ClientQuotaManager quotas, const NativeRequest* request) noexcept nogil
# The largest answer that is to be read: what its quota has left, and at least a window's worth.
cdef int32_t charge_most_bytes(const QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil
# The request waits from here on: that is not its time.
cdef void charge_pause(QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil
# Charges about what the answer takes, once. If its client is throttled, it must be answered without records, which are
# not charged then.
cdef int32_t charge_fetch(QuotaCharge* charge, ClientQuotaManager quotas, int32_t partition_count,
                          int64_t record_bytes) noexcept nogil
cdef void charge_end(QuotaCharge* charge, ClientQuotaManager quotas) noexcept nogil
