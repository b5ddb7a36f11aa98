"""The sessions of stable groups, which processors use to answer heartbeats."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.platform.sync cimport pthread_mutex_t

# The fields of a heartbeat, borrowed from its request. `instance_id` is NULL if the request has none.
cdef struct SignOfLife:
    const uint8_t* group_id
    int32_t group_id_size
    const uint8_t* member_id
    int32_t member_id_size
    const uint8_t* instance_id
    int32_t instance_id_size
    int32_t generation_id

cdef enum:
    NOT_HEARD_OF = -1

cdef class SessionTable:
    cdef pthread_mutex_t lock            # guards `groups`; no other lock is taken under it
    cdef void* groups
    cdef int64_t ahead_ms                # offset to the system's monotonic clock

    # Returns True if the answer is NONE, and extends the session to `now_ms`; with NOT_HEARD_OF it is not extended.
    # False means that the coordinator must answer.
    cdef bint hear(self, const SignOfLife* sign, int64_t now_ms) noexcept nogil
    cdef int64_t clock_ms(self) noexcept nogil
