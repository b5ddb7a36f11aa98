"""Encodes Produce requests and decodes responses; see produce_request.pxd for the format."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy
from kcore.client.network.client_request cimport REQUEST_HEAD_BYTES
from kcore.client.producer.partition_queue cimport PartitionQueue, TopicQueues
from kcore.client.producer.producer_batch cimport ProducerBatch, batch_bytes
from kcore.cursor cimport Cursor, read_int16, read_int32, read_int64, read_unsigned_varint, take
from kcore.platform.disk cimport iovec
from kcore.protocol.fields cimport read_array_size, read_string, read_tagged_field, skip_tags
from kcore.protocol.output cimport (
    Output, output_free, output_room, put_array_size, put_int16, put_int32, put_no_tags, put_raw, put_string,
)

cdef enum:
    PRODUCE_KEY = 0
    UUID_SIZE = 16
    CURRENT_LEADER_TAG = 0
    # Minimum sizes in a response: name, count, tags; index, error, two or three numbers; index, text, tags.
    SMALLEST_TOPIC = 3
    SMALLEST_PARTITION = 22
    SMALLEST_REFUSED = 6


cdef inline bint is_flexible(int16_t version) noexcept nogil:
    return version >= FIRST_FLEXIBLE_VERSION


cdef ProduceRequest* produce_request_new() noexcept nogil:
    cdef ProduceRequest* request = <ProduceRequest*>calloc(1, sizeof(ProduceRequest))
    if request != NULL:
        request.request.context = request
        request.request.api_key = PRODUCE_KEY
    return request


cdef void produce_request_free(ProduceRequest* request) noexcept nogil:
    free(request.batches)
    output_free(&request.glue)
    free(request.parts)
    free(request)


cdef inline TopicQueues* topic_of(const ProducerBatch* batch) noexcept nogil:
    return (<PartitionQueue*>batch.queue).topic


cdef bint produce_request_add(ProduceRequest* request, ProducerBatch* batch) noexcept nogil:
    cdef int32_t capacity
    cdef ProducerBatch** grown
    if request.batch_count == request.batch_capacity:
        capacity = max(request.batch_capacity * 2, 16)
        grown = <ProducerBatch**>realloc(request.batches, <size_t>capacity * sizeof(ProducerBatch*))
        if grown == NULL:
            return False
        request.batches = grown
        request.batch_capacity = capacity
    memcpy(batch.topic_id, topic_of(batch).id, sizeof(batch.topic_id))
    batch.has_topic_id = topic_of(batch).has_id
    request.batches[request.batch_count] = batch
    request.batch_count += 1
    request.size_bytes += batch.size
    return True


# --- Writing ---------------------------------------------------------------------------------------------------------


cdef bint reserve_parts(ProduceRequest* request) noexcept nogil:
    cdef int32_t wanted = request.batch_count * 2 + 1
    cdef iovec* parts
    if wanted > request.parts_capacity:
        parts = <iovec*>realloc(request.parts, <size_t>wanted * sizeof(iovec))
        if parts == NULL:
            return False
        request.parts = parts
        request.parts_capacity = wanted
    return True


cdef void put_head(Output* glue, const ProduceSettings* settings, bint flexible) noexcept nogil:
    """Write room for the engine's part of the header, the rest of the header, and the request up to its topics."""
    output_room(glue, REQUEST_HEAD_BYTES)
    # The client id in the header is never compact, even in flexible versions.
    put_string(glue, settings.client_id, settings.client_id_size, False)
    put_no_tags(glue, flexible)
    put_string(glue, settings.transactional_id, settings.transactional_id_size, flexible)
    put_int16(glue, settings.acks)
    put_int32(glue, settings.timeout_ms)


cdef int32_t topics_of(const ProduceRequest* request) noexcept nogil:
    cdef int32_t i, count = 0
    for i in range(request.batch_count):
        count += i == 0 or topic_of(request.batches[i]) != topic_of(request.batches[i - 1])
    return count


cdef void put_topic(Output* glue, const ProduceRequest* request, int32_t first, int16_t version) noexcept nogil:
    """Write a topic's name or id, and its number of partitions."""
    cdef TopicQueues* topic = topic_of(request.batches[first])
    cdef int32_t count = 1
    while first + count < request.batch_count and topic_of(request.batches[first + count]) == topic:
        count += 1
    if version >= FIRST_VERSION_BY_ID:
        put_raw(glue, request.batches[first].topic_id, UUID_SIZE)
    else:
        put_string(glue, topic.name, topic.name_size, is_flexible(version))
    put_array_size(glue, count, is_flexible(version))


cdef void end_glue(ProduceRequest* request, int32_t part, size_t* start) noexcept nogil:
    """End a part with the bytes written since `start`. Its address is set later, when the buffer is final."""
    request.parts[part].iov_len = request.glue.size - start[0]
    start[0] = request.glue.size


cdef void point_at_glue(ProduceRequest* request) noexcept nogil:
    """Set the addresses of the glue parts: every other part, one after another in the buffer."""
    cdef uint8_t* start = request.glue.data
    cdef int32_t part
    for part in range(0, request.request.part_count, 2):
        request.parts[part].iov_base = start
        start += request.parts[part].iov_len


cdef bint produce_request_write(ProduceRequest* request, int16_t version,
                                const ProduceSettings* settings) noexcept nogil:
    cdef bint flexible = is_flexible(version)
    cdef Output* glue = &request.glue
    cdef ProducerBatch* batch
    cdef const uint8_t* data
    cdef size_t size = 0
    cdef size_t start = 0
    cdef int32_t i, part = 0
    if not reserve_parts(request):
        return False
    glue.size = 0
    glue.failed = False
    put_head(glue, settings, flexible)
    put_array_size(glue, topics_of(request), flexible)
    for i in range(request.batch_count):
        batch = request.batches[i]
        if i == 0 or topic_of(batch) != topic_of(request.batches[i - 1]):
            put_topic(glue, request, i, version)
        data = batch_bytes(batch, &size)
        put_int32(glue, batch.partition)
        put_array_size(glue, <int32_t>size, flexible)
        end_glue(request, part, &start)
        request.parts[part + 1].iov_base = <void*>data
        request.parts[part + 1].iov_len = size
        part += 2
        put_no_tags(glue, flexible)
        if i + 1 == request.batch_count or topic_of(batch) != topic_of(request.batches[i + 1]):
            put_no_tags(glue, flexible)
    if flexible:
        put_no_tags(glue, flexible)
        end_glue(request, part, &start)
        part += 1
    request.version = version
    request.request.api_version = version
    request.request.expects_reply = settings.acks != 0
    request.request.parts = request.parts
    request.request.part_count = part
    point_at_glue(request)
    return not glue.failed


# --- Reading ---------------------------------------------------------------------------------------------------------


cdef int32_t answer_begin(Cursor* cursor, int16_t version) noexcept nogil:
    return read_array_size(cursor, is_flexible(version), SMALLEST_TOPIC)


cdef void answer_next_topic(Cursor* cursor, int16_t version, TopicAnswer* topic) noexcept nogil:
    if version >= FIRST_VERSION_BY_ID:
        topic.name_size = UUID_SIZE
        topic.name = take(cursor, UUID_SIZE)
    else:
        topic.name = read_string(cursor, is_flexible(version), &topic.name_size)
        if topic.name == NULL:
            cursor.failed = True
    topic.partition_count = read_array_size(cursor, is_flexible(version), SMALLEST_PARTITION)


cdef int32_t next_refused(Cursor* cursor, int16_t version, const uint8_t** text, int32_t* text_size) noexcept nogil:
    cdef int32_t index = read_int32(cursor)
    text[0] = read_string(cursor, is_flexible(version), text_size)
    skip_tags(cursor, is_flexible(version))
    return index


cdef void read_leader(Cursor* cursor, PartitionAnswer* partition) noexcept nogil:
    """Read the tagged fields of a partition, one of which is its current leader (KIP-951)."""
    cdef uint32_t count = read_unsigned_varint(cursor)
    cdef uint32_t tag
    cdef Cursor field
    while count > 0 and not cursor.failed:
        tag = read_unsigned_varint(cursor)
        field = read_tagged_field(cursor)
        if tag == CURRENT_LEADER_TAG:
            partition.leader_id = read_int32(&field)
            partition.leader_epoch = read_int32(&field)
            cursor.failed = cursor.failed or field.failed
        count -= 1


cdef void answer_next_partition(Cursor* cursor, int16_t version, PartitionAnswer* partition) noexcept nogil:
    cdef const uint8_t* text
    cdef int32_t i, text_size
    partition.index = read_int32(cursor)
    partition.error_code = read_int16(cursor)
    partition.base_offset = read_int64(cursor)
    partition.log_append_time_ms = read_int64(cursor)
    partition.log_start_offset = read_int64(cursor) if version >= 5 else -1
    partition.error_text = NULL
    partition.error_text_size = -1
    partition.refused_count = 0
    partition.leader_id = partition.leader_epoch = -1
    if version >= 8:
        partition.refused_count = read_array_size(cursor, is_flexible(version), SMALLEST_REFUSED)
        partition.refused = cursor[0]
        for i in range(partition.refused_count):
            next_refused(cursor, version, &text, &text_size)
        partition.error_text = read_string(cursor, is_flexible(version), &partition.error_text_size)
    if is_flexible(version):
        read_leader(cursor, partition)


cdef void answer_end_topic(Cursor* cursor, int16_t version) noexcept nogil:
    skip_tags(cursor, is_flexible(version))


cdef int32_t answer_end(Cursor* cursor, int16_t version) noexcept nogil:
    cdef int32_t throttle_ms = read_int32(cursor)
    skip_tags(cursor, is_flexible(version))
    return throttle_ms
