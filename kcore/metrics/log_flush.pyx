"""LogFlushRateAndTimeMs: one histogram for all logs. The cost of an atomic addition is negligible beside a flush."""

from libc.stdint cimport int64_t
from libc.string cimport memset
from kcore.metrics.histogram cimport HISTOGRAM_BUCKETS, Histogram, histogram_add, histogram_record_ns_shared

cdef Histogram log_flush


cdef void record_log_flush(int64_t duration_ns) noexcept nogil:
    histogram_record_ns_shared(&log_flush, duration_ns)


def log_flush_total() -> tuple[list[int], int]:
    """The counts by bucket of microseconds, and the sum in nanoseconds."""
    cdef Histogram total
    cdef int bucket
    memset(&total, 0, sizeof(total))
    histogram_add(&total, &log_flush)
    return [total.counts[bucket] for bucket in range(HISTOGRAM_BUCKETS)], total.sum
