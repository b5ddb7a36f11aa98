"""TopicCounters: what BrokerTopicMetrics counts of a topic, for one of its partitions.

A log counts what it appends, under its append lock; a partition counts what it serves, with atomic additions, since several
threads serve it at once. Both use this one structure, so that sums are taken in one place.
"""

from libc.stdint cimport int64_t
from kcore.platform.sync cimport atomic_load_64

# In the order of TOPIC_COUNTERS in topic_counters.py.
cdef struct TopicCounters:
    int64_t messages_in
    int64_t bytes_in
    int64_t bytes_rejected               # of batches and records that were too large
    int64_t produce_requests             # appends, one a partition and request
    int64_t failed_produce_requests
    int64_t converted_messages           # rebuilt, because codec or timestamps demanded it
    int64_t fetch_requests               # reads, one a partition and attempt
    int64_t failed_fetch_requests
    int64_t bytes_out

cdef enum:
    TOPIC_COUNTER_COUNT = 9


cdef inline void topic_counters_add(TopicCounters* total, const TopicCounters* part, int sign) noexcept nogil:
    """Adds, or with `sign` -1 subtracts, what `part` has counted so far; `total` is the caller's alone."""
    cdef int64_t* totals = <int64_t*>total
    cdef const int64_t* parts = <const int64_t*>part
    cdef int i
    for i in range(TOPIC_COUNTER_COUNT):
        totals[i] += sign * atomic_load_64(&parts[i])
