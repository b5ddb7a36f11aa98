"""A fetch session: the requested partitions, and what the last responses said about each (KIP-227)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcore.platform.sync cimport pthread_mutex_t
from kcore.replication.partition_watch cimport PartitionWatch
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_request cimport FetchPartition
from kcore.storage.log cimport ReadResult

cdef enum:
    NO_SESSION = 0               # session id of a request without a session
    INITIAL_EPOCH = 0            # requests a new session
    FINAL_EPOCH = -1             # closes the session, if any, and opens none
    NO_ISOLATION = -1

cdef struct FetchSession

# Kafka's CachedPartition. Entries are on the list of dirty partitions (dirty_lock) and on `active` at most once.
cdef struct SessionPartition:
    PartitionWatch watch         # first: the watch callbacks cast it to SessionPartition
    FetchSession* session
    SessionPartition* next_in_bucket
    SessionPartition* next_dirty
    bint dirty                   # on the list of dirty partitions; under dirty_lock
    bint active                  # in the session's `active`
    bint forgotten
    bint answered                # included in the response being written
    FetchPartition asked
    uint64_t place               # position in the session's order
    int64_t high_watermark       # as in the last response; -1 after an error
    int64_t log_start_offset     # as in the last response
    int64_t segment_base_offset  # where the last read stopped
    int64_t position
    void* partition              # pinned and watched; NULL while unresolved
    uint32_t hash
    int32_t name_size
    uint8_t name[1]              # `name_size` bytes: the topic's name or id

cdef struct FetchSession:
    int32_t id
    bint by_id                   # requests name topics by id
    bint privileged              # the session of a follower
    uint64_t key                 # key in the fetch purgatory
    int32_t references           # one of the cache, and one per request in progress
    pthread_mutex_t lock         # guards what follows
    int32_t epoch                # expected from the next request
    int isolation                # isolation level that `active` is valid for
    int64_t start_moves          # log_start_moves() at the last check
    SessionPartition** buckets
    int32_t bucket_count
    int32_t count
    int32_t unresolved           # entries whose partition is NULL
    uint64_t last_place
    SessionPartition** active    # partitions that the next response may include; the others have nothing new
    int32_t active_count
    int32_t active_capacity      # at least `count`, so that activating needs no memory
    ReadResult* reads            # of `active`, while a response is written
    int32_t reads_capacity
    pthread_mutex_t dirty_lock   # guards what follows
    SessionPartition* first_dirty
    int32_t waiting              # requests of this session in the purgatory
    # Guarded by the cache's lock:
    int64_t created_ms
    int64_t last_used_ms
    int32_t cached_size          # -1 while not in the cache

# A session with one reference, which expects the epoch after the initial one. NULL if memory is exhausted.
cdef FetchSession* session_new(bint by_id, bint privileged, int32_t expected_count) noexcept nogil
cdef void session_acquire(FetchSession* session) noexcept nogil
cdef void session_release(FetchSession* session) noexcept nogil
cdef int32_t next_epoch(int32_t epoch) noexcept nogil

# --- callers hold session.lock
# NONE, INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR for a request of this session.
cdef int16_t session_check(const FetchSession* session, int32_t epoch, bint by_id) noexcept nogil
cdef SessionPartition* session_find(const FetchSession* session, const uint8_t* name, int32_t name_size,
                                    int32_t index) noexcept nogil
# Finds or adds a partition and stores its request parameters. NULL if memory is exhausted.
cdef SessionPartition* session_ask(FetchSession* session, const uint8_t* name, int32_t name_size,
                                   const FetchPartition* asked) noexcept nogil
# Removes a partition. Call session_drop_forgotten after the last one.
cdef void session_forget(FetchSession* session, const uint8_t* name, int32_t name_size, int32_t index) noexcept nogil
cdef void session_drop_forgotten(FetchSession* session) noexcept nogil
# Gives a pinned partition to an entry without one.
cdef void session_adopt(SessionPartition* entry, void* partition) noexcept nogil
# Looks up unresolved partitions. Returns whether all are resolved.
cdef bint session_resolve(FetchSession* session, ReplicaManager replicas) noexcept nogil
# Activates every partition, or those whose log start offset has changed since the last response.
cdef void session_activate_all(FetchSession* session) noexcept nogil
cdef void session_activate_moved(FetchSession* session) noexcept nogil
# Activates dirty partitions, and sorts `active` into the session's order. False if memory is exhausted.
cdef bint session_gather(FetchSession* session) noexcept nogil
# Records the state of a partition for the response. Returns False if nothing is new: the response then omits it
# (Kafka's maybeUpdateResponseData). A partition with records moves to the end of the order. Offsets are -1 with an
# error.
cdef bint session_tell(SessionPartition* entry, int64_t high_watermark, int64_t log_start_offset, int64_t size_bytes,
                       int16_t error, bint diverges) noexcept nogil
# Whether two entries are of the same topic.
cdef bint session_same_topic(const SessionPartition* one, const SessionPartition* other) noexcept nogil
# Keeps in `active` only the partitions that the next response may include, according to `reads`.
cdef void session_settle(FetchSession* session) noexcept nogil
# Between these calls, the callbacks of watches return the session's purgatory key.
cdef void session_begin_waiting(FetchSession* session) noexcept nogil
cdef void session_end_waiting(FetchSession* session) noexcept nogil
# Releases the segments that the reads have pinned, except those that a response has taken over.
cdef void session_release_reads(FetchSession* session) noexcept nogil
