"""RequestMetrics: numbers, times and sizes of the answered requests, by API and version.

The times are defined as in Kafka (kafka.network.RequestMetrics, RequestChannel.Request.updateRequestMetrics).
RequestQueueTime is from the last byte received to the start of the work. LocalTime is the work of the leader.
RemoteTime is the wait after it. ResponseQueueTime is from the finished response to the processor taking it.
ResponseSendTime is from there to the last byte sent. TotalTime is their sum. Requests that a processor answers itself
have neither remote nor response queue time.

Memory: about 3 KiB per API and processor, from the API's first request on, for at most DISPATCH_SIZE APIs.

Concurrency: the RequestMetrics of a processor has one writer and needs no atomic additions. Errors are rare; handlers,
reapers and processors all count them, with atomic additions.
"""

from libc.stdint cimport int16_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from kcore.metrics.histogram cimport (
    HISTOGRAM_BUCKETS, Histogram, count, histogram_add, histogram_record, histogram_record_ns,
)
from kcore.platform.sync cimport atomic_add_64, atomic_load_64, atomic_store_64

TIMES = (
    "RequestQueueTimeMs", "LocalTimeMs", "RemoteTimeMs", "ThrottleTimeMs", "ResponseQueueTimeMs", "ResponseSendTimeMs",
    "TotalTimeMs",
)

cdef enum:
    NANOSECONDS_PER_MS = 1000000


cdef inline void record_time(ApiMetrics* api, RequestTime time, int64_t duration_ns) noexcept nogil:
    if duration_ns > 0:
        histogram_record_ns(&api.times[<int>time], duration_ns)


cdef class RequestMetrics:

    def __dealloc__(self):
        cdef int key
        for key in range(DISPATCH_SIZE):
            free(self.apis[key])

    cdef void record(self, const RequestTiming* timing) noexcept nogil:
        cdef ApiMetrics* api
        if not 0 <= timing.api_key < DISPATCH_SIZE:
            return
        api = self.apis[timing.api_key]
        if api == NULL:
            api = <ApiMetrics*>calloc(1, sizeof(ApiMetrics))
            if api == NULL:
                return
            atomic_store_64(<int64_t*>&self.apis[timing.api_key], <int64_t>api)
        if 0 <= timing.api_version < COUNTED_VERSIONS:
            count(&api.versions[timing.api_version], 1)
        record_time(api, REQUEST_QUEUE_TIME, timing.begun_ns - timing.received_ns)
        record_time(api, LOCAL_TIME, timing.left_ns - timing.begun_ns)
        record_time(api, REMOTE_TIME, timing.completed_ns - timing.left_ns)
        record_time(api, THROTTLE_TIME, <int64_t>timing.throttle_ms * NANOSECONDS_PER_MS)
        record_time(api, RESPONSE_QUEUE_TIME, timing.sending_ns - timing.completed_ns)
        record_time(api, RESPONSE_SEND_TIME, timing.ended_ns - timing.sending_ns)
        record_time(api, TOTAL_TIME, timing.ended_ns - timing.received_ns)
        histogram_record(&api.request_bytes, timing.request_bytes)
        histogram_record(&api.response_bytes, timing.response_bytes)
        if timing.native and not timing.has_error:
            count(&api.error_free, 1)
        # Last: a reader counts a request without times as one whose times are zero.
        count(&api.requests, 1)


cdef class RequestErrors:

    cdef void add(self, int16_t api_key, int16_t error, int64_t amount) noexcept nogil:
        if 0 <= api_key < DISPATCH_SIZE and LOWEST_ERROR <= error < COUNTED_ERRORS + LOWEST_ERROR:
            atomic_add_64(&self.counts[api_key][error - LOWEST_ERROR], amount)

    def count(self, int16_t api_key, int16_t error, int64_t amount) -> None:
        """Counts `amount` responses of an API with an error code, or with 0 for no error."""
        self.add(api_key, error, amount)


class ApiTotals:
    """The totals of one API over all processors.

    `requests` is a number, `versions` {version: requests}, `errors` {code: responses}. Histograms are (counts, sum):
    `times` by the names in TIMES, in nanoseconds, `request_bytes` and `response_bytes`.
    """

    __slots__ = ("errors", "request_bytes", "requests", "response_bytes", "times", "versions")


def totals(list metrics not None, RequestErrors errors not None) -> dict[int, ApiTotals]:
    """The totals of all processors' RequestMetrics and of the server's RequestErrors, by API key."""
    cdef dict found = {}
    cdef int key
    for key in range(DISPATCH_SIZE):
        api = total_of(metrics, errors, key)
        if api is not None:
            found[key] = api
    return found


cdef object total_of(list metrics, RequestErrors errors, int key):
    cdef ApiMetrics total
    cdef const ApiMetrics* part
    cdef RequestMetrics one
    cdef int i
    cdef bint known = False
    memset(&total, 0, sizeof(total))
    for one in metrics:
        part = <const ApiMetrics*>atomic_load_64(<const int64_t*>&one.apis[key])
        if part != NULL:
            known = True
            add_api(&total, part)
    if not known:
        return None
    api = ApiTotals()
    api.requests = total.requests
    api.versions = {i: total.versions[i] for i in range(COUNTED_VERSIONS) if total.versions[i]}
    api.errors = error_totals(errors, key, total.error_free)
    api.times = {TIMES[i]: with_zeros(&total.times[i], total.requests) for i in range(REQUEST_TIMES)}
    api.request_bytes = with_zeros(&total.request_bytes, total.requests)
    api.response_bytes = with_zeros(&total.response_bytes, total.requests)
    return api


cdef void add_api(ApiMetrics* total, const ApiMetrics* part) noexcept:
    cdef int i
    total.requests += atomic_load_64(&part.requests)
    total.error_free += atomic_load_64(&part.error_free)
    for i in range(COUNTED_VERSIONS):
        total.versions[i] += atomic_load_64(&part.versions[i])
    for i in range(REQUEST_TIMES):
        histogram_add(&total.times[i], &part.times[i])
    histogram_add(&total.request_bytes, &part.request_bytes)
    histogram_add(&total.response_bytes, &part.response_bytes)


cdef dict error_totals(RequestErrors errors, int key, int64_t error_free):
    cdef int i
    cdef int64_t times
    cdef dict found = {}
    for i in range(COUNTED_ERRORS):
        times = atomic_load_64(&errors.counts[key][i])
        if i == -LOWEST_ERROR:
            times += error_free
        if times:
            found[i + LOWEST_ERROR] = times
    return found


cdef tuple with_zeros(const Histogram* histogram, int64_t requests):
    """A histogram as (counts, sum). Requests that it has not recorded are counted in the first bucket."""
    cdef int i
    cdef int64_t recorded = 0
    cdef list counts = [histogram.counts[i] for i in range(HISTOGRAM_BUCKETS)]
    for i in range(HISTOGRAM_BUCKETS):
        recorded += histogram.counts[i]
    counts[0] += max(<int64_t>0, requests - recorded)
    return counts, histogram.sum
