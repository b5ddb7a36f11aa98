"""Fetch requests of versions 4 to 17, read and answered without the GIL.

What is readable is named as ranges of segment files, which the processor sends with sendfile; nothing is copied here. A
request that finds less than it wants waits in the fetch purgatory under the keys of its partitions, and is read again
when an append, a change of leadership or its time-out wakes it.

Left to `handlers/fetch.py` before anything was read: followers, fetch sessions, unknown partitions, and requests that the
reader refuses.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from kcore.errors cimport NONE
from kcore.network.dispatch cimport CLOSE, DELAYED, RESPONDED, TO_HANDLER, DispatchEntry, Disposition, NativeRequest
from kcore.network.response cimport Response, response_bytes, response_file, response_free, response_init
from kcore.network.socket_server cimport SocketServer
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.replication.partition cimport Partition
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.server.fast_path.fetch_request cimport (
    FetchPartition, FetchTopic, free_fetch_request, read_fetch_request,
)
from kcore.server.fast_path.output cimport (
    Output, output_free, put_array_size, put_bytes, put_int16, put_int32, put_int64, put_no_tags, put_string,
    put_unsigned_varint,
)
from kcore.storage.log cimport ISOLATION_HIGH_WATERMARK, ISOLATION_TXN_COMMITTED, ReadResult
from kcore.storage.segment cimport LogSegment, segment_release

cdef enum:
    FETCH_KEY = 1
    FIRST_VERSION = 4
    LAST_VERSION = 17
    FIRST_FLEXIBLE = 12
    FIRST_WITH_LOG_START_OFFSET = 5
    FIRST_WITH_SESSION = 7
    FIRST_WITH_PREFERRED_REPLICA = 11
    CONSUMER = -1
    NO_SESSION = 0
    READ_COMMITTED = 1


cdef class FetchPath:
    """The native handler of Fetch; `install` puts it into the server's dispatch table.

    Parameters: `fetch_max_bytes` the broker's own bound on one answer (`fetch.max.bytes`).
    """

    def __init__(self, ReplicaManager replicas not None, SocketServer server not None, int fetch_max_bytes):
        self.replicas = replicas
        self.server = server
        self.fetch_max_bytes = fetch_max_bytes

    def install(self):
        """Lets the processors answer Fetch; keep this object for as long as they run."""
        cdef DispatchEntry* entry = &self.server.dispatch.entries[FETCH_KEY]
        entry.context = <void*>self
        entry.min_version = FIRST_VERSION
        entry.max_version = LAST_VERSION
        entry.first_flexible = FIRST_FLEXIBLE
        entry.handle = handle_fetch

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil:
        cdef Fetch* fetch = <Fetch*>calloc(1, sizeof(Fetch))
        cdef Disposition disposition
        if fetch == NULL:
            return CLOSE
        if not self.take_on(request, fetch):
            free_fetch(&fetch.operation)
            return TO_HANDLER
        read_partitions(fetch)
        if is_satisfied(fetch):
            disposition = write_answer(fetch, response)
            free_fetch(&fetch.operation)
            return disposition
        release_reads(fetch)
        return self.wait(fetch)

    cdef bint take_on(self, NativeRequest* request, Fetch* fetch) noexcept nogil:
        """Reads the request and pins its partitions; False when it is not for this path."""
        cdef int32_t count
        fetch.path = <void*>self
        fetch.connection = request.connection
        fetch.correlation_id = request.correlation_id
        fetch.operation.try_complete = has_enough
        fetch.operation.complete = answer_delayed
        fetch.operation.release = free_fetch
        if not read_fetch_request(request.frame + request.body, request.size - request.body, request.api_version,
                                  &fetch.request):
            return False
        if (fetch.request.replica_id != CONSUMER or fetch.request.session_id != NO_SESSION
                or fetch.request.session_epoch > 0):
            return False
        fetch.isolation = (ISOLATION_TXN_COMMITTED if fetch.request.isolation_level == READ_COMMITTED
                           else ISOLATION_HIGH_WATERMARK)
        fetch.request.max_bytes = min(fetch.request.max_bytes, self.fetch_max_bytes)
        fetch.request.min_bytes = min(fetch.request.min_bytes, fetch.request.max_bytes)
        count = max(1, fetch.request.partition_count)
        fetch.partitions = <void**>calloc(count, sizeof(void*))
        fetch.reads = <ReadResult*>calloc(count, sizeof(ReadResult))
        return fetch.partitions != NULL and fetch.reads != NULL and pin_all(self.replicas, fetch)

    cdef Disposition wait(self, Fetch* fetch) noexcept nogil:
        cdef int32_t count = fetch.request.partition_count
        cdef uint64_t* keys = <uint64_t*>malloc(count * sizeof(uint64_t))
        cdef int32_t position
        if keys == NULL or not keep_names(fetch):
            free(keys)
            free_fetch(&fetch.operation)
            return CLOSE
        for position in range(count):
            keys[position] = (<Partition>fetch.partitions[position]).key
        self.replicas.fetch_purgatory.try_complete_else_watch(&fetch.operation, keys, count, fetch.request.max_wait_ms)
        free(keys)
        return DELAYED


cdef Disposition handle_fetch(void* context, NativeRequest* request, Response* response) noexcept nogil:
    return (<FetchPath>context).handle(request, response)


cdef bint pin_all(ReplicaManager replicas, Fetch* fetch) noexcept nogil:
    cdef int32_t topic_position, position
    cdef const FetchTopic* topic
    cdef const FetchPartition* wanted
    for topic_position in range(fetch.request.topic_count):
        topic = &fetch.request.topics[topic_position]
        for position in range(topic.first, topic.first + topic.count):
            wanted = &fetch.request.partitions[position]
            if wanted.last_fetched_epoch != -1:
                return False
            if fetch.request.by_id:
                fetch.partitions[position] = replicas.pin_by_id(topic.name, wanted.index)
            else:
                fetch.partitions[position] = replicas.pin_by_name(topic.name, topic.name_size, wanted.index)
            if fetch.partitions[position] == NULL:
                return False
    return True


cdef void read_partitions(Fetch* fetch) noexcept nogil:
    """Reads in the order of the request: the first partition with records gives a whole batch whatever the bounds."""
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
            wanted.leader_epoch, read)
        fetch.failed |= read.error != NONE
        fetch.size_bytes += read.size_bytes
        left = max(<int64_t>0, left - read.size_bytes)


cdef void release_reads(Fetch* fetch) noexcept nogil:
    cdef int32_t position
    if fetch.reads == NULL:
        return
    for position in range(fetch.request.partition_count):
        if fetch.reads[position].segment != NULL:
            segment_release(fetch.reads[position].segment)
            fetch.reads[position].segment = NULL


cdef inline bint is_satisfied(const Fetch* fetch) noexcept nogil:
    return (fetch.failed or fetch.size_bytes >= fetch.request.min_bytes or fetch.request.max_wait_ms <= 0
            or fetch.request.partition_count == 0)


cdef bint has_enough(DelayedOperation* operation) noexcept nogil:
    """From where the first read stopped, without reading again (Kafka's `DelayedFetch.tryComplete`)."""
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
        readable += min(<int64_t>wanted.max_bytes, (<Partition>fetch.partitions[position]).log.readable_bytes(
            read.segment_base_offset, read.position, fetch.isolation))
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
    # The operation may stay on watch lists for long after this; segments may not.
    release_reads(fetch)
    (<FetchPath>fetch.path).server.respond(fetch.connection, &response)


cdef bint keep_names(Fetch* fetch) noexcept nogil:
    """Copies what the request borrows from the receive buffer, which is gone before the answer is written."""
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
    free(fetch)


# --- the answer -----------------------------------------------------------------------------------------------------


cdef Disposition write_answer(Fetch* fetch, Response* response) noexcept nogil:
    cdef Output output = Output(NULL, 0, 0, False)
    cdef int16_t version = fetch.request.version
    cdef bint flexible = fetch.request.flexible
    cdef int32_t position
    put_int32(&output, fetch.correlation_id)
    put_no_tags(&output, flexible)
    put_int32(&output, 0)  # throttle time
    if version >= FIRST_WITH_SESSION:
        put_int16(&output, NONE)
        put_int32(&output, NO_SESSION)
    put_array_size(&output, fetch.request.topic_count, flexible)
    for position in range(fetch.request.topic_count):
        write_topic(fetch, &fetch.request.topics[position], &output, response)
    put_no_tags(&output, flexible)
    move_to_response(&output, response)
    cdef bint failed = output.failed
    output_free(&output)
    if failed:
        response_free(response)
        response_init(response)
        return CLOSE
    return RESPONDED


cdef void write_topic(Fetch* fetch, const FetchTopic* topic, Output* output, Response* response) noexcept nogil:
    cdef bint flexible = fetch.request.flexible
    cdef int32_t position
    if fetch.request.by_id:
        put_bytes(output, topic.name, topic.name_size)
    else:
        put_string(output, topic.name, topic.name_size, flexible)
    put_array_size(output, topic.count, flexible)
    for position in range(topic.first, topic.first + topic.count):
        write_partition(fetch, position, output)
        write_records(&fetch.reads[position], flexible, output, response)
        put_no_tags(output, flexible)
    put_no_tags(output, flexible)


cdef void write_partition(const Fetch* fetch, int32_t position, Output* output) noexcept nogil:
    """Everything of a partition's answer that stands before its records."""
    cdef const ReadResult* read = &fetch.reads[position]
    cdef bint failed = read.error != NONE
    put_int32(output, fetch.request.partitions[position].index)
    put_int16(output, read.error)
    put_int64(output, -1 if failed else read.high_watermark)
    put_int64(output, -1 if failed else read.last_stable_offset)
    if fetch.request.version >= FIRST_WITH_LOG_START_OFFSET:
        put_int64(output, -1 if failed else read.log_start_offset)
    if failed or fetch.isolation != ISOLATION_TXN_COMMITTED:
        put_array_size(output, -1, fetch.request.flexible)  # aborted transactions: null
    else:
        put_array_size(output, 0, fetch.request.flexible)
    if fetch.request.version >= FIRST_WITH_PREFERRED_REPLICA:
        put_int32(output, -1)


cdef void write_records(ReadResult* read, bint flexible, Output* output, Response* response) noexcept nogil:
    if flexible:
        put_unsigned_varint(output, <unsigned int>read.size_bytes + 1)
    else:
        put_int32(output, <int32_t>read.size_bytes)
    if read.size_bytes == 0:
        return
    move_to_response(output, response)
    if response_file(response, read.segment.descriptor, read.position, read.size_bytes, release_segment, read.segment):
        read.segment = NULL  # the response has the pin now
    else:
        output.failed = True


cdef void release_segment(void* segment) noexcept nogil:
    segment_release(<LogSegment*>segment)


cdef void move_to_response(Output* output, Response* response) noexcept nogil:
    cdef uint8_t* target
    if output.failed or output.size == 0:
        return
    target = response_bytes(response, output.size)
    if target == NULL:
        output.failed = True
        return
    memcpy(target, output.data, output.size)
    output.size = 0
