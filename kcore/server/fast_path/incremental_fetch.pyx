"""Fetch requests of a session (KIP-227), read and answered without the GIL. The cost depends on the active partitions.

The request has only the changes. The session has everything else: it keeps its partitions pinned, and their watches
report changes. Partitions with nothing new are not looked up, pinned or added to a purgatory. A request that finds
fewer bytes than `min_bytes` waits under the single key of the session.

If a later request of the session arrives first, the earlier one is answered INVALID_FETCH_SESSION_EPOCH when it wakes.
If the session is evicted from the cache meanwhile, the current request is still answered, and the next one fails.

Concurrency: the session's lock is held from reading the partitions until the response is written. The response refers
to ranges of files; nothing is sent under the lock.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from kcore.errors cimport FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, NONE, NOT_LEADER_OR_FOLLOWER
from kcore.network.dispatch cimport CLOSE, DELAYED, RESPONDED, TO_HANDLER, Disposition, NativeRequest
from kcore.network.response cimport Response, response_init
from kcore.network.socket_server cimport SocketServer
from kcore.platform.sync cimport pthread_mutex_lock, pthread_mutex_unlock
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.replication.partition cimport NO_LEADER_EPOCH, Partition
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_answer cimport (
    FetchAnswer, answer_error, begin_answer, begin_topic, end_topic, finish_answer, put_partition,
)
from kcore.server.fast_path.fetch_request cimport FetchPartition, FetchRequest, FetchTopic
from kcore.server.fast_path.fetch_session cimport (
    NO_SESSION, FetchSession, SessionPartition, next_epoch, session_activate_all, session_activate_moved, session_adopt,
    session_ask, session_begin_waiting, session_check, session_drop_forgotten, session_end_waiting, session_find,
    session_forget, session_gather, session_release, session_release_reads, session_resolve, session_same_topic,
    session_settle, session_tell,
)
from kcore.server.fast_path.session_cache cimport FetchSessionCache
from kcore.server.fast_path.throttling cimport QuotaCharge, charge_end, charge_fetch, charge_pause
from kcore.storage.log cimport ReadResult
from kcore.storage.log_read cimport readable_log_bytes

cdef Disposition fetch_incrementally(FetchSessionCache sessions, SocketServer server, NativeRequest* frame,
                                     const FetchRequest* request, int isolation, const QuotaCharge* charge,
                                     Response* response) noexcept nogil:
    cdef FetchSession* session = sessions.acquire(request.session_id)
    cdef IncrementalFetch fetch
    cdef IncrementalFetch* delayed = NULL
    cdef Disposition disposition
    init_fetch(&fetch, server, frame, request, isolation, session)
    fetch.charge = charge[0]
    if session == NULL:
        disposition = refuse(&fetch, FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, response)
        charge_end(&fetch.charge, server.quotas)
        return disposition
    pthread_mutex_lock(&session.lock)
    disposition = take_up(sessions, request, &fetch, response)
    if disposition == DELAYED:
        charge_pause(&fetch.charge, server.quotas)
        delayed = <IncrementalFetch*>malloc(sizeof(IncrementalFetch))
        if delayed != NULL:
            delayed[0] = fetch
            session_begin_waiting(session)
    pthread_mutex_unlock(&session.lock)
    if disposition != DELAYED or delayed == NULL:
        session_release(session)
        charge_end(&fetch.charge, server.quotas)
        return CLOSE if disposition == DELAYED else disposition
    sessions.replicas.fetch_purgatory.try_complete_else_watch(&delayed.operation, &session.key, 1, request.max_wait_ms)
    return DELAYED


cdef void init_fetch(IncrementalFetch* fetch, SocketServer server, const NativeRequest* frame,
                     const FetchRequest* request, int isolation, FetchSession* session) noexcept nogil:
    memset(fetch, 0, sizeof(IncrementalFetch))
    fetch.operation.try_complete = has_enough
    fetch.operation.complete = answer_delayed
    fetch.operation.release = free_fetch
    fetch.server = <void*>server
    fetch.connection = frame.connection
    fetch.correlation_id = frame.correlation_id
    fetch.version = request.version
    fetch.flexible = request.flexible
    fetch.isolation = isolation
    fetch.min_bytes = request.min_bytes
    fetch.max_bytes = request.max_bytes
    fetch.session = session
    fetch.expected_epoch = next_epoch(request.session_epoch)


cdef void free_fetch(DelayedOperation* operation) noexcept nogil:
    free(operation)


# --- callers hold session.lock ----------------------------------------------------------------------------------------


cdef Disposition take_up(FetchSessionCache sessions, const FetchRequest* request, IncrementalFetch* fetch,
                         Response* response) noexcept nogil:
    """Executes the request. Returns DELAYED, with nothing pinned, if it has to wait."""
    cdef FetchSession* session = fetch.session
    cdef int16_t error = session_check(session, request.session_epoch, request.by_id)
    cdef Disposition disposition = DELAYED
    if error != NONE:
        return refuse(fetch, error, NO_SESSION, response)
    if not is_native(session, request, sessions.replicas):
        return TO_HANDLER
    if not update(session, request, fetch.isolation, sessions.replicas):
        return CLOSE
    if not sessions.touch(session, session.count):
        return refuse(fetch, FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, response)
    if not read_active(fetch):
        return CLOSE
    if fetch.failed or fetch.size_bytes >= fetch.min_bytes or request.max_wait_ms <= 0:
        disposition = write_answer(fetch, response)
    session_release_reads(session)
    session_settle(session)
    return disposition


cdef bint is_native(FetchSession* session, const FetchRequest* request, ReplicaManager replicas) noexcept nogil:
    """Whether the native path can execute the request: all partitions are known. Requests that may leave the session
    empty are rare, and left to the handler too."""
    cdef int32_t topic_position, position
    cdef const FetchTopic* topic
    cdef const FetchPartition* asked
    cdef void* partition
    if request.forgotten_count >= session.count or not session_resolve(session, replicas):
        return False
    for topic_position in range(request.topic_count):
        topic = &request.topics[topic_position]
        for position in range(topic.first, topic.first + topic.count):
            asked = &request.partitions[position]
            if session_find(session, topic.name, topic.name_size, asked.index) != NULL:
                continue
            partition = pin(replicas, request, topic, asked.index)
            if partition == NULL:
                return False
            (<Partition>partition).unpin()
    return True


cdef inline void* pin(ReplicaManager replicas, const FetchRequest* request, const FetchTopic* topic,
                      int32_t index) noexcept nogil:
    if request.by_id:
        return replicas.pin_by_id(topic.name, index)
    return replicas.pin_by_name(topic.name, topic.name_size, index)


cdef bint update(FetchSession* session, const FetchRequest* request, int isolation,
                 ReplicaManager replicas) noexcept nogil:
    """Applies the changes of the request to the session. False if memory is exhausted."""
    cdef int32_t topic_position, position
    cdef const FetchTopic* topic
    cdef SessionPartition* entry
    cdef void* partition
    for topic_position in range(request.topic_count):
        topic = &request.topics[topic_position]
        for position in range(topic.first, topic.first + topic.count):
            entry = session_ask(session, topic.name, topic.name_size, &request.partitions[position])
            if entry == NULL:
                return False
            if entry.partition == NULL:
                partition = pin(replicas, request, topic, entry.asked.index)
                if partition != NULL:
                    session_adopt(entry, partition)
    for topic_position in range(request.forgotten_topic_count):
        topic = &request.forgotten_topics[topic_position]
        for position in range(topic.first, topic.first + topic.count):
            session_forget(session, topic.name, topic.name_size, request.forgotten[position])
    if request.forgotten_count > 0:
        session_drop_forgotten(session)
    if session.isolation != isolation:
        session.isolation = isolation
        session_activate_all(session)
    session.epoch = next_epoch(session.epoch)
    return True


cdef bint read_active(IncrementalFetch* fetch) noexcept nogil:
    """Reads in the session's order. The first partition with records returns a whole batch despite the bounds."""
    cdef FetchSession* session = fetch.session
    cdef int64_t left = fetch.max_bytes
    cdef SessionPartition* entry
    cdef ReadResult* read
    cdef int32_t position, last_fetched_epoch
    session_activate_moved(session)
    if not session_gather(session):
        return False
    fetch.size_bytes = 0
    fetch.failed = False
    for position in range(session.active_count):
        entry = session.active[position]
        read = &session.reads[position]
        # The value may be of an earlier request with another version. A response of a version without flexible fields
        # has no field for a diverging epoch.
        last_fetched_epoch = entry.asked.last_fetched_epoch if fetch.flexible else NO_LEADER_EPOCH
        if entry.partition == NULL:
            # The partition has left this broker since the request arrived.
            read.error = NOT_LEADER_OR_FOLLOWER
        else:
            (<Partition>entry.partition).read_from_leader(
                entry.asked.offset, min(<int64_t>entry.asked.max_bytes, left), fetch.isolation, fetch.size_bytes == 0,
                entry.asked.leader_epoch, last_fetched_epoch, read)
        entry.segment_base_offset = read.segment_base_offset
        entry.position = read.position
        fetch.failed |= read.error != NONE or read.diverges
        fetch.size_bytes += read.size_bytes
        left = max(<int64_t>0, left - read.size_bytes)
    return True


cdef Disposition write_answer(IncrementalFetch* fetch, Response* response) noexcept nogil:
    cdef FetchSession* session = fetch.session
    cdef FetchAnswer answer = answer_to(fetch, response)
    cdef SessionPartition* entry
    cdef int32_t position
    cdef int32_t first, end
    answer.throttle_ms = charge_fetch(&fetch.charge, (<SocketServer>fetch.server).quotas, count_read(session),
                                      fetch.size_bytes)
    if answer.throttle_ms:
        # Do not update the session: the partitions stay active and are read again.
        return answer_error(&answer, fetch.correlation_id, NONE, session.id)
    tell_news(session)
    first = next_answered(session, 0)
    begin_answer(&answer, fetch.correlation_id, NONE, session.id, count_topics(session))
    while first < session.active_count:
        entry = session.active[first]
        begin_topic(&answer, entry.name, entry.name_size, count_partitions(session, first, &end))
        for position in range(first, end):
            if session.active[position].answered:
                entry = session.active[position]
                put_partition(&answer, entry.asked.index, entry.partition, &session.reads[position])
        end_topic(&answer)
        first = next_answered(session, end)
    return finish_answer(&answer)


cdef int32_t count_read(const FetchSession* session) noexcept nogil:
    """The number of partitions with records."""
    cdef int32_t position
    cdef int32_t count = 0
    for position in range(session.active_count):
        count += session.reads[position].size_bytes > 0
    return count


cdef void tell_news(FetchSession* session) noexcept nogil:
    """Decides which partitions the response includes."""
    cdef SessionPartition* entry
    cdef const ReadResult* read
    cdef int32_t position
    cdef bint failed
    for position in range(session.active_count):
        entry = session.active[position]
        read = &session.reads[position]
        failed = read.error != NONE
        entry.answered = session_tell(entry, -1 if failed else read.high_watermark,
                                      -1 if failed else read.log_start_offset, read.size_bytes, read.error, read.diverges)


cdef inline int32_t next_answered(const FetchSession* session, int32_t position) noexcept nogil:
    while position < session.active_count and not session.active[position].answered:
        position += 1
    return position


cdef int32_t count_partitions(const FetchSession* session, int32_t first, int32_t* end) noexcept nogil:
    """Counts the included partitions of consecutive entries of one topic, from `first` to before `end`."""
    cdef int32_t position = first
    cdef int32_t count = 0
    while position < session.active_count and session_same_topic(session.active[first], session.active[position]):
        count += session.active[position].answered
        position = next_answered(session, position + 1)
    end[0] = position
    return count


cdef int32_t count_topics(const FetchSession* session) noexcept nogil:
    cdef int32_t first = next_answered(session, 0)
    cdef int32_t count = 0
    while first < session.active_count:
        count_partitions(session, first, &first)
        count += 1
    return count


# --- delayed requests -------------------------------------------------------------------------------------------------


cdef bint has_enough(DelayedOperation* operation) noexcept nogil:
    cdef IncrementalFetch* fetch = <IncrementalFetch*>operation
    cdef FetchSession* session = fetch.session
    cdef bint enough
    pthread_mutex_lock(&session.lock)
    enough = session.epoch != fetch.expected_epoch or is_enough(fetch)
    pthread_mutex_unlock(&session.lock)
    return enough


cdef bint is_enough(const IncrementalFetch* fetch) noexcept nogil:
    """Counts the readable bytes from where the reads stopped; reads nothing (Kafka's `DelayedFetch.tryComplete`)."""
    cdef FetchSession* session = fetch.session
    cdef const SessionPartition* entry
    cdef int32_t position
    cdef int64_t readable = 0
    if not session_gather(session):
        return False
    for position in range(session.active_count):
        entry = session.active[position]
        if (entry.partition == NULL
                or (<Partition>entry.partition).check_leadership(entry.asked.leader_epoch) != NONE):
            return True
        readable += min(<int64_t>entry.asked.max_bytes, readable_log_bytes(
            (<Partition>entry.partition).log, entry.segment_base_offset, entry.position, fetch.isolation))
        if readable >= fetch.min_bytes:
            return True
    return False


cdef void answer_delayed(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef IncrementalFetch* fetch = <IncrementalFetch*>operation
    cdef FetchSession* session = fetch.session
    cdef Disposition disposition = CLOSE
    cdef Response response
    response_init(&response)
    session_end_waiting(session)
    pthread_mutex_lock(&session.lock)
    if session.epoch != fetch.expected_epoch:
        disposition = refuse(fetch, INVALID_FETCH_SESSION_EPOCH, session.id, &response)
    elif read_active(fetch):
        disposition = write_answer(fetch, &response)
        session_release_reads(session)
        session_settle(session)
    pthread_mutex_unlock(&session.lock)
    # The operation may stay on watch lists for a long time, but must not hold the session.
    fetch.session = NULL
    session_release(session)
    charge_end(&fetch.charge, (<SocketServer>fetch.server).quotas)
    response.close_after = disposition != RESPONDED
    (<SocketServer>fetch.server).respond(fetch.connection, &response)


# --- responses without partitions -------------------------------------------------------------------------------------


cdef FetchAnswer answer_to(const IncrementalFetch* fetch, Response* response) noexcept nogil:
    cdef FetchAnswer answer
    memset(&answer, 0, sizeof(FetchAnswer))
    answer.version = fetch.version
    answer.flexible = fetch.flexible
    answer.by_id = fetch.session != NULL and fetch.session.by_id
    answer.isolation = fetch.isolation
    answer.server = fetch.server
    answer.response = response
    return answer


cdef Disposition refuse(IncrementalFetch* fetch, int16_t error, int32_t session_id,
                        Response* response) noexcept nogil:
    cdef FetchAnswer answer = answer_to(fetch, response)
    answer.throttle_ms = charge_fetch(&fetch.charge, (<SocketServer>fetch.server).quotas, 0, 0)
    return answer_error(&answer, fetch.correlation_id, error, session_id)
