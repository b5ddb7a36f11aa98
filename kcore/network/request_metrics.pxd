"""What is counted of requests (kafka.network's RequestMetrics)."""

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
    COUNTED_VERSIONS = 32        # higher ones are served by nobody, and counted in the sums only
    LOWEST_ERROR = -1            # UNKNOWN_SERVER_ERROR
    COUNTED_ERRORS = 160

# One API, as one processor answered it. Times that are zero are not in `times`: they are what remains of `requests`.
cdef struct ApiMetrics:
    int64_t requests
    int64_t error_free           # of the native ones; handlers count their errors in RequestErrors
    int64_t versions[32]
    Histogram times[7]
    Histogram request_bytes
    Histogram response_bytes


cdef class RequestMetrics:
    """One a processor, which alone writes; anyone reads."""
    cdef ApiMetrics* apis[128]   # made with the API's first request, there until the end

    cdef void record(self, const RequestTiming* timing) noexcept nogil


cdef class RequestErrors:
    """One a server: how often each API answered with each error code. Any thread counts."""
    cdef int64_t counts[128][160]

    cdef void add(self, int16_t api_key, int16_t error, int64_t amount) noexcept nogil
