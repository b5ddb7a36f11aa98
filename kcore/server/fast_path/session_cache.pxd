"""The cache of a broker's fetch sessions."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from kcore.platform.sync cimport pthread_mutex_t
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_session cimport FetchSession

cdef class FetchSessionCache:
    cdef readonly ReplicaManager replicas   # must outlive the pins of the sessions
    cdef readonly int slots
    cdef readonly int64_t max_partitions
    cdef pthread_mutex_t lock               # guards the table and the sessions' cache fields
    cdef void* table
    cdef uint64_t random_state
    cdef int64_t session_count
    cdef int64_t partition_count
    cdef int64_t eviction_count
    cdef int64_t manual_now_ms
    cdef bint manual_clock

    # The session with a reference for the caller, or NULL.
    cdef FetchSession* acquire(self, int32_t id) noexcept nogil
    # Whether `insert` would have room for such a session now.
    cdef bint admits(self, bint privileged, int32_t size) noexcept nogil
    # Takes ownership of the caller's reference. Returns the new session's id. Without room, releases the session and
    # returns NO_SESSION.
    cdef int32_t insert(self, FetchSession* session) noexcept nogil
    # Removes the session. Returns whether it was in the cache.
    cdef bint remove(self, int32_t id) noexcept nogil
    # Updates the time of last use and the number of partitions. If they exceed the bound, removes the session and
    # returns False. The caller may hold the session's lock.
    cdef bint touch(self, FetchSession* session, int32_t size) noexcept nogil

    # --- callers hold `lock`
    cdef FetchSession* victim(self, bint privileged, int32_t size, int64_t now_ms) noexcept nogil
    cdef void take_out(self, FetchSession* session) noexcept nogil
    cdef int32_t unused_id(self) noexcept nogil
    cdef bint has_room(self, int32_t size) noexcept nogil
    cdef int64_t now_ms(self) noexcept nogil
