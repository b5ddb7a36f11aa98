"""The connections of a processor that are muted for having exceeded a quota, by the time at which they go on."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.connection cimport Connection

# A binary heap; a connection knows its own place in it (`throttle_slot`, counted from 1).
cdef struct ThrottleQueue:
    Connection** heap
    int32_t count
    int32_t capacity

cdef void throttle_free(ThrottleQueue* queue) noexcept nogil
# Mutes until `until_ns`, or for longer if it was muted for longer already. Without memory it is not muted at all.
cdef void throttle_add(ThrottleQueue* queue, Connection* connection, int64_t until_ns) noexcept nogil
# Does nothing with a connection that is not muted.
cdef void throttle_remove(ThrottleQueue* queue, Connection* connection) noexcept nogil
# The one whose time is over first; NULL when there is none.
cdef Connection* throttle_first(const ThrottleQueue* queue) noexcept nogil
