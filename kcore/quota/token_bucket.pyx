"""A token bucket (`TokenBucket`, KIP-599), by which all quotas are measured here.

Tokens are what a quota counts: bytes, percent of a second, partitions, connections. They come back at its rate, up to the burst
that is let through after silence. Whoever uses more than there is stands in debt, and is to wait until that is paid.

Kafka has buckets for controller mutations only, and measures the others by a `Rate` over eleven samples. Burst and throttle
time are the same: with O measured over a time of W above the quota T, (O - T) / T * W is the debt by T. But a rate
forgets a burst all at once, eleven windows later, and until then the clients wait in vain: those that take all they can live in
a cycle of ten windows' worth at once and ten windows of nothing. A minute of it came to 0.91 to 1.11 of the quota by where in
the cycle it began, and what is asked for by whole windows' worths at a time to 0.5 to 0.9. A bucket holds the quota over any time
but for one burst, which is why KIP-599 has it.

Those who get nothing as long as there is debt are given turns: were they all told of the moment when it is paid, the nearest
would always come first, and the others in vain. A turn is no claim: who comes when there is no debt is served.

Times are milliseconds of a clock that does not go back; a thread may be a little behind another. No lock: whoever owns
the bucket holds one.
"""

from libc.math cimport HUGE_VAL, ceil, llround
from libc.stdint cimport INT32_MAX, int64_t


cdef void bucket_init(TokenBucket* bucket) noexcept nogil:
    bucket.tokens = HUGE_VAL
    bucket.refilled_ms = 0
    bucket.next_turn_ms = 0


cdef void bucket_refill(TokenBucket* bucket, double bound, int64_t burst_ms, int64_t now_ms) noexcept nogil:
    if bound == HUGE_VAL:
        # An infinite quota, which may be set, can be neither measured nor exceeded.
        bucket.tokens = HUGE_VAL
    else:
        bucket.tokens += bound * max(<int64_t>0, now_ms - bucket.refilled_ms) / 1000
        bucket.tokens = min(bucket.tokens, bound * burst_ms / 1000)
    bucket.refilled_ms = max(bucket.refilled_ms, now_ms)


cdef inline double debt_ms(const TokenBucket* bucket, double bound) noexcept nogil:
    return -bucket.tokens / bound * 1000 if bucket.tokens < 0 else 0


cdef int64_t bucket_wait_ms(const TokenBucket* bucket, double bound) noexcept nogil:
    cdef double wait_ms = debt_ms(bucket, bound)
    return llround(wait_ms) if wait_ms < INT32_MAX else INT32_MAX


cdef int64_t bucket_turn_ms(TokenBucket* bucket, double bound, double amount, int64_t most_ms,
                            int64_t now_ms) noexcept nogil:
    cdef double first_ms = now_ms + debt_ms(bucket, bound)
    cdef double turn_ms = min(max(first_ms, bucket.next_turn_ms), first_ms + most_ms)
    # Not before it: who comes too early has to wait for another.
    cdef double wait_ms = ceil(turn_ms - now_ms)
    bucket.next_turn_ms = turn_ms + amount / bound * 1000
    return <int64_t>wait_ms if wait_ms < INT32_MAX else INT32_MAX
