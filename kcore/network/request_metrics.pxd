"""Request metrics (kafka.network.RequestMetrics)."""

from libc.stdint cimport int16_t, int64_t
from kcore.metrics.histogram cimport Histogram
from kcore.network.dispatch cimport DISPATCH_SIZE
from kcore.network.request_timing cimport RequestTiming

# In the order of TIMES in request_metrics.pyx.
cdef enum RequestTime:
    REQUEST_QUEUE_TIME = 0
    LOCAL_TIME = 1
    REMOTE_TIME = 2
    THROTTLE_TIME = 3
    RESPONSE_QUEUE_TIME = 4
    RESPONSE_SEND_TIME = 5
    TOTAL_TIME = 6

cdef enum:
    REQUEST_TIMES = 7
    COUNTED_VERSIONS = 32        # higher versions are not served, and only counted in the totals
    LOWEST_ERROR = -1            # UNKNOWN_SERVER_ERROR
    COUNTED_ERRORS = 160

# One API on one processor. `times` omits times of zero: their number is `requests` minus the recorded ones.
cdef struct ApiMetrics:
    int64_t requests
    int64_t error_free           # native responses without error; handlers count in RequestErrors instead
    int64_t versions[32]
    Histogram times[7]
    Histogram request_bytes
    Histogram response_bytes


cdef class RequestMetrics:
    """One per processor, which is the only writer. Any thread reads."""
    cdef ApiMetrics* apis[128]   # allocated by the first request of an API, freed at the end

    cdef void record(self, const RequestTiming* timing) noexcept nogil


cdef class RequestErrors:
    """One per server: the number of responses per API and error code. Any thread counts."""
    cdef int64_t counts[128][160]

    cdef void add(self, int16_t api_key, int16_t error, int64_t amount) noexcept nogil
