"""A rate over the last few windows of time."""

from libc.stdint cimport int32_t, int64_t

cdef struct RateSample:
    int64_t start_ms
    int64_t last_event_ms
    double value

cdef struct SampledRate:
    RateSample* samples          # a ring of `windows` + 1
    int32_t windows              # that are measured over: quota.window.num
    int32_t count                # of samples in use
    int32_t current
    int64_t window_ms            # quota.window.size.seconds

# False without memory; free it with rate_free either way.
cdef bint rate_init(SampledRate* rate, int32_t windows, int64_t window_ms) noexcept nogil
cdef void rate_free(SampledRate* rate) noexcept nogil
# Adds an amount, which is negative when one is taken back.
cdef void rate_record(SampledRate* rate, double amount, int64_t now_ms) noexcept nogil
# The amount in a second.
cdef double rate_measure(SampledRate* rate, int64_t now_ms) noexcept nogil
# How long the amounts must stop for the rate to come down to `bound`; 0 when it is not above.
cdef int64_t rate_throttle_ms(SampledRate* rate, double bound, int64_t now_ms) noexcept nogil
