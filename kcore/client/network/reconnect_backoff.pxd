"""Backoff between connection attempts to a broker, and the timeout of one attempt.

Both double with every consecutive failure up to a maximum, with a jitter of 20 % so that clients do not reconnect at
the same time (`reconnect.backoff.ms`, `reconnect.backoff.max.ms`; `socket.connection.setup.timeout.ms` and its maximum,
KIP-601). No clock: the caller passes the time.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from kcore.platform.chance cimport chance_below

cdef enum:
    MOST_DOUBLINGS = 30
    JITTER_PERCENT = 20

cdef struct BackoffSettings:
    int64_t reconnect_ns
    int64_t reconnect_max_ns
    int64_t setup_timeout_ns
    int64_t setup_timeout_max_ns

cdef struct ReconnectBackoff:
    int32_t failures             # consecutive failed connections
    int32_t setup_failures       # consecutive connections that failed during setup
    int64_t not_before_ns        # time of the next attempt
    uint64_t chance


cdef inline int64_t grown(uint64_t* chance, int64_t base_ns, int64_t max_ns, int32_t failures) noexcept nogil:
    cdef int64_t interval_ns = base_ns
    cdef int32_t i
    for i in range(failures if failures < MOST_DOUBLINGS else MOST_DOUBLINGS):
        if interval_ns >= max_ns:
            break
        interval_ns *= 2
    interval_ns = min(interval_ns, max(base_ns, max_ns))
    return interval_ns * <int64_t>(100 - JITTER_PERCENT + chance_below(chance, 2 * JITTER_PERCENT + 1)) // 100


cdef inline void backoff_failed(ReconnectBackoff* backoff, const BackoffSettings* settings, int64_t now_ns,
                                bint in_setup) noexcept nogil:
    backoff.not_before_ns = now_ns + grown(&backoff.chance, settings.reconnect_ns, settings.reconnect_max_ns,
                                           backoff.failures)
    backoff.failures += 1
    if in_setup:
        backoff.setup_failures += 1


cdef inline void backoff_succeeded(ReconnectBackoff* backoff) noexcept nogil:
    backoff.failures = backoff.setup_failures = 0


cdef inline int64_t setup_timeout(ReconnectBackoff* backoff, const BackoffSettings* settings) noexcept nogil:
    return grown(&backoff.chance, settings.setup_timeout_ns, settings.setup_timeout_max_ns, backoff.setup_failures)
