"""Encodes Fetch requests and decodes responses; see fetch_request.pxd for the grammar.

Concurrency: functions over buffers of the caller. Received bytes are read through the bounds-checked cursor. A count is
rejected if the remaining bytes cannot hold that many items.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset
from kcore.client.consumer.fetched_partition cimport AbortedTransaction
from kcore.client.network.client_request cimport REQUEST_HEAD_BYTES
from kcore.cursor cimport (
    Cursor, cursor_over, read_int8, read_int16, read_int32, read_int64, read_unsigned_varint, remaining, take,
)
from kcore.protocol.fields cimport (
    read_array_size, read_bytes, read_nullable_array_size, read_string, read_tagged_field, skip_tags,
)
from kcore.protocol.output cimport (
    Output, output_free, output_room, put_array_size, put_int8, put_int16, put_int32, put_int64, put_no_tags, put_raw,
    put_string,
)

cdef enum:
    FIRST_WITH_LOG_START_OFFSET = 5
    FIRST_WITH_LEADER_EPOCH = 9
    FIRST_WITH_RACK = 11
    FIRST_FLEXIBLE = 12
    FIRST_BY_ID = 13
    FIRST_WITH_REPLICA_STATE = 15
    FIRST_WITH_ENDPOINTS = 16
    CONSUMER_REPLICA_ID = -1
    NO_OFFSET = -1
    # Tags of a partition in the response, and of the response.
    DIVERGING_EPOCH_TAG = 0
    CURRENT_LEADER_TAG = 1
    ENDPOINTS_TAG = 0
    SMALLEST_TOPIC = 3             # compact name, size of a compact array, no tags
    SMALLEST_PARTITION = 22        # index, error, two offsets, a null array and null records in their shortest form
    SMALLEST_ABORTED = 16
    SMALLEST_ENDPOINT = 10


cdef inline bint is_flexible(int16_t version) noexcept nogil:
    return version >= FIRST_FLEXIBLE


# --- writing ---------------------------------------------------------------------------------------------------------


cdef void begin_fetch_request(Output* out, int16_t version, const FetchTerms* terms, int32_t max_bytes,
                              int32_t session_id, int32_t session_epoch, int32_t topic_count) noexcept nogil:
    cdef uint8_t* head
    out.size = 0
    head = output_room(out, REQUEST_HEAD_BYTES)
    if head != NULL:
        memset(head, 0, REQUEST_HEAD_BYTES)
    # The client id in the header is never compact, even in flexible versions.
    put_string(out, terms.client_id, terms.client_id_size, False)
    put_no_tags(out, is_flexible(version))
    if version < FIRST_WITH_REPLICA_STATE:
        put_int32(out, CONSUMER_REPLICA_ID)
    put_int32(out, terms.max_wait_ms)
    put_int32(out, terms.min_bytes)
    put_int32(out, max_bytes)
    put_int8(out, terms.isolation_level)
    if version >= FIRST_VERSION_WITH_SESSION:
        put_int32(out, session_id)
        put_int32(out, session_epoch)
    put_array_size(out, topic_count, is_flexible(version))


cdef void put_fetch_topic(Output* out, int16_t version, const uint8_t* name, int32_t name_size, const uint8_t* id,
                          int32_t partition_count) noexcept nogil:
    if version >= FIRST_BY_ID:
        put_raw(out, id, UUID_SIZE)
    else:
        put_string(out, name, name_size, is_flexible(version))
    put_array_size(out, partition_count, is_flexible(version))


cdef void put_fetch_partition(Output* out, int16_t version, int32_t index, int32_t leader_epoch, int64_t offset,
                              int32_t last_fetched_epoch, int32_t max_bytes) noexcept nogil:
    put_int32(out, index)
    if version >= FIRST_WITH_LEADER_EPOCH:
        put_int32(out, leader_epoch)
    put_int64(out, offset)
    if version >= FIRST_FLEXIBLE:
        put_int32(out, last_fetched_epoch)
    if version >= FIRST_WITH_LOG_START_OFFSET:
        put_int64(out, NO_OFFSET)
    put_int32(out, max_bytes)
    put_no_tags(out, is_flexible(version))


cdef void end_fetch_topic(Output* out, int16_t version) noexcept nogil:
    put_no_tags(out, is_flexible(version))


cdef void begin_forgotten_topics(Output* out, int16_t version, int32_t topic_count) noexcept nogil:
    if version >= FIRST_VERSION_WITH_SESSION:
        put_array_size(out, topic_count, is_flexible(version))


cdef void put_forgotten_partition(Output* out, int32_t index) noexcept nogil:
    put_int32(out, index)


cdef void end_fetch_request(Output* out, int16_t version, const FetchTerms* terms) noexcept nogil:
    if version >= FIRST_WITH_RACK:
        put_string(out, terms.rack, terms.rack_size, is_flexible(version))
    put_no_tags(out, is_flexible(version))


# --- reading ---------------------------------------------------------------------------------------------------------


cdef void read_fetch_answer(Cursor* cursor, int16_t version, FetchAnswer* answer) noexcept nogil:
    answer.throttle_time_ms = read_int32(cursor)
    answer.error_code = 0
    answer.session_id = NO_SESSION
    if version >= FIRST_VERSION_WITH_SESSION:
        answer.error_code = read_int16(cursor)
        answer.session_id = read_int32(cursor)
    answer.topic_count = read_array_size(cursor, is_flexible(version), SMALLEST_TOPIC)


cdef void next_answered_topic(Cursor* cursor, int16_t version, AnsweredTopic* topic) noexcept nogil:
    if version >= FIRST_BY_ID:
        topic.name = take(cursor, UUID_SIZE)
        topic.name_size = UUID_SIZE
    else:
        topic.name = read_string(cursor, is_flexible(version), &topic.name_size)
        if topic.name == NULL:
            cursor.failed = True
    topic.partition_count = read_array_size(cursor, is_flexible(version), SMALLEST_PARTITION)


cdef void next_answered_partition(Cursor* cursor, int16_t version, AnsweredPartition* partition) noexcept nogil:
    partition.index = read_int32(cursor)
    partition.error_code = read_int16(cursor)
    partition.high_watermark = read_int64(cursor)
    partition.last_stable_offset = read_int64(cursor)
    partition.log_start_offset = read_int64(cursor) if version >= FIRST_WITH_LOG_START_OFFSET else <int64_t>NO_OFFSET
    read_aborted(cursor, version, partition)
    partition.preferred_read_replica = read_int32(cursor) if version >= FIRST_WITH_RACK else <int32_t>-1
    partition.records = read_bytes(cursor, is_flexible(version), &partition.records_size)
    partition.diverging_epoch = partition.leader_id = partition.leader_epoch = -1
    partition.diverging_end_offset = NO_OFFSET
    if is_flexible(version):
        read_partition_tags(cursor, partition)


cdef void read_aborted(Cursor* cursor, int16_t version, AnsweredPartition* partition) noexcept nogil:
    """Store where the aborted transactions begin, and skip them."""
    cdef AbortedTransaction ignored
    cdef int32_t left = max(0, read_nullable_array_size(cursor, is_flexible(version), SMALLEST_ABORTED))
    partition.aborted_count = left
    partition.aborted = cursor[0]
    while left > 0 and not cursor.failed:
        next_aborted(cursor, version, &ignored)
        left -= 1


cdef void next_aborted(Cursor* aborted, int16_t version, AbortedTransaction* transaction) noexcept nogil:
    transaction.producer_id = read_int64(aborted)
    transaction.first_offset = read_int64(aborted)
    skip_tags(aborted, is_flexible(version))


cdef void read_partition_tags(Cursor* cursor, AnsweredPartition* partition) noexcept nogil:
    cdef uint32_t count = read_unsigned_varint(cursor)
    cdef uint32_t tag
    cdef Cursor field
    while count > 0 and not cursor.failed:
        tag = read_unsigned_varint(cursor)
        field = read_tagged_field(cursor)
        if tag == DIVERGING_EPOCH_TAG:
            partition.diverging_epoch = read_int32(&field)
            partition.diverging_end_offset = read_int64(&field)
        elif tag == CURRENT_LEADER_TAG:
            partition.leader_id = read_int32(&field)
            partition.leader_epoch = read_int32(&field)
        cursor.failed = cursor.failed or field.failed
        count -= 1


cdef void end_answered_topic(Cursor* cursor, int16_t version) noexcept nogil:
    skip_tags(cursor, is_flexible(version))


cdef int32_t end_fetch_answer(Cursor* cursor, int16_t version, Cursor* endpoints) noexcept nogil:
    cdef uint32_t count
    cdef uint32_t tag
    cdef int32_t found = 0
    cdef Cursor field
    endpoints[0] = cursor_over(cursor.end, 0)
    if not is_flexible(version):
        cursor.failed = cursor.failed or remaining(cursor) != 0
        return 0
    count = read_unsigned_varint(cursor)
    while count > 0 and not cursor.failed:
        tag = read_unsigned_varint(cursor)
        field = read_tagged_field(cursor)
        if tag == ENDPOINTS_TAG and version >= FIRST_WITH_ENDPOINTS:
            found = read_array_size(&field, is_flexible(version), SMALLEST_ENDPOINT)
            endpoints[0] = field
        cursor.failed = cursor.failed or field.failed
        count -= 1
    cursor.failed = cursor.failed or remaining(cursor) != 0
    return found


cdef void next_endpoint(Cursor* endpoints, NodeEndpoint* endpoint) noexcept nogil:
    cdef int32_t rack_size
    endpoint.node_id = read_int32(endpoints)
    endpoint.host = read_string(endpoints, True, &endpoint.host_size)
    endpoint.port = read_int32(endpoints)
    read_string(endpoints, True, &rack_size)
    skip_tags(endpoints, True)
    if endpoint.host == NULL:
        endpoints.failed = True


# --- for comparison with the codec -----------------------------------------------------------------------------------


def encode_fetch_request(int version, *, client_id=None, str rack not None="", int max_wait_ms=500, int min_bytes=1,
                         int max_bytes=52428800, int isolation_level=0, int session_id=0, int session_epoch=-1,
                         topics=(), forgotten=()):
    """Encode a request frame with an empty head.

    `topics` are (name, id, [(index, leader_epoch, offset, last_fetched_epoch, max_bytes), ...]). `forgotten` are (name,
    id, [index, ...]). Ids are 16 bytes.
    """
    cdef Output out
    cdef FetchTerms terms
    cdef bytes name
    cdef bytes client = b"" if client_id is None else client_id.encode()
    cdef bytes rack_bytes = rack.encode()
    memset(&out, 0, sizeof(out))
    terms.client_id = <const uint8_t*><const char*>client
    terms.client_id_size = -1 if client_id is None else <int32_t>len(client)
    terms.rack = <const uint8_t*><const char*>rack_bytes
    terms.rack_size = <int32_t>len(rack_bytes)
    terms.max_wait_ms = max_wait_ms
    terms.min_bytes = min_bytes
    terms.isolation_level = <int8_t>isolation_level
    begin_fetch_request(&out, version, &terms, max_bytes, session_id, session_epoch, <int32_t>len(topics))
    for text, topic_id, partitions in topics:
        name = text.encode()
        put_fetch_topic(&out, version, <const uint8_t*><const char*>name, <int32_t>len(name),
                        <const uint8_t*><const char*>topic_id, <int32_t>len(partitions))
        for index, leader_epoch, offset, last_fetched_epoch, partition_max_bytes in partitions:
            put_fetch_partition(&out, version, index, leader_epoch, offset, last_fetched_epoch, partition_max_bytes)
        end_fetch_topic(&out, version)
    begin_forgotten_topics(&out, version, <int32_t>len(forgotten))
    for text, topic_id, indexes in forgotten if version >= FIRST_VERSION_WITH_SESSION else ():
        name = text.encode()
        put_fetch_topic(&out, version, <const uint8_t*><const char*>name, <int32_t>len(name),
                        <const uint8_t*><const char*>topic_id, <int32_t>len(indexes))
        for index in indexes:
            put_forgotten_partition(&out, index)
        end_fetch_topic(&out, version)
    end_fetch_request(&out, version, &terms)
    try:
        if out.failed:
            raise MemoryError
        return out.data[:out.size]
    finally:
        output_free(&out)


cdef list aborted_pairs(const AnsweredPartition* partition, int16_t version):
    cdef Cursor cursor = partition.aborted
    cdef AbortedTransaction transaction
    cdef list pairs = []
    for _ in range(partition.aborted_count):
        next_aborted(&cursor, version, &transaction)
        pairs.append((transaction.producer_id, transaction.first_offset))
    return pairs


def parse_fetch_answer(bytes body not None, int version):
    """Decode a response body with the native reader. Returns None if it is invalid.

    The result is a dict with `throttle_time_ms`, `error_code`, `session_id`, `topics` as [(name or id, [partition as a
    dict, ...]), ...] and `endpoints` as [(node id, host, port), ...].
    """
    cdef Cursor cursor = cursor_over(<const uint8_t*><const char*>body, <size_t>len(body))
    cdef Cursor endpoints
    cdef FetchAnswer answer
    cdef AnsweredTopic topic
    cdef AnsweredPartition partition
    cdef NodeEndpoint endpoint
    cdef list topics = []
    cdef list nodes = []
    read_fetch_answer(&cursor, version, &answer)
    for _ in range(answer.topic_count):
        next_answered_topic(&cursor, version, &topic)
        if cursor.failed:
            return None
        partitions = []
        for _ in range(topic.partition_count):
            next_answered_partition(&cursor, version, &partition)
            if cursor.failed:
                return None
            partitions.append({
                "partition_index": partition.index, "error_code": partition.error_code,
                "high_watermark": partition.high_watermark, "last_stable_offset": partition.last_stable_offset,
                "log_start_offset": partition.log_start_offset, "aborted": aborted_pairs(&partition, version),
                "preferred_read_replica": partition.preferred_read_replica,
                "records": None if partition.records == NULL else partition.records[:partition.records_size],
                "diverging_epoch": (partition.diverging_epoch, partition.diverging_end_offset),
                "current_leader": (partition.leader_id, partition.leader_epoch),
            })
        end_answered_topic(&cursor, version)
        topics.append((topic.name[:topic.name_size], partitions))
    for _ in range(end_fetch_answer(&cursor, version, &endpoints)):
        next_endpoint(&endpoints, &endpoint)
        if endpoints.failed:
            return None
        nodes.append((endpoint.node_id, endpoint.host[:endpoint.host_size].decode(errors="replace"), endpoint.port))
    if cursor.failed:
        return None
    return {"throttle_time_ms": answer.throttle_time_ms, "error_code": answer.error_code,
            "session_id": answer.session_id, "topics": topics, "endpoints": nodes}
