"""A token bucket that is refilled at the rate of a quota."""

from libc.stdint cimport int64_t

cdef struct TokenBucket:
    double tokens                # negative in deficit
    int64_t refilled_ms
    double next_turn_ms          # when the next turn is free

# A full bucket for any quota.
cdef void bucket_init(TokenBucket* bucket) noexcept nogil
# Adds the tokens since the last refill, `bound` per second, up to the amount of `burst_ms`.
cdef void bucket_refill(TokenBucket* bucket, double bound, int64_t burst_ms, int64_t now_ms) noexcept nogil
# Milliseconds without usage until the deficit is repaid. 0 without a deficit.
cdef int64_t bucket_wait_ms(const TokenBucket* bucket, double bound) noexcept nogil
# Milliseconds until the next free turn, and reserves it for `amount`. Call it in deficit. Turns are at most `most_ms`
# after the end of the deficit.
cdef int64_t bucket_turn_ms(TokenBucket* bucket, double bound, double amount, int64_t most_ms,
                            int64_t now_ms) noexcept nogil
