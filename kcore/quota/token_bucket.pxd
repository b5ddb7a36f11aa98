"""Tokens that are used up and come back at the rate of a quota."""

from libc.stdint cimport int64_t

cdef struct TokenBucket:
    double tokens                # negative in debt
    int64_t refilled_ms
    double next_turn_ms          # when all who wait for their turn have had it

# Full, whatever its quota will be.
cdef void bucket_init(TokenBucket* bucket) noexcept nogil
# Gives back what came back by now, of `bound` tokens a second up to what comes in `burst_ms`.
cdef void bucket_refill(TokenBucket* bucket, double bound, int64_t burst_ms, int64_t now_ms) noexcept nogil
# In milliseconds, how long nothing must be used for the debt to be paid; 0 without one.
cdef int64_t bucket_wait_ms(const TokenBucket* bucket, double bound) noexcept nogil
# In debt: how long one is to wait for its turn to use `amount`, after those who asked before; at most by `most_ms` longer.
cdef int64_t bucket_turn_ms(TokenBucket* bucket, double bound, double amount, int64_t most_ms,
                            int64_t now_ms) noexcept nogil
