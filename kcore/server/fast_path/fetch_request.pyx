"""The native reader of fetch requests, versions 4 to 17. The format is in `kcore/protocol/schemas`:

    replica_id(-14) max_wait_ms min_bytes max_bytes isolation_level session_id(7+) session_epoch(7+)
    [topic: name(-12) or id(13+) [partition: index leader_epoch(9+) offset last_fetched_epoch(12+) log_start_offset(5+)
    max_bytes]] [forgotten(7+): name or id [index]] rack_id(11+)

From version 12 on, lengths are compact and every structure ends with tagged fields. Tag 0 of the request is the cluster
id, tag 1 the replica id and epoch (15+). Tag 0 of a partition is the follower's directory id (17+).
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from kcore.cursor cimport (
    Cursor, cursor_over, read_int8, read_int32, read_int64, read_unsigned_varint, remaining, take,
)
from kcore.protocol.fields cimport read_array_size, read_string, read_tagged_field, skip_tags
from kcore.server.fast_path.growing_array cimport grown

cdef enum:
    FIRST_WITH_LOG_START_OFFSET = 5
    FIRST_WITH_SESSION = 7
    FIRST_WITH_LEADER_EPOCH = 9
    FIRST_WITH_RACK = 11
    FIRST_FLEXIBLE = 12
    FIRST_BY_ID = 13
    FIRST_WITH_REPLICA_STATE = 15
    FIRST_WITH_DIRECTORY_ID = 17
    CLUSTER_ID_TAG = 0
    REPLICA_STATE_TAG = 1
    DIRECTORY_ID_TAG = 0         # of a partition
    UUID_SIZE = 16
    SMALLEST_TOPIC = 3           # bytes: empty compact name, compact array size, no tags
    SMALLEST_PARTITION = 16      # bytes: index, offset, max bytes
    SMALLEST_INDEX = 4


cdef bint read_fetch_request(const uint8_t* body, size_t size, int16_t version, FetchRequest* out) noexcept nogil:
    cdef Cursor cursor = cursor_over(body, size)
    cdef int32_t position, ignored
    memset(out, 0, sizeof(FetchRequest))
    out.version = version
    out.flexible = version >= FIRST_FLEXIBLE
    out.by_id = version >= FIRST_BY_ID
    out.session_epoch = -1
    out.replica_id = -1 if version >= FIRST_WITH_REPLICA_STATE else read_int32(&cursor)
    out.max_wait_ms = read_int32(&cursor)
    out.min_bytes = read_int32(&cursor)
    out.max_bytes = read_int32(&cursor)
    out.isolation_level = read_int8(&cursor)
    if version >= FIRST_WITH_SESSION:
        out.session_id = read_int32(&cursor)
        out.session_epoch = read_int32(&cursor)
    out.topic_count = read_array_size(&cursor, out.flexible, SMALLEST_TOPIC)
    if cursor.failed:
        return False
    out.topics = <FetchTopic*>calloc(max(1, out.topic_count), sizeof(FetchTopic))
    if out.topics == NULL:
        return False
    for position in range(out.topic_count):
        if not read_topic(&cursor, out, &out.topics[position]):
            return False
    if version >= FIRST_WITH_SESSION:
        if not read_forgotten_topics(&cursor, out):
            return False
    if version >= FIRST_WITH_RACK and read_string(&cursor, out.flexible, &ignored) == NULL:
        return False
    if out.flexible:
        read_request_tags(&cursor, out)
    return not cursor.failed and cursor.position == cursor.end


cdef bint read_topic(Cursor* cursor, FetchRequest* out, FetchTopic* topic) noexcept nogil:
    cdef int32_t position
    read_topic_name(cursor, out, topic)
    topic.first = out.partition_count
    topic.count = read_array_size(cursor, out.flexible, SMALLEST_PARTITION)
    if cursor.failed or topic.name == NULL or not grow_partitions(out, topic.count):
        return False
    for position in range(topic.count):
        read_partition(cursor, out, &out.partitions[topic.first + position])
    out.partition_count += topic.count
    skip_tags(cursor, out.flexible)
    return not cursor.failed


cdef inline void read_topic_name(Cursor* cursor, const FetchRequest* request, FetchTopic* topic) noexcept nogil:
    if request.by_id:
        topic.name = take(cursor, UUID_SIZE)
        topic.name_size = UUID_SIZE
    else:
        topic.name = read_string(cursor, request.flexible, &topic.name_size)


cdef void read_partition(Cursor* cursor, const FetchRequest* request, FetchPartition* out) noexcept nogil:
    out.index = read_int32(cursor)
    out.leader_epoch = read_int32(cursor) if request.version >= FIRST_WITH_LEADER_EPOCH else -1
    out.offset = read_int64(cursor)
    out.last_fetched_epoch = read_int32(cursor) if request.version >= FIRST_FLEXIBLE else -1
    if request.version >= FIRST_WITH_LOG_START_OFFSET:
        read_int64(cursor)  # log start offset of a follower
    out.max_bytes = read_int32(cursor)
    if request.version >= FIRST_WITH_DIRECTORY_ID:
        read_partition_tags(cursor)
    else:
        skip_tags(cursor, request.flexible)


cdef inline void read_partition_tags(Cursor* cursor) noexcept nogil:
    cdef uint32_t count = read_unsigned_varint(cursor)
    cdef Cursor field
    while count > 0 and not cursor.failed:
        if read_unsigned_varint(cursor) == DIRECTORY_ID_TAG:
            field = read_tagged_field(cursor)
            cursor.failed = cursor.failed or remaining(&field) != UUID_SIZE
        else:
            take(cursor, read_unsigned_varint(cursor))
        count -= 1


cdef bint read_forgotten_topics(Cursor* cursor, FetchRequest* out) noexcept nogil:
    cdef int32_t position
    out.forgotten_topic_count = read_array_size(cursor, out.flexible, SMALLEST_TOPIC)
    if cursor.failed:
        return False
    if out.forgotten_topic_count == 0:
        return True
    out.forgotten_topics = <FetchTopic*>calloc(out.forgotten_topic_count, sizeof(FetchTopic))
    if out.forgotten_topics == NULL:
        return False
    for position in range(out.forgotten_topic_count):
        if not read_forgotten_topic(cursor, out, &out.forgotten_topics[position]):
            return False
    return True


cdef bint read_forgotten_topic(Cursor* cursor, FetchRequest* out, FetchTopic* topic) noexcept nogil:
    cdef void* forgotten
    cdef int32_t position
    read_topic_name(cursor, out, topic)
    topic.first = out.forgotten_count
    topic.count = read_array_size(cursor, out.flexible, SMALLEST_INDEX)
    if cursor.failed or topic.name == NULL:
        return False
    forgotten = grown(out.forgotten, &out.forgotten_capacity, <int64_t>out.forgotten_count + topic.count,
                      sizeof(int32_t))
    if forgotten == NULL:
        return False
    out.forgotten = <int32_t*>forgotten
    for position in range(topic.count):
        out.forgotten[topic.first + position] = read_int32(cursor)
    out.forgotten_count += topic.count
    skip_tags(cursor, out.flexible)
    return not cursor.failed


cdef void read_request_tags(Cursor* cursor, FetchRequest* out) noexcept nogil:
    cdef uint32_t count = read_unsigned_varint(cursor)
    cdef uint32_t tag
    cdef int32_t ignored
    cdef Cursor field
    while count > 0 and not cursor.failed:
        tag = read_unsigned_varint(cursor)
        field = read_tagged_field(cursor)
        if tag == CLUSTER_ID_TAG:
            read_string(&field, True, &ignored)
        elif tag == REPLICA_STATE_TAG and out.version >= FIRST_WITH_REPLICA_STATE:
            out.replica_id = read_int32(&field)
            read_int64(&field)  # replica epoch
            skip_tags(&field, True)
        else:
            take(&field, <int64_t>remaining(&field))
        cursor.failed = cursor.failed or field.failed or remaining(&field) != 0
        count -= 1


cdef bint grow_partitions(FetchRequest* out, int32_t more) noexcept nogil:
    cdef void* partitions = grown(out.partitions, &out.partition_capacity, <int64_t>out.partition_count + more,
                                  sizeof(FetchPartition))
    if partitions != NULL:
        out.partitions = <FetchPartition*>partitions
    return partitions != NULL


cdef void free_fetch_request(FetchRequest* request) noexcept nogil:
    free(request.topics)
    free(request.partitions)
    free(request.forgotten_topics)
    free(request.forgotten)
    request.topics = request.forgotten_topics = NULL
    request.partitions = NULL
    request.forgotten = NULL


def parse_fetch_request(bytes body not None, int version):
    """Parses a request body with the native reader, for comparison with the codec. None if the reader refuses it.

    Returns a dict of the scalar fields, `topics` as [(name or id, [(index, leader_epoch, offset, last_fetched_epoch,
    max_bytes), ...]), ...], and `forgotten_topics` as [(name or id, [index, ...]), ...].
    """
    cdef FetchRequest request
    cdef FetchTopic* topic
    cdef FetchPartition* partition
    cdef int32_t position, inner
    parsed = None
    if read_fetch_request(<const uint8_t*><const char*>body, len(body), version, &request):
        topics = []
        for position in range(request.topic_count):
            topic = &request.topics[position]
            partitions = []
            for inner in range(topic.first, topic.first + topic.count):
                partition = &request.partitions[inner]
                partitions.append((partition.index, partition.leader_epoch, partition.offset,
                                   partition.last_fetched_epoch, partition.max_bytes))
            topics.append(((<const char*>topic.name)[:topic.name_size], partitions))
        forgotten_topics = []
        for position in range(request.forgotten_topic_count):
            topic = &request.forgotten_topics[position]
            indexes = [request.forgotten[inner] for inner in range(topic.first, topic.first + topic.count)]
            forgotten_topics.append(((<const char*>topic.name)[:topic.name_size], indexes))
        parsed = {
            "replica_id": request.replica_id, "max_wait_ms": request.max_wait_ms, "min_bytes": request.min_bytes,
            "max_bytes": request.max_bytes, "isolation_level": request.isolation_level,
            "session_id": request.session_id, "session_epoch": request.session_epoch, "topics": topics,
            "forgotten_topics": forgotten_topics,
        }
    free_fetch_request(&request)
    return parsed
