"""Histogram with power-of-two buckets: the number of values per bucket, and the sum of all values.

Bucket i counts the values above 2**(i - 1) and up to 2**i, bucket 0 those up to 1, the last bucket all larger values.
The bounds are fixed, so histograms of several writers, brokers and days can be added.

Concurrency: `histogram_record` is for a histogram with one writer, or whose writers hold a lock. Readers see complete
numbers without atomic additions. `histogram_record_shared` is for any number of writers. A reader may see a value in
its bucket before it is in the sum.
"""

from libc.stdint cimport int64_t
from kcore.platform.sync cimport atomic_add_64, atomic_load_64, atomic_store_64

cdef extern from *:
    int leading_zeros "__builtin_clzll"(unsigned long long value) nogil

cdef enum:
    HISTOGRAM_BUCKETS = 32

cdef struct Histogram:
    int64_t counts[32]
    int64_t sum


cdef inline void count(int64_t* counter, int64_t amount) noexcept nogil:
    """Adds to a counter with any number of readers, and with one writer or writers that hold a lock."""
    atomic_store_64(counter, counter[0] + amount)


cdef inline int bucket_of(int64_t value) noexcept nogil:
    if value <= 1:
        return 0
    return min(64 - leading_zeros(<unsigned long long>(value - 1)), HISTOGRAM_BUCKETS - 1)


cdef inline void histogram_record(Histogram* histogram, int64_t value) noexcept nogil:
    count(&histogram.counts[bucket_of(value)], 1)
    count(&histogram.sum, value)


cdef inline void histogram_record_shared(Histogram* histogram, int64_t value) noexcept nogil:
    atomic_add_64(&histogram.counts[bucket_of(value)], 1)
    atomic_add_64(&histogram.sum, value)


cdef inline void histogram_record_ns(Histogram* histogram, int64_t value_ns) noexcept nogil:
    """Records a duration. Its bucket is that of the microseconds, rounded up; the sum is in nanoseconds."""
    count(&histogram.counts[bucket_of((value_ns + 999) // 1000)], 1)
    count(&histogram.sum, value_ns)


cdef inline void histogram_record_ns_shared(Histogram* histogram, int64_t value_ns) noexcept nogil:
    atomic_add_64(&histogram.counts[bucket_of((value_ns + 999) // 1000)], 1)
    atomic_add_64(&histogram.sum, value_ns)


cdef inline void histogram_add(Histogram* total, const Histogram* part) noexcept nogil:
    """Adds the present values of `part` to `total`, which no other thread uses."""
    cdef int bucket
    for bucket in range(HISTOGRAM_BUCKETS):
        total.counts[bucket] += atomic_load_64(&part.counts[bucket])
    total.sum += atomic_load_64(&part.sum)
