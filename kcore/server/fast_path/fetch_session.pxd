"""A fetch session: what a client has asked for and been told, partition by partition (KIP-227)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcore.platform.sync cimport pthread_mutex_t
from kcore.replication.partition_watch cimport PartitionWatch
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_request cimport FetchPartition
from kcore.storage.log cimport ReadResult

cdef enum:
    NO_SESSION = 0               # the id of none
    INITIAL_EPOCH = 0            # asks for a new session
    FINAL_EPOCH = -1             # wants none
    NO_ISOLATION = -1

cdef struct FetchSession

# Kafka's CachedPartition.
cdef struct SessionPartition:
    PartitionWatch watch         # first: the partition knows a SessionPartition by it
    FetchSession* session
    SessionPartition* next_in_bucket
    SessionPartition* next_dirty
    bint dirty                   # on the session's list of them; under its dirty_lock
    bint active                  # on the session's list of them
    bint forgotten
    bint answered                # the answer that is being written speaks of it
    FetchPartition asked
    uint64_t place               # in the session's order
    int64_t high_watermark       # as last answered; -1 after an error
    int64_t log_start_offset     # likewise
    int64_t segment_base_offset  # where the last read stopped
    int64_t position
    void* partition              # pinned and watched; NULL while there is none
    uint32_t hash
    int32_t name_size
    uint8_t name[1]              # `name_size` bytes: the topic's name, or its id

cdef struct FetchSession:
    int32_t id
    bint by_id                   # of the protocol's versions that name topics by id
    bint privileged              # a follower's
    uint64_t key                 # under which it waits in the fetch purgatory
    int32_t references           # the cache's, and one of every request that is at work with it
    pthread_mutex_t lock         # guards what follows
    int32_t epoch                # of the next request
    int isolation                # what `active` holds for
    int64_t start_moves          # log_start_moves() when that was last looked at
    SessionPartition** buckets
    int32_t bucket_count
    int32_t count
    int32_t unresolved           # partitions that are NULL
    uint64_t last_place
    SessionPartition** active    # what the next answer may speak of; everything else is as last answered, at its end
    int32_t active_count
    int32_t active_capacity      # at least `count`, so that becoming active needs no memory
    ReadResult* reads            # of `active`, during one answer
    int32_t reads_capacity
    pthread_mutex_t dirty_lock   # guards what follows
    SessionPartition* first_dirty
    int32_t waiting              # requests in the purgatory
    # The cache's, under its lock.
    int64_t created_ms
    int64_t last_used_ms
    int32_t cached_size          # -1 while not in the cache

# With one reference, and the epoch that follows the first; NULL without memory.
cdef FetchSession* session_new(bint by_id, bint privileged, int32_t expected_count) noexcept nogil
cdef void session_acquire(FetchSession* session) noexcept nogil
cdef void session_release(FetchSession* session) noexcept nogil
cdef int32_t next_epoch(int32_t epoch) noexcept nogil

# --- callers hold session.lock
# The error of a request that names this session: NONE, INVALID_FETCH_SESSION_EPOCH or FETCH_SESSION_TOPIC_ID_ERROR.
cdef int16_t session_check(const FetchSession* session, int32_t epoch, bint by_id) noexcept nogil
cdef SessionPartition* session_find(const FetchSession* session, const uint8_t* name, int32_t name_size,
                                    int32_t index) noexcept nogil
# Finds or adds a partition, and notes what is asked of it now; NULL without memory.
cdef SessionPartition* session_ask(FetchSession* session, const uint8_t* name, int32_t name_size,
                                   const FetchPartition* asked) noexcept nogil
# Takes a partition out; `session_drop_forgotten` must follow the last one.
cdef void session_forget(FetchSession* session, const uint8_t* name, int32_t name_size, int32_t index) noexcept nogil
cdef void session_drop_forgotten(FetchSession* session) noexcept nogil
# Gives a pinned partition to an entry that has none.
cdef void session_adopt(SessionPartition* entry, void* partition) noexcept nogil
# Looks up what is still unknown; whether everything is known now.
cdef bint session_resolve(FetchSession* session, ReplicaManager replicas) noexcept nogil
# Every partition, or those whose place has changed since the last answer, will be looked at again.
cdef void session_activate_all(FetchSession* session) noexcept nogil
cdef void session_activate_moved(FetchSession* session) noexcept nogil
# Takes over what the watches have noted, and puts `active` into the session's order; False without memory.
cdef bint session_gather(FetchSession* session) noexcept nogil
# Notes what there is to be told of a partition; False when that is no news, and the answer leaves it out (the rule of
# Kafka's maybeUpdateResponseData). One that gives records goes to the end of the order. Offsets are -1 with an error.
cdef bint session_tell(SessionPartition* entry, int64_t high_watermark, int64_t log_start_offset, int64_t size_bytes,
                       int16_t error, bint diverges) noexcept nogil
# What entries of one topic have in common.
cdef bint session_same_topic(const SessionPartition* one, const SessionPartition* other) noexcept nogil
# Leaves on `active` what the next answer may have to speak of, judged by `reads`.
cdef void session_settle(FetchSession* session) noexcept nogil
# Between these two the watches answer the session's key.
cdef void session_begin_waiting(FetchSession* session) noexcept nogil
cdef void session_end_waiting(FetchSession* session) noexcept nogil
# Lets go of what the reads have pinned and no response has taken over.
cdef void session_release_reads(FetchSession* session) noexcept nogil
