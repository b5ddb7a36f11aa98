"""Fetch requests of versions 4 to 17, read and answered without the GIL.

This module handles full fetch requests: those without a session, and those that open one. `incremental_fetch.pyx`
handles the others. Records are not copied: the response has ranges of segment files, which the processor sends with
sendfile. A request that finds fewer bytes than `min_bytes` waits in the fetch purgatory under the keys of its
partitions. An append, a change of leadership or its timeout completes it, and the partitions are read again.

Requests of followers, with unknown partitions, or that the reader refuses go to `handlers/fetch.py` before anything is
read.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from kcore.errors cimport NONE
from kcore.network.dispatch cimport CLOSE, DELAYED, TO_HANDLER, DispatchEntry, Disposition, NativeRequest
from kcore.network.response cimport Response, response_init
from kcore.network.socket_server cimport SocketServer
from kcore.platform.sync cimport pthread_mutex_lock, pthread_mutex_unlock
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.replication.partition cimport Partition
from kcore.replication.partition_wait cimport wait_for_partitions
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_answer cimport (
    FetchAnswer, answer_error, begin_answer, begin_topic, end_topic, finish_answer, put_partition,
)
from kcore.server.fast_path.fetch_request cimport (
    FetchPartition, FetchRequest, FetchTopic, free_fetch_request, read_fetch_request,
)
from kcore.server.fast_path.fetch_session cimport (
    FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, FetchSession, SessionPartition, session_adopt, session_ask, session_new,
    session_release, session_tell,
)
from kcore.server.fast_path.incremental_fetch cimport fetch_incrementally
from kcore.server.fast_path.session_cache cimport FetchSessionCache
from kcore.server.fast_path.throttling cimport (
    QuotaCharge, charge_begin, charge_end, charge_fetch, charge_most_bytes, charge_pause,
)
from kcore.storage.log cimport ISOLATION_HIGH_WATERMARK, ISOLATION_TXN_COMMITTED, ReadResult
from kcore.storage.log_read cimport readable_log_bytes
from kcore.storage.log_read cimport release_read

cdef enum:
    FETCH_KEY = 1
    FIRST_VERSION = 4
    LAST_VERSION = 17
    FIRST_FLEXIBLE = 12
    FIRST_WITH_SESSION = 7
    CONSUMER = -1
    READ_COMMITTED = 1


cdef class FetchPath:
    """The native handler of Fetch. `install` adds it to the server's dispatch table.

    `fetch_max_bytes` is the broker's bound on one response (`fetch.max.bytes`).
    """

    def __init__(self, ReplicaManager replicas not None, SocketServer server not None,
                 FetchSessionCache sessions not None, int fetch_max_bytes):
        self.replicas = replicas
        self.sessions = sessions
        self.server = server
        self.fetch_max_bytes = fetch_max_bytes

    def install(self):
        """Lets the processors answer Fetch. This object must outlive them."""
        cdef DispatchEntry* entry = &self.server.dispatch.entries[FETCH_KEY]
        entry.context = <void*>self
        entry.min_version = FIRST_VERSION
        entry.max_version = LAST_VERSION
        entry.first_flexible = FIRST_FLEXIBLE
        entry.handle = handle_fetch

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil:
        cdef FetchRequest asked
        cdef QuotaCharge charge
        cdef Disposition disposition = TO_HANDLER
        cdef int isolation
        if (read_fetch_request(request.frame + request.body, request.size - request.body, request.api_version, &asked)
                and asked.replica_id == CONSUMER):
            charge_begin(&charge, self.server.quotas, request)
            asked.max_bytes = min(asked.max_bytes, self.fetch_max_bytes,
                                  charge_most_bytes(&charge, self.server.quotas))
            asked.min_bytes = min(asked.min_bytes, asked.max_bytes)
            isolation = (ISOLATION_TXN_COMMITTED if asked.isolation_level == READ_COMMITTED
                         else ISOLATION_HIGH_WATERMARK)
            if asked.session_epoch == INITIAL_EPOCH or asked.session_epoch == FINAL_EPOCH:
                # fetch_all takes ownership of the request and the charge.
                return self.fetch_all(request, &asked, isolation, &charge, response)
            disposition = fetch_incrementally(self.sessions, self.server, request, &asked, isolation, &charge, response)
        free_fetch_request(&asked)
        return disposition

    cdef Disposition fetch_all(self, NativeRequest* request, const FetchRequest* asked, int isolation,
                               const QuotaCharge* charge, Response* response) noexcept nogil:
        cdef Fetch* fetch = new_fetch(<void*>self, request, asked, isolation, charge)
        cdef Disposition disposition
        if fetch == NULL:
            return CLOSE
        if not pin_all(self.replicas, fetch):
            free_fetch(&fetch.operation)
            return TO_HANDLER
        if asked.session_id != NO_SESSION:
            self.sessions.remove(asked.session_id)
        read_partitions(fetch)
        if is_satisfied(fetch):
            disposition = write_answer(fetch, response)
            free_fetch(&fetch.operation)
            return disposition
        release_reads(fetch)
        charge_pause(&fetch.charge, self.server.quotas)
        return self.wait(fetch)

    cdef Disposition wait(self, Fetch* fetch) noexcept nogil:
        if not keep_names(fetch) or not wait_for_partitions(
                self.replicas.fetch_purgatory, &fetch.operation, fetch.partitions, sizeof(void*),
                fetch.request.partition_count, fetch.request.max_wait_ms):
            free_fetch(&fetch.operation)
            return CLOSE
        return DELAYED

    cdef int32_t open_session(self, Fetch* fetch) noexcept nogil:
        """Opens a session with the partitions of this response. NO_SESSION if none is wanted or the cache is full."""
        cdef FetchSession* session
        cdef bint remembered
        if (fetch.request.version < FIRST_WITH_SESSION or fetch.request.session_epoch != INITIAL_EPOCH
                or not self.sessions.admits(False, fetch.request.partition_count)):
            return NO_SESSION
        session = session_new(fetch.request.by_id, False, fetch.request.partition_count)
        if session == NULL:
            return NO_SESSION
        pthread_mutex_lock(&session.lock)
        remembered = remember_all(fetch, session)
        pthread_mutex_unlock(&session.lock)
        if not remembered:
            session_release(session)
            return NO_SESSION
        return self.sessions.insert(session)


cdef Disposition handle_fetch(void* context, NativeRequest* request, Response* response) noexcept nogil:
    return (<FetchPath>context).handle(request, response)


cdef Fetch* new_fetch(void* path, const NativeRequest* request, const FetchRequest* asked, int isolation,
                      const QuotaCharge* charge) noexcept nogil:
    """Takes ownership of `asked` and `charge`. NULL if memory is exhausted; both are then released."""
    cdef Fetch* fetch = <Fetch*>calloc(1, sizeof(Fetch))
    cdef FetchRequest lost = asked[0]
    cdef QuotaCharge lost_charge = charge[0]
    cdef size_t count = max(1, asked.partition_count)
    if fetch == NULL:
        free_fetch_request(&lost)
        charge_end(&lost_charge, (<FetchPath>path).server.quotas)
        return NULL
    fetch.path = path
    fetch.connection = request.connection
    fetch.correlation_id = request.correlation_id
    fetch.operation.try_complete = has_enough
    fetch.operation.complete = answer_delayed
    fetch.operation.release = free_fetch
    fetch.request = asked[0]
    fetch.charge = charge[0]
    fetch.isolation = isolation
    fetch.partitions = <void**>calloc(count, sizeof(void*))
    fetch.reads = <ReadResult*>calloc(count, sizeof(ReadResult))
    if fetch.partitions == NULL or fetch.reads == NULL:
        free_fetch(&fetch.operation)
        return NULL
    return fetch


cdef bint pin_all(ReplicaManager replicas, Fetch* fetch) noexcept nogil:
    cdef int32_t topic_position, position
    cdef const FetchTopic* topic
    cdef const FetchPartition* wanted
    for topic_position in range(fetch.request.topic_count):
        topic = &fetch.request.topics[topic_position]
        for position in range(topic.first, topic.first + topic.count):
            wanted = &fetch.request.partitions[position]
            if fetch.request.by_id:
                fetch.partitions[position] = replicas.pin_by_id(topic.name, wanted.index)
            else:
                fetch.partitions[position] = replicas.pin_by_name(topic.name, topic.name_size, wanted.index)
            if fetch.partitions[position] == NULL:
                return False
    return True


cdef void read_partitions(Fetch* fetch) noexcept nogil:
    """Reads in the order of the request. The first partition with records returns a whole batch despite the bounds."""
    cdef int32_t position
    cdef int64_t left = fetch.request.max_bytes
    cdef ReadResult* read
    cdef const FetchPartition* wanted
    fetch.size_bytes = 0
    fetch.failed = False
    for position in range(fetch.request.partition_count):
        wanted = &fetch.request.partitions[position]
        read = &fetch.reads[position]
        (<Partition>fetch.partitions[position]).read_from_leader(
            wanted.offset, min(<int64_t>wanted.max_bytes, left), fetch.isolation, fetch.size_bytes == 0,
            wanted.leader_epoch, wanted.last_fetched_epoch, read)
        fetch.failed |= read.error != NONE or read.diverges
        fetch.size_bytes += read.size_bytes
        left = max(<int64_t>0, left - read.size_bytes)


cdef void release_reads(Fetch* fetch) noexcept nogil:
    cdef int32_t position
    if fetch.reads == NULL:
        return
    for position in range(fetch.request.partition_count):
        release_read(&fetch.reads[position])


cdef inline bint is_satisfied(const Fetch* fetch) noexcept nogil:
    return (fetch.failed or fetch.size_bytes >= fetch.request.min_bytes or fetch.request.max_wait_ms <= 0
            or fetch.request.partition_count == 0)


cdef bint has_enough(DelayedOperation* operation) noexcept nogil:
    """Counts the readable bytes from where the reads stopped; reads nothing (Kafka's `DelayedFetch.tryComplete`)."""
    cdef Fetch* fetch = <Fetch*>operation
    cdef const FetchPartition* wanted
    cdef const ReadResult* read
    cdef int32_t position
    cdef int64_t readable = 0
    for position in range(fetch.request.partition_count):
        wanted = &fetch.request.partitions[position]
        read = &fetch.reads[position]
        if (<Partition>fetch.partitions[position]).check_leadership(wanted.leader_epoch) != NONE:
            return True
        readable += min(<int64_t>wanted.max_bytes, readable_log_bytes(
            (<Partition>fetch.partitions[position]).log, read.segment_base_offset, read.position, fetch.isolation))
        if readable >= fetch.request.min_bytes:
            return True
    return False


cdef void answer_delayed(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef Fetch* fetch = <Fetch*>operation
    cdef Response response
    response_init(&response)
    read_partitions(fetch)
    if write_answer(fetch, &response) == CLOSE:
        response.close_after = True
    # The operation may stay on watch lists for a long time, but must not keep segments pinned.
    release_reads(fetch)
    charge_end(&fetch.charge, (<FetchPath>fetch.path).server.quotas)
    (<FetchPath>fetch.path).server.respond(fetch.connection, &response)


cdef bint keep_names(Fetch* fetch) noexcept nogil:
    """Copies the topic names out of the receive buffer, which is reused before the response is written."""
    cdef size_t size = 1
    cdef int32_t position
    cdef uint8_t* target
    for position in range(fetch.request.topic_count):
        size += fetch.request.topics[position].name_size
    fetch.names = target = <uint8_t*>malloc(size)
    if target == NULL:
        return False
    for position in range(fetch.request.topic_count):
        memcpy(target, fetch.request.topics[position].name, fetch.request.topics[position].name_size)
        fetch.request.topics[position].name = target
        target += fetch.request.topics[position].name_size
    return True


cdef void free_fetch(DelayedOperation* operation) noexcept nogil:
    cdef Fetch* fetch = <Fetch*>operation
    cdef int32_t position
    release_reads(fetch)
    if fetch.partitions != NULL:
        for position in range(fetch.request.partition_count):
            if fetch.partitions[position] != NULL:
                (<Partition>fetch.partitions[position]).unpin()
    free(fetch.partitions)
    free(fetch.reads)
    free(fetch.names)
    free_fetch_request(&fetch.request)
    charge_end(&fetch.charge, (<FetchPath>fetch.path).server.quotas)
    free(fetch)


# --- the response ---------------------------------------------------------------------------------------------------


cdef Disposition write_answer(Fetch* fetch, Response* response) noexcept nogil:
    cdef FetchAnswer answer
    cdef const FetchTopic* topic
    cdef int32_t topic_position, position
    answer.version = fetch.request.version
    answer.flexible = fetch.request.flexible
    answer.by_id = fetch.request.by_id
    answer.isolation = fetch.isolation
    answer.server = <void*>(<FetchPath>fetch.path).server
    answer.response = response
    answer.throttle_ms = charge_fetch(&fetch.charge, (<FetchPath>fetch.path).server.quotas,
                                      count_read(fetch), fetch.size_bytes)
    if answer.throttle_ms:
        # Send neither records nor a session: the client repeats the whole request.
        return answer_error(&answer, fetch.correlation_id, NONE, NO_SESSION)
    begin_answer(&answer, fetch.correlation_id, NONE, (<FetchPath>fetch.path).open_session(fetch),
                 fetch.request.topic_count)
    for topic_position in range(fetch.request.topic_count):
        topic = &fetch.request.topics[topic_position]
        begin_topic(&answer, topic.name, topic.name_size, topic.count)
        for position in range(topic.first, topic.first + topic.count):
            put_partition(&answer, fetch.request.partitions[position].index, fetch.partitions[position],
                          &fetch.reads[position])
        end_topic(&answer)
    return finish_answer(&answer)


cdef int32_t count_read(const Fetch* fetch) noexcept nogil:
    """The number of partitions with records."""
    cdef int32_t position
    cdef int32_t count = 0
    for position in range(fetch.request.partition_count):
        count += fetch.reads[position].size_bytes > 0
    return count


cdef bint remember_all(Fetch* fetch, FetchSession* session) noexcept nogil:
    cdef int32_t topic_position, position
    cdef const FetchTopic* topic
    cdef const ReadResult* read
    cdef SessionPartition* entry
    cdef bint failed
    session.isolation = fetch.isolation
    for topic_position in range(fetch.request.topic_count):
        topic = &fetch.request.topics[topic_position]
        for position in range(topic.first, topic.first + topic.count):
            entry = session_ask(session, topic.name, topic.name_size, &fetch.request.partitions[position])
            if entry == NULL:
                return False
            if entry.partition == NULL:
                session_adopt(entry, (<Partition>fetch.partitions[position]).pin())
            read = &fetch.reads[position]
            failed = read.error != NONE
            session_tell(entry, -1 if failed else read.high_watermark, -1 if failed else read.log_start_offset,
                         0, read.error, read.diverges)
    return True
