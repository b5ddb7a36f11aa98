"""A table of slots with generations: a response for a closed connection never reaches its successor in the slot.

A table belongs to the thread of its processor and has no lock.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset
from kcore.network.connection cimport LISTED_READY, LISTED_STALLED, UNLISTED, Connection, Listed

cdef enum:
    FIRST_SLOTS = 64


cdef void table_init(ConnectionTable* table, int processor) noexcept nogil:
    memset(table, 0, sizeof(ConnectionTable))
    table.processor = <uint64_t>processor


cdef void table_free(ConnectionTable* table) noexcept nogil:
    free(table.slots)
    free(table.generations)
    free(table.free_slots)
    table_init(table, <int>table.processor)


cdef bint grow(ConnectionTable* table) noexcept nogil:
    cdef int32_t capacity = table.capacity * 2 if table.capacity else FIRST_SLOTS
    cdef int32_t slot
    cdef void* grown
    if capacity > MAX_SLOTS:
        return False
    grown = realloc(table.slots, <size_t>capacity * sizeof(Connection*))
    if grown == NULL:
        return False
    table.slots = <Connection**>grown
    grown = realloc(table.generations, <size_t>capacity * sizeof(uint32_t))
    if grown == NULL:
        return False
    table.generations = <uint32_t*>grown
    grown = realloc(table.free_slots, <size_t>capacity * sizeof(int32_t))
    if grown == NULL:
        return False
    table.free_slots = <int32_t*>grown
    for slot in range(capacity - 1, table.capacity - 1, -1):
        table.slots[slot] = NULL
        table.generations[slot] = 0
        table.free_slots[table.free_count] = slot
        table.free_count += 1
    table.capacity = capacity
    return True


cdef bint table_add(ConnectionTable* table, Connection* connection) noexcept nogil:
    cdef int32_t slot
    if table.free_count == 0 and not grow(table):
        return False
    table.free_count -= 1
    slot = table.free_slots[table.free_count]
    table.generations[slot] += 1
    if table.generations[slot] == 0:
        table.generations[slot] = 1
    table.slots[slot] = connection
    table.count += 1
    connection.id = table.processor << 56 | <uint64_t>slot << 32 | table.generations[slot]
    return True


cdef Connection* table_find(const ConnectionTable* table, uint64_t id) noexcept nogil:
    cdef int32_t slot = <int32_t>((id >> 32) & (MAX_SLOTS - 1))
    if slot >= table.capacity or table.slots[slot] == NULL or table.slots[slot].id != id:
        return NULL
    return table.slots[slot]


cdef Connection* table_any(const ConnectionTable* table) noexcept nogil:
    return table.idle_first


cdef void table_remove(ConnectionTable* table, Connection* connection) noexcept nogil:
    cdef int32_t slot = <int32_t>((connection.id >> 32) & (MAX_SLOTS - 1))
    table_unlist(table, connection)
    unlink_idle(table, connection)
    table.slots[slot] = NULL
    table.free_slots[table.free_count] = slot
    table.free_count += 1
    table.count -= 1


cdef void unlink_idle(ConnectionTable* table, Connection* connection) noexcept nogil:
    if connection.idle_previous != NULL:
        connection.idle_previous.idle_next = connection.idle_next
    elif table.idle_first == connection:
        table.idle_first = connection.idle_next
    if connection.idle_next != NULL:
        connection.idle_next.idle_previous = connection.idle_previous
    elif table.idle_last == connection:
        table.idle_last = connection.idle_previous
    connection.idle_next = connection.idle_previous = NULL


cdef void table_touch(ConnectionTable* table, Connection* connection, int64_t now_ns) noexcept nogil:
    connection.last_active_ns = now_ns
    if table.idle_last == connection:
        return
    unlink_idle(table, connection)
    connection.idle_previous = table.idle_last
    if table.idle_last != NULL:
        table.idle_last.idle_next = connection
    else:
        table.idle_first = connection
    table.idle_last = connection


cdef ConnectionList* list_of(ConnectionTable* table, Listed listed) noexcept nogil:
    if listed == LISTED_READY:
        return &table.ready
    return &table.stalled if listed == LISTED_STALLED else &table.starved


cdef void table_list(ConnectionTable* table, Connection* connection, Listed listed) noexcept nogil:
    cdef ConnectionList* members = list_of(table, listed)
    if connection.listed != UNLISTED:
        return
    connection.listed = listed
    connection.listed_next = NULL
    connection.listed_previous = members.last
    if members.last != NULL:
        members.last.listed_next = connection
    else:
        members.first = connection
    members.last = connection
    members.count += 1


cdef void table_unlist(ConnectionTable* table, Connection* connection) noexcept nogil:
    cdef ConnectionList* members
    if connection.listed == UNLISTED:
        return
    members = list_of(table, connection.listed)
    if connection.listed_previous != NULL:
        connection.listed_previous.listed_next = connection.listed_next
    else:
        members.first = connection.listed_next
    if connection.listed_next != NULL:
        connection.listed_next.listed_previous = connection.listed_previous
    else:
        members.last = connection.listed_previous
    members.count -= 1
    connection.listed = UNLISTED
    connection.listed_next = connection.listed_previous = NULL
