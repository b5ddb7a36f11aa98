"""A processor's connections that are muted because of a quota, ordered by the end of their throttle time."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.connection cimport Connection

# A binary heap. A connection stores its own 1-based place in it (`throttle_slot`).
cdef struct ThrottleQueue:
    Connection** heap
    int32_t count
    int32_t capacity

cdef void throttle_free(ThrottleQueue* queue) noexcept nogil
# Mutes until `until_ns`, or longer if it is already muted for longer. If memory is exhausted, it is not muted.
cdef void throttle_add(ThrottleQueue* queue, Connection* connection, int64_t until_ns) noexcept nogil
# Does nothing if the connection is not throttled.
cdef void throttle_remove(ThrottleQueue* queue, Connection* connection) noexcept nogil
# The connection whose throttle time ends first, or NULL.
cdef Connection* throttle_first(const ThrottleQueue* queue) noexcept nogil
