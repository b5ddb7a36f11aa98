"""TopicCounters: the counters of BrokerTopicMetrics for one partition.

A log counts appends, under its append lock. A partition counts fetches, with atomic additions, since several threads
serve it at once. Both use this structure, so that one place adds them up.
"""

from libc.stdint cimport int64_t
from kcore.platform.sync cimport atomic_load_64

# In the order of TOPIC_COUNTERS in topic_counters.py.
cdef struct TopicCounters:
    int64_t messages_in
    int64_t bytes_in
    int64_t bytes_rejected               # of batches and records that are too large
    int64_t produce_requests             # appends: one per partition and request
    int64_t failed_produce_requests
    int64_t converted_messages           # rewritten because of the codec or timestamps
    int64_t fetch_requests               # reads: one per partition and attempt
    int64_t failed_fetch_requests
    int64_t bytes_out

cdef enum:
    TOPIC_COUNTER_COUNT = 9


cdef inline void topic_counters_add(TopicCounters* total, const TopicCounters* part, int sign) noexcept nogil:
    """Adds the present values of `part` to `total`, or subtracts them if `sign` is -1. Only the caller uses `total`."""
    cdef int64_t* totals = <int64_t*>total
    cdef const int64_t* parts = <const int64_t*>part
    cdef int i
    for i in range(TOPIC_COUNTER_COUNT):
        totals[i] += sign * atomic_load_64(&parts[i])
