"""Members of stable groups, as processors look them up for their heartbeats."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.platform.sync cimport pthread_mutex_t

# What a heartbeat says, borrowed from its request; `instance_id` is NULL where there is none.
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
    cdef pthread_mutex_t lock            # guards `groups`; under it nothing is taken
    cdef void* groups
    cdef int64_t ahead_ms                # of the system's monotonic clock

    # Whether the coordinator would answer NONE; then the member counts as heard of at this time, or not at all at the time
    # NOT_HEARD_OF. False says nothing: the coordinator has to be asked.
    cdef bint hear(self, const SignOfLife* sign, int64_t now_ms) noexcept nogil
    cdef int64_t clock_ms(self) noexcept nogil
