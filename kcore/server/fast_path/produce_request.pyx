"""The native reader of produce requests, versions 3 to 11. The format is in `kcore/protocol/schemas`:

    transactional_id acks timeout_ms [topic: name [partition: index records]]

From version 9 on, strings, arrays and records have compact lengths, and every structure ends with tagged fields.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from kcore.cursor cimport Cursor, cursor_over, read_int16, read_int32, take
from kcore.protocol.fields cimport read_array_size, read_length, read_string, skip_tags
from kcore.record.batch cimport batch_over
from kcore.server.fast_path.growing_array cimport grown

cdef enum:
    FIRST_FLEXIBLE = 9
    SMALLEST_TOPIC = 3           # bytes: empty compact name, compact array size, no tags
    SMALLEST_PARTITION = 5       # bytes: index, compact length


cdef bint read_produce_request(uint8_t* body, size_t size, int16_t version, ProduceRequest* out) noexcept nogil:
    cdef Cursor cursor = cursor_over(body, size)
    cdef int32_t ignored, position
    memset(out, 0, sizeof(ProduceRequest))
    out.version = version
    out.flexible = version >= FIRST_FLEXIBLE
    out.transactional = read_string(&cursor, out.flexible, &ignored) != NULL
    out.acks = read_int16(&cursor)
    out.timeout_ms = read_int32(&cursor)
    out.topic_count = read_array_size(&cursor, out.flexible, SMALLEST_TOPIC)
    if cursor.failed:
        return False
    out.topics = <TopicRecords*>calloc(max(1, out.topic_count), sizeof(TopicRecords))
    if out.topics == NULL:
        return False
    for position in range(out.topic_count):
        if not read_topic(&cursor, out, &out.topics[position]):
            return False
    skip_tags(&cursor, out.flexible)
    return not cursor.failed and cursor.position == cursor.end


cdef bint read_topic(Cursor* cursor, ProduceRequest* out, TopicRecords* topic) noexcept nogil:
    cdef int32_t position
    topic.name = read_string(cursor, out.flexible, &topic.name_size)
    topic.first = out.partition_count
    topic.count = read_array_size(cursor, out.flexible, SMALLEST_PARTITION)
    if cursor.failed or topic.name == NULL or not grow_partitions(out, topic.count):
        return False
    for position in range(topic.count):
        read_partition(cursor, out.flexible, &out.partitions[topic.first + position])
    out.partition_count += topic.count
    skip_tags(cursor, out.flexible)
    return not cursor.failed


cdef void read_partition(Cursor* cursor, bint flexible, PartitionRecords* partition) noexcept nogil:
    cdef int64_t size
    cdef uint8_t* records
    partition.index = read_int32(cursor)
    size = read_length(cursor, flexible, False)
    partition.is_null = size < 0
    records = <uint8_t*>take(cursor, max(<int64_t>0, size))
    partition.batch = batch_over(records, <size_t>size if records != NULL and size > 0 else 0)
    skip_tags(cursor, flexible)


cdef bint grow_partitions(ProduceRequest* out, int32_t more) noexcept nogil:
    cdef void* partitions = grown(out.partitions, &out.partition_capacity, <int64_t>out.partition_count + more,
                                  sizeof(PartitionRecords))
    if partitions != NULL:
        out.partitions = <PartitionRecords*>partitions
    return partitions != NULL


cdef void free_produce_request(ProduceRequest* request) noexcept nogil:
    free(request.topics)
    free(request.partitions)
    request.topics = NULL
    request.partitions = NULL


def parse_produce_request(bytes body not None, int version):
    """Parses a request body with the native reader, for comparison with the codec. None if the reader refuses it.

    Returns (transactional, acks, timeout_ms, [(topic, [(index, records or None), ...]), ...]).
    """
    cdef ProduceRequest request
    cdef TopicRecords* topic
    cdef PartitionRecords* partition
    cdef int32_t position, inner
    # The cast is safe: the reader does not write. Frames are writable because the log patches batches in place.
    cdef bint valid = read_produce_request(<uint8_t*><const char*>body, len(body), version, &request)
    topics = []
    if valid:
        for position in range(request.topic_count):
            topic = &request.topics[position]
            partitions = []
            for inner in range(topic.first, topic.first + topic.count):
                partition = &request.partitions[inner]
                records = None
                if not partition.is_null:
                    records = (<const char*>partition.batch.data)[:partition.batch.size_bytes]
                partitions.append((partition.index, records))
            topics.append(((<const char*>topic.name)[:topic.name_size], partitions))
    parsed = (bool(request.transactional), request.acks, request.timeout_ms, topics) if valid else None
    free_produce_request(&request)
    return parsed
