"""A token bucket (`TokenBucket`, KIP-599), with which all quotas are measured.

Tokens are the unit of a quota: bytes, percent of a second, partitions, connections. They are refilled at the rate of
the quota, up to the burst that is permitted after inactivity. A client that uses more tokens than there are causes a
deficit, and has to wait until it is repaid.

Kafka uses buckets for controller mutations only, and measures the other quotas with a `Rate` over eleven samples. Burst
and throttle time are the same: with an amount O over a time W above the quota T, (O - T) / T * W is the deficit divided
by T. But a rate forgets a burst all at once, eleven windows later, and until then clients wait in vain: clients that
use all they can alternate between ten windows' worth at once and ten windows of nothing. One minute of this was
measured at 0.91 to 1.11 of the quota, depending on the phase, and requests of the size of whole windows at 0.5 to 0.9.
A bucket keeps the quota over any time except for one burst, which is why KIP-599 introduced it.

Clients that are refused until the deficit is repaid get turns. If all of them waited for the same moment, the closest
one would always be first, and the others would wait in vain. A turn is not exclusive: a client that comes without a
deficit is served.

Times are milliseconds of a monotonic clock; a thread may be slightly behind another. There is no lock: the owner of the
bucket holds one.
"""

from libc.math cimport HUGE_VAL, ceil, llround
from libc.stdint cimport INT32_MAX, int64_t


cdef void bucket_init(TokenBucket* bucket) noexcept nogil:
    bucket.tokens = HUGE_VAL
    bucket.refilled_ms = 0
    bucket.next_turn_ms = 0


cdef void bucket_refill(TokenBucket* bucket, double bound, int64_t burst_ms, int64_t now_ms) noexcept nogil:
    if bound == HUGE_VAL:
        # An infinite quota is permitted. It cannot be exceeded, and its usage cannot be measured.
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
    # Round up: a client that comes before its turn would have to wait for another one.
    cdef double wait_ms = ceil(turn_ms - now_ms)
    bucket.next_turn_ms = turn_ms + amount / bound * 1000
    return <int64_t>wait_ms if wait_ms < INT32_MAX else INT32_MAX
