"""A heap of throttled connections. Each of them is muted until its time is over, whatever it receives (KIP-219).

It has at most all connections of the processor, belongs to the processor's thread and has no lock.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from kcore.network.connection cimport Connection

cdef enum:
    FIRST_CAPACITY = 16


cdef void throttle_free(ThrottleQueue* queue) noexcept nogil:
    free(queue.heap)
    queue.heap = NULL
    queue.count = queue.capacity = 0


cdef Connection* throttle_first(const ThrottleQueue* queue) noexcept nogil:
    return queue.heap[0] if queue.count else NULL


cdef inline void put(ThrottleQueue* queue, int32_t slot, Connection* connection) noexcept nogil:
    queue.heap[slot] = connection
    connection.throttle_slot = slot + 1


cdef void rise(ThrottleQueue* queue, int32_t slot) noexcept nogil:
    cdef Connection* connection = queue.heap[slot]
    cdef int32_t parent
    while slot > 0:
        parent = (slot - 1) // 2
        if queue.heap[parent].throttled_until_ns <= connection.throttled_until_ns:
            break
        put(queue, slot, queue.heap[parent])
        slot = parent
    put(queue, slot, connection)


cdef void sink(ThrottleQueue* queue, int32_t slot) noexcept nogil:
    cdef Connection* connection = queue.heap[slot]
    cdef int32_t child = 2 * slot + 1
    while child < queue.count:
        if (child + 1 < queue.count
                and queue.heap[child + 1].throttled_until_ns < queue.heap[child].throttled_until_ns):
            child += 1
        if connection.throttled_until_ns <= queue.heap[child].throttled_until_ns:
            break
        put(queue, slot, queue.heap[child])
        slot = child
        child = 2 * slot + 1
    put(queue, slot, connection)


cdef bint make_room(ThrottleQueue* queue) noexcept nogil:
    cdef int32_t capacity = queue.capacity * 2 if queue.capacity else FIRST_CAPACITY
    cdef Connection** heap
    if queue.count < queue.capacity:
        return True
    heap = <Connection**>realloc(queue.heap, <size_t>capacity * sizeof(Connection*))
    if heap == NULL:
        return False
    queue.heap = heap
    queue.capacity = capacity
    return True


cdef void throttle_add(ThrottleQueue* queue, Connection* connection, int64_t until_ns) noexcept nogil:
    if connection.throttle_slot:
        if until_ns > connection.throttled_until_ns:
            connection.throttled_until_ns = until_ns
            sink(queue, connection.throttle_slot - 1)
        return
    if not make_room(queue):
        return
    connection.throttled_until_ns = until_ns
    put(queue, queue.count, connection)
    queue.count += 1
    rise(queue, queue.count - 1)


cdef void throttle_remove(ThrottleQueue* queue, Connection* connection) noexcept nogil:
    cdef int32_t slot = connection.throttle_slot - 1
    cdef Connection* last
    if slot < 0:
        return
    connection.throttle_slot = 0
    queue.count -= 1
    if slot == queue.count:
        return
    last = queue.heap[queue.count]
    put(queue, slot, last)
    rise(queue, slot)
    sink(queue, last.throttle_slot - 1)
