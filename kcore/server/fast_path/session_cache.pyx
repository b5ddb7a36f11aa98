"""The bounded cache of a broker's fetch sessions (Kafka's `FetchSessionCache` and `FetchSessionCacheShard`, KIP-227).

There is no room for a session if `max.incremental.fetch.session.cache.slots` are taken, or if all partitions together
would exceed `kcli.fetch.session.cache.max.partitions`. A new session may then evict another one:

1. the least recently used one, if its last use is more than two minutes ago;
2. otherwise the least valuable one, if it is worth less than the new session. Sessions of followers are worth more than
   those of consumers, large ones more than small ones. Sessions in use for less than two minutes can only be evicted by
   a follower, and only if they belong to consumers.

Without room, the client continues without a session and sends all of its partitions each time.

Concurrency: one lock. It comes last in the lock order, beside those of watches. Evicted sessions are released after it.
Finding a session to evict scans all sessions; this is done only for a new session when there is no room.
"""

import os

from cython.operator cimport dereference, preincrement
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, atomic_load_64, atomic_store_64, clock_gettime, pthread_mutex_destroy, pthread_mutex_init,
    pthread_mutex_lock, pthread_mutex_unlock, timespec,
)
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_session cimport (
    NO_SESSION, FetchSession, session_acquire, session_release,
)

cdef enum:
    EVICTION_MS = 120000

cdef cppclass SessionTable:
    unordered_map[int32_t, FetchSession*] by_id


cdef class FetchSessionCache:
    """`slots` is the maximum number of sessions, `max_partitions` that of the partitions of all sessions together.

    Call `clear` before the partitions of `replicas` are closed. With `manual_clock`, only `advance_clock` changes the
    time.
    """

    def __cinit__(self):
        pthread_mutex_init(&self.lock, NULL)
        self.table = new SessionTable()

    def __init__(self, ReplicaManager replicas not None, int slots, int64_t max_partitions, bint manual_clock=False):
        self.replicas = replicas
        self.slots = slots
        self.max_partitions = max_partitions
        self.manual_clock = manual_clock
        # The state of xorshift64* must not be 0.
        self.random_state = <uint64_t>int.from_bytes(os.urandom(8), "little") | 1

    def __dealloc__(self):
        cdef SessionTable* table = <SessionTable*>self.table
        del table
        pthread_mutex_destroy(&self.lock)

    cdef int64_t now_ms(self) noexcept nogil:
        cdef timespec now
        if self.manual_clock:
            return self.manual_now_ms
        clock_gettime(CLOCK_MONOTONIC, &now)
        return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1000000

    cdef FetchSession* acquire(self, int32_t id) noexcept nogil:
        cdef FetchSession* session = NULL
        pthread_mutex_lock(&self.lock)
        cdef unordered_map[int32_t, FetchSession*].iterator place = (<SessionTable*>self.table).by_id.find(id)
        if place != (<SessionTable*>self.table).by_id.end():
            session = dereference(place).second
            session_acquire(session)
        pthread_mutex_unlock(&self.lock)
        return session

    cdef bint has_room(self, int32_t size) noexcept nogil:
        return self.session_count < self.slots and self.partition_count + size <= self.max_partitions

    cdef bint admits(self, bint privileged, int32_t size) noexcept nogil:
        cdef bint admitted
        pthread_mutex_lock(&self.lock)
        admitted = self.has_room(size) or self.victim(privileged, size, self.now_ms()) != NULL
        pthread_mutex_unlock(&self.lock)
        return admitted

    cdef int32_t insert(self, FetchSession* session) noexcept nogil:
        cdef FetchSession* evicted = NULL
        cdef int32_t id = NO_SESSION
        cdef int32_t size = session.count
        cdef int64_t now_ms
        pthread_mutex_lock(&self.lock)
        now_ms = self.now_ms()
        if not self.has_room(size):
            evicted = self.victim(session.privileged, size, now_ms)
            if evicted != NULL:
                self.take_out(evicted)
                atomic_store_64(&self.eviction_count, self.eviction_count + 1)
        if self.has_room(size):
            id = session.id = self.unused_id()
            session.created_ms = session.last_used_ms = now_ms
            session.cached_size = size
            (<SessionTable*>self.table).by_id[id] = session
            atomic_store_64(&self.session_count, self.session_count + 1)
            atomic_store_64(&self.partition_count, self.partition_count + size)
        pthread_mutex_unlock(&self.lock)
        if evicted != NULL:
            session_release(evicted)
        if id == NO_SESSION:
            session_release(session)
        return id

    cdef FetchSession* victim(self, bint privileged, int32_t size, int64_t now_ms) noexcept nogil:
        """The session that a new one may evict to make room, or NULL."""
        cdef unordered_map[int32_t, FetchSession*].iterator place = (<SessionTable*>self.table).by_id.begin()
        cdef FetchSession* session
        cdef FetchSession* oldest = NULL
        cdef FetchSession* least = NULL
        while place != (<SessionTable*>self.table).by_id.end():
            session = dereference(place).second
            if oldest == NULL or session.last_used_ms < oldest.last_used_ms:
                oldest = session
            # As in Kafka, the age of a session ends with its last use.
            if (session.last_used_ms - session.created_ms > EVICTION_MS or (privileged and not session.privileged)) and (
                    least == NULL or is_worth_less(session, least)):
                least = session
            preincrement(place)
        if (oldest != NULL and now_ms - oldest.last_used_ms > EVICTION_MS
                and self.partition_count - oldest.cached_size + size <= self.max_partitions):
            return oldest
        if least == NULL or least.privileged > privileged:
            return NULL
        if least.privileged == privileged and least.cached_size >= size:
            return NULL
        return least if self.partition_count - least.cached_size + size <= self.max_partitions else NULL

    cdef void take_out(self, FetchSession* session) noexcept nogil:
        """Removes a session. The caller takes over the table's reference."""
        (<SessionTable*>self.table).by_id.erase(session.id)
        atomic_store_64(&self.session_count, self.session_count - 1)
        atomic_store_64(&self.partition_count, self.partition_count - session.cached_size)
        session.cached_size = -1

    cdef int32_t unused_id(self) noexcept nogil:
        """A random id from 1 to 2^31 - 1, so that a client with an evicted session does not hit another one's."""
        cdef int32_t id = NO_SESSION
        while id == NO_SESSION or (<SessionTable*>self.table).by_id.count(id):
            self.random_state ^= self.random_state >> 12
            self.random_state ^= self.random_state << 25
            self.random_state ^= self.random_state >> 27
            id = <int32_t>((self.random_state * <uint64_t>0x2545F4914F6CDD1D) >> 33) & INT32_MAX
        return id

    cdef bint remove(self, int32_t id) noexcept nogil:
        cdef FetchSession* session = NULL
        pthread_mutex_lock(&self.lock)
        cdef unordered_map[int32_t, FetchSession*].iterator place = (<SessionTable*>self.table).by_id.find(id)
        if place != (<SessionTable*>self.table).by_id.end():
            session = dereference(place).second
            self.take_out(session)
        pthread_mutex_unlock(&self.lock)
        if session == NULL:
            return False
        session_release(session)
        return True

    cdef bint touch(self, FetchSession* session, int32_t size) noexcept nogil:
        cdef bint fits = True
        cdef bint removed = False
        pthread_mutex_lock(&self.lock)
        # An evicted session may finish its current request.
        if session.cached_size >= 0:
            session.last_used_ms = self.now_ms()
            fits = size <= session.cached_size or (
                self.partition_count - session.cached_size + size <= self.max_partitions)
            if fits:
                atomic_store_64(&self.partition_count, self.partition_count - session.cached_size + size)
                session.cached_size = size
            else:
                self.take_out(session)
                removed = True
        pthread_mutex_unlock(&self.lock)
        if removed:
            # This is not the last reference: the caller has another one.
            session_release(session)
        return fits

    # --- Python -----------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Removes every session."""
        cdef FetchSession* session
        while True:
            session = NULL
            with nogil:
                pthread_mutex_lock(&self.lock)
                if not (<SessionTable*>self.table).by_id.empty():
                    session = dereference((<SessionTable*>self.table).by_id.begin()).second
                    self.take_out(session)
                pthread_mutex_unlock(&self.lock)
                if session != NULL:
                    session_release(session)
            if session == NULL:
                return

    def advance_clock(self, int64_t now_ms) -> None:
        """Sets the time of a manual clock. Raises RuntimeError if the clock is not manual."""
        if not self.manual_clock:
            raise RuntimeError("the fetch session cache goes by the machine's clock")
        self.manual_now_ms = now_ms

    def remove_session(self, int32_t id) -> bool:
        """Removes one session. Returns whether it was in the cache."""
        cdef bint removed
        with nogil:
            removed = self.remove(id)
        return bool(removed)

    def session_ids(self) -> list[int]:
        """The ids of all sessions, in no particular order."""
        cdef vector[int32_t] ids
        cdef unordered_map[int32_t, FetchSession*].iterator place
        with nogil:
            pthread_mutex_lock(&self.lock)
            place = (<SessionTable*>self.table).by_id.begin()
            while place != (<SessionTable*>self.table).by_id.end():
                ids.push_back(dereference(place).first)
                preincrement(place)
            pthread_mutex_unlock(&self.lock)
        return list(ids)

    @property
    def sessions(self) -> int:
        """Number of sessions (Kafka's NumIncrementalFetchSessions)."""
        return atomic_load_64(&self.session_count)

    @property
    def partitions(self) -> int:
        """Number of partitions of all sessions (Kafka's NumIncrementalFetchPartitionsCached)."""
        return atomic_load_64(&self.partition_count)

    @property
    def evictions(self) -> int:
        """Number of evicted sessions (Kafka's IncrementalFetchSessionEvictionsPerSec)."""
        return atomic_load_64(&self.eviction_count)


cdef inline bint is_worth_less(const FetchSession* session, const FetchSession* other) noexcept nogil:
    if session.privileged != other.privileged:
        return other.privileged
    if session.cached_size != other.cached_size:
        return session.cached_size < other.cached_size
    return session.id < other.id
