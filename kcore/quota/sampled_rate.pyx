"""Kafka's rate (`Rate` over `WindowedSum`, `SampledStat`), by which its quotas are measured, and `QuotaUtils.throttleTime`.

Amounts are summed in samples of one window each. A sample counts until `windows` windows after its last event, and the
rate is the sum of all over the time since the oldest began; what is missing of `windows` - 1 whole windows counts as
time in which nothing happened, so that a burst after silence is let through.

With the rate O above the bound T over a time of W, silence for X brings it down: O * W / (W + X) = T, X = (O - T) / T * W.

Times are milliseconds of a clock that does not go back; a thread may be a little behind another. No lock: whoever owns
the rate holds one.
"""

from libc.math cimport llround
from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset


cdef bint rate_init(SampledRate* rate, int32_t windows, int64_t window_ms) noexcept nogil:
    memset(rate, 0, sizeof(SampledRate))
    rate.windows = windows
    rate.window_ms = window_ms
    rate.samples = <RateSample*>calloc(<size_t>windows + 1, sizeof(RateSample))
    return rate.samples != NULL


cdef void rate_free(SampledRate* rate) noexcept nogil:
    free(rate.samples)
    rate.samples = NULL


cdef inline void begin_sample(RateSample* sample, int64_t now_ms) noexcept nogil:
    sample.start_ms = sample.last_event_ms = now_ms
    sample.value = 0


cdef RateSample* current_sample(SampledRate* rate, int64_t now_ms) noexcept nogil:
    """The sample of this moment, begun if need be."""
    cdef RateSample* sample = &rate.samples[rate.current]
    if rate.count == 0:
        rate.count = 1
        begin_sample(sample, now_ms)
    elif now_ms - sample.start_ms >= rate.window_ms:
        rate.current = (rate.current + 1) % (rate.windows + 1)
        if rate.current >= rate.count:
            rate.count = rate.current + 1
        sample = &rate.samples[rate.current]
        begin_sample(sample, now_ms)
    return sample


cdef void rate_record(SampledRate* rate, double amount, int64_t now_ms) noexcept nogil:
    cdef RateSample* sample = current_sample(rate, now_ms)
    sample.value += amount
    sample.last_event_ms = now_ms


cdef double take_stock(SampledRate* rate, int64_t now_ms, int64_t* elapsed_ms) noexcept nogil:
    """The sum of what counts; samples that do not any more begin anew."""
    cdef int32_t i
    cdef double total = 0
    cdef int64_t oldest_ms = now_ms
    cdef int64_t whole
    cdef RateSample* sample
    for i in range(rate.count):
        sample = &rate.samples[i]
        if now_ms - sample.last_event_ms >= rate.windows * rate.window_ms:
            begin_sample(sample, now_ms)
        oldest_ms = min(oldest_ms, sample.start_ms)
        total += sample.value
    elapsed_ms[0] = now_ms - oldest_ms
    whole = elapsed_ms[0] // rate.window_ms
    if whole < rate.windows - 1:
        elapsed_ms[0] += (rate.windows - 1 - whole) * rate.window_ms
    # quota.window.num=1 at the first moment of a window: a rate over no time at all means nothing.
    elapsed_ms[0] = max(elapsed_ms[0], rate.window_ms)
    return total


cdef double rate_measure(SampledRate* rate, int64_t now_ms) noexcept nogil:
    cdef int64_t elapsed_ms
    cdef double total = take_stock(rate, now_ms, &elapsed_ms)
    return total * 1000 / elapsed_ms


cdef int64_t rate_throttle_ms(SampledRate* rate, double bound, int64_t now_ms) noexcept nogil:
    cdef int64_t elapsed_ms
    cdef double observed = take_stock(rate, now_ms, &elapsed_ms) * 1000 / elapsed_ms
    cdef double throttle_ms
    if observed <= bound:
        return 0
    throttle_ms = (observed - bound) / bound * elapsed_ms
    return llround(throttle_ms) if throttle_ms < INT32_MAX else INT32_MAX
