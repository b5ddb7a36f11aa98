"""A processor's connections: by id, by pending work, and by time of last activity."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from kcore.network.connection cimport Connection, Listed

cdef enum:
    MAX_PROCESSORS = 256
    MAX_SLOTS = 1 << 24

cdef struct ConnectionList:
    Connection* first
    Connection* last
    int32_t count

# A connection id: processor (8 bits) | slot (24 bits) | generation of the slot (32 bits, never 0). No id is 0. A slot
# has about four billion connections before an id repeats.
cdef struct ConnectionTable:
    uint64_t processor
    Connection** slots
    uint32_t* generations
    int32_t* free_slots
    int32_t capacity
    int32_t free_count
    int32_t count
    ConnectionList ready
    ConnectionList stalled
    ConnectionList starved
    Connection* idle_first       # the least recently active one
    Connection* idle_last


cdef inline int processor_of(uint64_t connection) noexcept nogil:
    return <int>(connection >> 56)

cdef void table_init(ConnectionTable* table, int processor) noexcept nogil
# Remove all connections first.
cdef void table_free(ConnectionTable* table) noexcept nogil
# Assigns an id. Returns False if memory or slots are exhausted.
cdef bint table_add(ConnectionTable* table, Connection* connection) noexcept nogil
# Removes a connection from the table and from every list.
cdef void table_remove(ConnectionTable* table, Connection* connection) noexcept nogil
cdef Connection* table_find(const ConnectionTable* table, uint64_t id) noexcept nogil
# Any connection, or NULL if the table is empty. For closing all of them.
cdef Connection* table_any(const ConnectionTable* table) noexcept nogil
cdef void table_touch(ConnectionTable* table, Connection* connection, int64_t now_ns) noexcept nogil
# Appends to the ready, stalled or starved list. If the connection is in a list already, it stays there.
cdef void table_list(ConnectionTable* table, Connection* connection, Listed listed) noexcept nogil
cdef void table_unlist(ConnectionTable* table, Connection* connection) noexcept nogil
