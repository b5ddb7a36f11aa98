"""The state of one fetch session (KIP-227; `FetchSession` and `CachedPartition` of Kafka), without I/O.

A session keeps its partitions pinned and watched. A response only checks the active partitions: those whose request
parameters have changed, that had more records than fitted, that failed, or that their watch has marked dirty. A
partition is quiet if the client has read it to its end and has been sent its current offsets. Quiet partitions cost
nothing.

Partitions are ordered by their places. A partition that returned records moves to the end, so that the bound on
response sizes does not starve others.

Concurrency: `lock` guards the session. `dirty_lock` guards the list to which watches push, on the threads that append.
A watch is removed before its memory is freed, and a partition is unpinned only after its watch was removed. The session
is freed with its last reference. If a partition leaves the broker, all sessions release it at once (`let_go`).
"""

from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort
from libc.string cimport memcmp, memcpy, memset

from kcore.errors cimport FETCH_SESSION_TOPIC_ID_ERROR, INVALID_FETCH_SESSION_EPOCH, NONE
from kcore.platform.sync cimport (
    atomic_add_32, atomic_add_64, atomic_load_32, atomic_load_64, atomic_swap_32_if, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.replication.partition cimport Partition
from kcore.replication.partition_watch cimport PartitionWatch
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_request cimport FetchPartition
from kcore.server.fast_path.growing_array cimport grown
from kcore.storage.log cimport ISOLATION_LOG_END, ISOLATION_TXN_COMMITTED, ReadResult, log_start_moves
from kcore.storage.log_read cimport release_read

cdef enum:
    SMALLEST_TABLE = 16

# Purgatory keys of sessions. Those of partitions, in the same purgatory, count upwards from 1.
cdef uint64_t SESSION_KEYS = <uint64_t>1 << 63
cdef int64_t last_session_key = 0
cdef int64_t live = 0


def live_sessions() -> int:
    """The number of sessions of the process that are allocated, for leak checks."""
    return atomic_load_64(&live)


def epoch_after(int32_t epoch) -> int:
    """The session epoch that follows `epoch`. After 2^31 - 1 comes 1."""
    return next_epoch(epoch)


cdef int32_t next_epoch(int32_t epoch) noexcept nogil:
    return 1 if epoch == INT32_MAX else epoch + 1


cdef FetchSession* session_new(bint by_id, bint privileged, int32_t expected_count) noexcept nogil:
    cdef FetchSession* session = <FetchSession*>calloc(1, sizeof(FetchSession))
    if session == NULL:
        return NULL
    session.bucket_count = SMALLEST_TABLE
    while session.bucket_count < expected_count:
        session.bucket_count *= 2
    session.buckets = <SessionPartition**>calloc(session.bucket_count, sizeof(SessionPartition*))
    if session.buckets == NULL:
        free(session)
        return NULL
    session.by_id = by_id
    session.privileged = privileged
    session.references = 1
    session.key = SESSION_KEYS + <uint64_t>atomic_add_64(&last_session_key, 1)
    session.epoch = next_epoch(INITIAL_EPOCH)
    session.isolation = NO_ISOLATION
    session.start_moves = log_start_moves()
    session.cached_size = -1
    pthread_mutex_init(&session.lock, NULL)
    pthread_mutex_init(&session.dirty_lock, NULL)
    atomic_add_64(&live, 1)
    return session


cdef void session_acquire(FetchSession* session) noexcept nogil:
    atomic_add_32(&session.references, 1)


cdef void session_release(FetchSession* session) noexcept nogil:
    cdef int32_t bucket
    cdef SessionPartition* entry
    cdef SessionPartition* following
    if atomic_add_32(&session.references, -1) > 0:
        return
    for bucket in range(session.bucket_count):
        entry = session.buckets[bucket]
        while entry != NULL:
            following = entry.next_in_bucket
            disown(entry)
            free(entry)
            entry = following
    free(session.buckets)
    free(session.active)
    free(session.reads)
    pthread_mutex_destroy(&session.lock)
    pthread_mutex_destroy(&session.dirty_lock)
    free(session)
    atomic_add_64(&live, -1)


# --- requests ---------------------------------------------------------------------------------------------------------


cdef int16_t session_check(const FetchSession* session, int32_t epoch, bint by_id) noexcept nogil:
    if session.epoch != epoch:
        return INVALID_FETCH_SESSION_EPOCH
    if session.by_id != by_id:
        return FETCH_SESSION_TOPIC_ID_ERROR
    return NONE


cdef uint32_t hash_of(const uint8_t* name, int32_t name_size, int32_t index) noexcept nogil:
    """FNV-1a of the name, combined with the index times Knuth's multiplier."""
    cdef uint32_t hashed = 2166136261
    cdef int32_t position
    for position in range(name_size):
        hashed = (hashed ^ name[position]) * <uint32_t>16777619
    return hashed ^ (<uint32_t>index * <uint32_t>2654435761)


cdef inline SessionPartition** bucket_of(const FetchSession* session, uint32_t hashed) noexcept nogil:
    return &session.buckets[(hashed ^ (hashed >> 16)) & <uint32_t>(session.bucket_count - 1)]


cdef SessionPartition* session_find(const FetchSession* session, const uint8_t* name, int32_t name_size,
                                    int32_t index) noexcept nogil:
    cdef uint32_t hashed = hash_of(name, name_size, index)
    cdef SessionPartition* entry = bucket_of(session, hashed)[0]
    while entry != NULL:
        if (entry.hash == hashed and entry.asked.index == index and entry.name_size == name_size
                and memcmp(entry.name, name, name_size) == 0):
            return entry
        entry = entry.next_in_bucket
    return NULL


cdef SessionPartition* session_ask(FetchSession* session, const uint8_t* name, int32_t name_size,
                                   const FetchPartition* asked) noexcept nogil:
    cdef SessionPartition* entry = session_find(session, name, name_size, asked.index)
    if entry == NULL:
        entry = add_entry(session, name, name_size, asked.index)
    if entry == NULL:
        return NULL
    activate(entry)
    entry.asked = asked[0]
    return entry


cdef SessionPartition* add_entry(FetchSession* session, const uint8_t* name, int32_t name_size,
                                 int32_t index) noexcept nogil:
    cdef SessionPartition* entry = <SessionPartition*>calloc(1, sizeof(SessionPartition) + <size_t>name_size)
    cdef SessionPartition** bucket
    cdef void* active = grown(session.active, &session.active_capacity, <int64_t>session.count + 1,
                              sizeof(SessionPartition*))
    if active != NULL:
        session.active = <SessionPartition**>active
    if entry == NULL or active == NULL:
        free(entry)
        return NULL
    if session.count >= session.bucket_count:
        enlarge_table(session)
    entry.session = session
    entry.watch.changed = note_change
    entry.watch.hold = hold
    entry.watch.let_go = let_go
    entry.asked.index = index
    entry.high_watermark = entry.log_start_offset = -1
    entry.hash = hash_of(name, name_size, index)
    entry.name_size = name_size
    memcpy(entry.name, name, name_size)
    move_to_end(entry)
    bucket = bucket_of(session, entry.hash)
    entry.next_in_bucket = bucket[0]
    bucket[0] = entry
    session.count += 1
    session.unresolved += 1
    return entry


cdef void enlarge_table(FetchSession* session) noexcept nogil:
    """Doubles the table. If memory is exhausted, the lists in the buckets grow instead."""
    cdef int32_t old_count = session.bucket_count
    cdef SessionPartition** old = session.buckets
    cdef SessionPartition** larger
    cdef SessionPartition** bucket
    cdef SessionPartition* entry
    cdef int32_t position
    if old_count > INT32_MAX // 2:
        return
    larger = <SessionPartition**>calloc(2 * <size_t>old_count, sizeof(SessionPartition*))
    if larger == NULL:
        return
    session.buckets = larger
    session.bucket_count = 2 * old_count
    for position in range(old_count):
        while old[position] != NULL:
            entry = old[position]
            old[position] = entry.next_in_bucket
            bucket = bucket_of(session, entry.hash)
            entry.next_in_bucket = bucket[0]
            bucket[0] = entry
    free(old)


cdef void session_forget(FetchSession* session, const uint8_t* name, int32_t name_size, int32_t index) noexcept nogil:
    cdef SessionPartition* entry = session_find(session, name, name_size, index)
    cdef SessionPartition** link
    if entry == NULL:
        return
    link = bucket_of(session, entry.hash)
    while link[0] != entry:
        link = &link[0].next_in_bucket
    link[0] = entry.next_in_bucket
    disown(entry)
    session.count -= 1
    session.unresolved -= 1
    entry.forgotten = True
    # The entry may be on the dirty list too: session_drop_forgotten drains both lists before it frees the memory.
    activate(entry)


cdef void session_drop_forgotten(FetchSession* session) noexcept nogil:
    cdef int32_t position
    cdef int32_t kept = 0
    collect_dirty(session)
    for position in range(session.active_count):
        if session.active[position].forgotten:
            free(session.active[position])
        else:
            session.active[kept] = session.active[position]
            kept += 1
    session.active_count = kept


# --- partitions ---------------------------------------------------------------------------------------------------------


cdef void session_adopt(SessionPartition* entry, void* partition) noexcept nogil:
    if not (<Partition>partition).watch(&entry.watch):
        (<Partition>partition).unpin()
        return
    entry.partition = partition
    entry.session.unresolved -= 1


cdef void disown(SessionPartition* entry) noexcept nogil:
    if entry.partition == NULL:
        return
    (<Partition>entry.partition).unwatch(&entry.watch)
    (<Partition>entry.partition).unpin()
    entry.partition = NULL
    entry.session.unresolved += 1


cdef bint session_resolve(FetchSession* session, ReplicaManager replicas) noexcept nogil:
    cdef int32_t bucket
    cdef SessionPartition* entry
    cdef void* partition
    if session.unresolved == 0:
        return True
    for bucket in range(session.bucket_count):
        entry = session.buckets[bucket]
        while entry != NULL:
            if entry.partition == NULL:
                if session.by_id:
                    partition = replicas.pin_by_id(entry.name, entry.asked.index)
                else:
                    partition = replicas.pin_by_name(entry.name, entry.name_size, entry.asked.index)
                if partition == NULL:
                    return False
                session_adopt(entry, partition)
                activate(entry)
            entry = entry.next_in_bucket
    return session.unresolved == 0


cdef uint64_t note_change(PartitionWatch* watch) noexcept nogil:
    cdef SessionPartition* entry = <SessionPartition*>watch
    cdef FetchSession* session = entry.session
    cdef uint64_t key = 0
    pthread_mutex_lock(&session.dirty_lock)
    # If the partition is already dirty, the pending check covers this change too.
    if not entry.dirty:
        entry.dirty = True
        entry.next_dirty = session.first_dirty
        session.first_dirty = entry
        if session.waiting > 0:
            key = session.key
    pthread_mutex_unlock(&session.dirty_lock)
    return key


cdef void* hold(PartitionWatch* watch) noexcept nogil:
    cdef FetchSession* session = (<SessionPartition*>watch).session
    cdef int32_t references = atomic_load_32(&session.references)
    while references > 0:
        if atomic_swap_32_if(&session.references, references, references + 1):
            return session
        references = atomic_load_32(&session.references)
    return NULL


cdef void let_go(void* held) noexcept nogil:
    cdef FetchSession* session = <FetchSession*>held
    cdef SessionPartition* entry
    cdef int32_t position
    pthread_mutex_lock(&session.lock)
    # The watch of a partition that leaves has marked it dirty, so it becomes active here.
    collect_dirty(session)
    for position in range(session.active_count):
        entry = session.active[position]
        if entry.partition != NULL and (<Partition>entry.partition).has_left():
            disown(entry)
    pthread_mutex_unlock(&session.lock)
    session_release(session)


# --- which partitions an answer looks at ------------------------------------------------------------------------------


cdef void activate(SessionPartition* entry) noexcept nogil:
    if not entry.active:
        entry.active = True
        entry.session.active[entry.session.active_count] = entry
        entry.session.active_count += 1


cdef void session_activate_all(FetchSession* session) noexcept nogil:
    cdef int32_t bucket
    cdef SessionPartition* entry
    for bucket in range(session.bucket_count):
        entry = session.buckets[bucket]
        while entry != NULL:
            activate(entry)
            entry = entry.next_in_bucket


cdef void session_activate_moved(FetchSession* session) noexcept nogil:
    """Activates partitions with a new log start offset. Watches do not report these moves, so all are compared."""
    cdef int64_t moves = log_start_moves()
    cdef int32_t bucket
    cdef SessionPartition* entry
    if moves == session.start_moves:
        return
    session.start_moves = moves
    for bucket in range(session.bucket_count):
        entry = session.buckets[bucket]
        while entry != NULL:
            if (entry.partition != NULL
                    and (<Partition>entry.partition).log.log_start_offset() != entry.log_start_offset):
                activate(entry)
            entry = entry.next_in_bucket


cdef void collect_dirty(FetchSession* session) noexcept nogil:
    pthread_mutex_lock(&session.dirty_lock)
    while session.first_dirty != NULL:
        session.first_dirty.dirty = False
        activate(session.first_dirty)
        session.first_dirty = session.first_dirty.next_dirty
    pthread_mutex_unlock(&session.dirty_lock)


cdef bint session_gather(FetchSession* session) noexcept nogil:
    cdef void* reads
    collect_dirty(session)
    reads = grown(session.reads, &session.reads_capacity, session.active_count, sizeof(ReadResult))
    if reads == NULL:
        return False
    session.reads = <ReadResult*>reads
    memset(reads, 0, <size_t>session.active_count * sizeof(ReadResult))
    if session.active_count > 1:
        qsort(session.active, session.active_count, sizeof(SessionPartition*), compare_places)
    return True


cdef int compare_places(const void* first, const void* second) noexcept nogil:
    cdef uint64_t one = (<SessionPartition**>first)[0].place
    cdef uint64_t other = (<SessionPartition**>second)[0].place
    return -1 if one < other else 1


# --- responses --------------------------------------------------------------------------------------------------------


cdef bint session_tell(SessionPartition* entry, int64_t high_watermark, int64_t log_start_offset, int64_t size_bytes,
                       int16_t error, bint diverges) noexcept nogil:
    cdef bint is_news = (size_bytes > 0 or error != NONE or diverges or entry.high_watermark != high_watermark
                         or entry.log_start_offset != log_start_offset)
    # With -1 stored, the next response after an error includes the partition.
    entry.high_watermark = high_watermark if error == NONE else -1
    entry.log_start_offset = log_start_offset
    if size_bytes > 0:
        move_to_end(entry)
    return is_news


cdef void move_to_end(SessionPartition* entry) noexcept nogil:
    entry.session.last_place += 1
    entry.place = entry.session.last_place


cdef bint session_same_topic(const SessionPartition* one, const SessionPartition* other) noexcept nogil:
    return one.name_size == other.name_size and memcmp(one.name, other.name, one.name_size) == 0


cdef void session_settle(FetchSession* session) noexcept nogil:
    cdef int32_t position
    cdef int32_t kept = 0
    for position in range(session.active_count):
        if is_quiet(session.active[position], &session.reads[position], session.isolation):
            session.active[position].active = False
        else:
            session.active[kept] = session.active[position]
            kept += 1
    session.active_count = kept


cdef bint is_quiet(const SessionPartition* entry, const ReadResult* read, int isolation) noexcept nogil:
    cdef int64_t bound = read.high_watermark
    if isolation == ISOLATION_TXN_COMMITTED:
        bound = read.last_stable_offset
    elif isolation == ISOLATION_LOG_END:
        bound = read.log_end_offset
    return (entry.partition != NULL and read.error == NONE and not read.diverges and entry.asked.offset >= bound
            and entry.high_watermark == read.high_watermark and entry.log_start_offset == read.log_start_offset)


cdef void session_begin_waiting(FetchSession* session) noexcept nogil:
    pthread_mutex_lock(&session.dirty_lock)
    session.waiting += 1
    pthread_mutex_unlock(&session.dirty_lock)


cdef void session_end_waiting(FetchSession* session) noexcept nogil:
    pthread_mutex_lock(&session.dirty_lock)
    session.waiting -= 1
    pthread_mutex_unlock(&session.dirty_lock)


cdef void session_release_reads(FetchSession* session) noexcept nogil:
    cdef int32_t position
    for position in range(session.active_count):
        release_read(&session.reads[position])
