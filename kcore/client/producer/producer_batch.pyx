"""Implementation of ProducerBatch; see producer_batch.pxd for the struct and its ownership."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy
from kcore.client.producer.records_checksum cimport joined_checksum, sum_records
from kcore.cursor cimport Cursor, cursor_over, remaining
from kcore.platform.sync cimport atomic_add_32, atomic_load_32
from kcore.record.batch cimport (
    ATTRIBUTES_POSITION, BATCH_HEADER_SIZE, CRC_POSITION, LENGTH_POSITION, LOG_OVERHEAD, TRANSACTIONAL_MASK,
    BatchHeader, write_batch_header,
)
from kcore.record.compression cimport (
    CODEC_NO_MEMORY, CODEC_NONE, CODEC_OK, Bytes, CodecStatus, compress, free_bytes, give_scratch, reserve_bytes,
    take_scratch,
)
from kcore.record.crc cimport crc32c
from kcore.record.record cimport RecordView, read_record

cdef extern from "<endian.h>" nogil:
    uint32_t htobe32(uint32_t)

cdef enum:
    # Large enough for long checksum lanes, small enough for the nearest caches.
    SUMMED_AT_ONCE_BYTES = 16384


cdef ProducerBatch* batch_new(uint8_t* data, size_t capacity, int64_t now_ns) noexcept nogil:
    cdef ProducerBatch* batch = <ProducerBatch*>calloc(1, sizeof(ProducerBatch))
    if batch == NULL:
        return NULL
    batch.holders = 1
    batch.is_open = True
    batch.data = data
    batch.capacity = capacity
    batch.size = BATCH_HEADER_SIZE
    batch.created_ns = now_ns
    batch.max_timestamp_ms = NO_TIMESTAMP
    batch.producer_id = NO_PRODUCER
    batch.producer_epoch = NO_PRODUCER
    batch.base_sequence = NO_SEQUENCE
    batch.base_offset = NO_OFFSET
    batch.log_append_time_ms = NO_TIMESTAMP
    batch.error_text_size = -1
    return batch


cdef void batch_hold(ProducerBatch* batch) noexcept nogil:
    atomic_add_32(&batch.holders, 1)


cdef void batch_release(ProducerBatch* batch) noexcept nogil:
    cdef int32_t i
    if atomic_add_32(&batch.holders, -1) != 0:
        return
    for i in range(batch.children_count):
        batch_release(batch.children[i])
    for i in range(batch.refused_count):
        free(batch.refused[i].text)
    free(batch.refused)
    free(batch.children)
    free(batch.children_first)
    free(batch.callbacks)
    free(batch.error_text)
    free_bytes(&batch.compressed)
    free(batch)


cdef bint batch_add_callback(ProducerBatch* batch, void* target, int8_t kind, int32_t index, int64_t timestamp_ms,
                             int32_t key_size, int32_t value_size) noexcept nogil:
    cdef int32_t capacity
    cdef RecordCallback* grown
    cdef RecordCallback* callback
    if batch.callback_count == batch.callback_capacity:
        capacity = max(batch.callback_capacity * 2, 16)
        grown = <RecordCallback*>realloc(batch.callbacks, <size_t>capacity * sizeof(RecordCallback))
        if grown == NULL:
            return False
        batch.callbacks = grown
        batch.callback_capacity = capacity
    callback = &batch.callbacks[batch.callback_count]
    callback.target = target
    callback.kind = kind
    callback.index = index
    callback.timestamp_ms = timestamp_ms
    callback.key_size = key_size
    callback.value_size = value_size
    batch.callback_count += 1
    return True


cdef CodecStatus compress_records(ProducerBatch* batch, int codec, int32_t level) noexcept nogil:
    """Compress the records into `compressed`, allocated in the exact size."""
    cdef Bytes scratch
    cdef CodecStatus status
    take_scratch(&scratch)
    status = compress(codec, level, batch.data + BATCH_HEADER_SIZE, batch.size - BATCH_HEADER_SIZE, &scratch)
    if status == CODEC_OK:
        if reserve_bytes(&batch.compressed, BATCH_HEADER_SIZE + scratch.size):
            memcpy(batch.compressed.data + BATCH_HEADER_SIZE, scratch.data, scratch.size)
            batch.compressed.size = BATCH_HEADER_SIZE + scratch.size
        else:
            status = CODEC_NO_MEMORY
    give_scratch(&scratch)
    return status


cdef void batch_sum_ahead(ProducerBatch* batch) noexcept nogil:
    sum_records(&batch.checksum, batch.data + BATCH_HEADER_SIZE, batch.size - BATCH_HEADER_SIZE, SUMMED_AT_ONCE_BYTES)


cdef void write_header_of_summed(ProducerBatch* batch, BatchHeader* header) noexcept nogil:
    """Write the header, using the checksum computed so far; only the last records are still to be summed."""
    cdef uint8_t* data = batch.data
    cdef uint32_t word
    sum_records(&batch.checksum, data + BATCH_HEADER_SIZE, batch.size - BATCH_HEADER_SIZE, 0)
    header.size_bytes = BATCH_HEADER_SIZE
    write_batch_header(data, header)
    word = htobe32(<uint32_t>(batch.size - LOG_OVERHEAD))
    memcpy(data + LENGTH_POSITION, &word, sizeof(word))
    word = joined_checksum(crc32c(data + ATTRIBUTES_POSITION, BATCH_HEADER_SIZE - ATTRIBUTES_POSITION),
                           batch.checksum.crc, batch.checksum.size)
    word = htobe32(word)
    memcpy(data + CRC_POSITION, &word, sizeof(word))


cdef CodecStatus batch_seal(ProducerBatch* batch, int codec, int32_t level) noexcept nogil:
    cdef BatchHeader header
    cdef CodecStatus status
    if codec != CODEC_NONE and not batch.is_sealed:
        status = compress_records(batch, codec, level)
        if status != CODEC_OK:
            return status
    batch.is_sealed = True
    header.base_offset = 0
    header.partition_leader_epoch = -1
    header.attributes = <int16_t>codec
    if batch.is_transactional:
        header.attributes |= TRANSACTIONAL_MASK
    header.size_bytes = <int32_t>(batch.size if batch.compressed.data == NULL else batch.compressed.size)
    header.last_offset_delta = batch.record_count - 1
    header.base_timestamp = batch.base_timestamp_ms
    header.max_timestamp = batch.max_timestamp_ms
    header.producer_id = batch.producer_id
    header.producer_epoch = batch.producer_epoch
    header.base_sequence = batch.base_sequence
    header.record_count = batch.record_count
    if batch.compressed.data != NULL:
        write_batch_header(batch.compressed.data, &header)
    elif batch.checksum.size > 0:
        write_header_of_summed(batch, &header)
    else:
        write_batch_header(batch.data, &header)
    return CODEC_OK


cdef const uint8_t* batch_bytes(const ProducerBatch* batch, size_t* size) noexcept nogil:
    if batch.compressed.data != NULL:
        size[0] = batch.compressed.size
        return batch.compressed.data
    size[0] = batch.size
    return batch.data


cdef void batch_free_bytes(ProducerBatch* batch) noexcept nogil:
    """Free buffers that do not belong to a pool."""
    free(batch.data)
    batch.data = NULL
    free_bytes(&batch.compressed)


# --- Splitting -------------------------------------------------------------------------------------------------------


cdef ProducerBatch* add_child(ProducerBatch* batch, size_t capacity, int32_t first_index) noexcept nogil:
    cdef ProducerBatch** children
    cdef int32_t* firsts
    cdef ProducerBatch* child
    cdef uint8_t* data
    cdef size_t count = <size_t>batch.children_count + 1
    children = <ProducerBatch**>realloc(batch.children, count * sizeof(ProducerBatch*))
    if children == NULL:
        return NULL
    batch.children = children
    firsts = <int32_t*>realloc(batch.children_first, count * sizeof(int32_t))
    if firsts == NULL:
        return NULL
    batch.children_first = firsts
    data = <uint8_t*>malloc(capacity)
    if data == NULL:
        return NULL
    child = batch_new(data, capacity, batch.created_ns)
    if child == NULL:
        free(data)
        return NULL
    child.is_open = False
    child.queue = batch.queue
    child.partition = batch.partition
    child.number = batch.number
    child.first_record = batch.first_record + first_index
    child.attempts = batch.attempts
    child.is_transactional = batch.is_transactional
    batch.children[batch.children_count] = child
    batch.children_first[batch.children_count] = first_index
    batch.children_count += 1
    return child


cdef void drop_children(ProducerBatch* batch) noexcept nogil:
    cdef int32_t i
    for i in range(batch.children_count):
        batch_free_bytes(batch.children[i])
        batch.children[i].callback_count = 0
        batch_release(batch.children[i])
    batch.children_count = 0


cdef bint move_callbacks(ProducerBatch* batch) noexcept nogil:
    """Move every callback to the part that contains its record. After a failure all callbacks stay in the batch."""
    cdef int32_t i, index
    cdef RecordCallback* callback
    cdef ProducerBatch* child
    for i in range(batch.callback_count):
        callback = &batch.callbacks[i]
        index = callback.index
        child = child_holding(batch, &index)
        if not batch_add_callback(child, callback.target, callback.kind, index, callback.timestamp_ms,
                                  callback.key_size, callback.value_size):
            return False
    batch.callback_count = 0
    return True


cdef int32_t batch_split(ProducerBatch* batch, size_t target_bytes) noexcept nogil:
    cdef Cursor cursor = cursor_over(batch.data + BATCH_HEADER_SIZE, batch.size - BATCH_HEADER_SIZE)
    cdef RecordView record
    cdef ProducerBatch* child = NULL
    cdef int64_t timestamp_ms
    cdef int32_t index
    cdef bint ends_first
    # In a later part the offset deltas are smaller, but the timestamp delta to the new first record may be larger.
    cdef size_t room = BATCH_HEADER_SIZE + max(target_bytes, <size_t>batch.largest_record_bytes + 16)
    for index in range(batch.record_count):
        if not read_record(&cursor, &record):
            drop_children(batch)
            return 0
        timestamp_ms = batch.base_timestamp_ms + record.timestamp_delta
        # A single part with all records would be rejected again forever: the last record begins a second one.
        ends_first = batch.children_count == 1 and index == batch.record_count - 1
        if child != NULL and not ends_first and batch_append(child, &record, timestamp_ms):
            continue
        child = add_child(batch, room, index)
        if child == NULL or not batch_append(child, &record, timestamp_ms):
            drop_children(batch)
            return 0
    if remaining(&cursor) != 0 or not move_callbacks(batch):
        drop_children(batch)
        return 0
    return batch.children_count


cdef ProducerBatch* child_holding(ProducerBatch* batch, int32_t* index) noexcept nogil:
    cdef int32_t i = batch.children_count - 1
    while i > 0 and batch.children_first[i] > index[0]:
        i -= 1
    index[0] -= batch.children_first[i]
    return batch.children[i]


cdef ProducerBatch* batch_holding(ProducerBatch* batch, int32_t* index) noexcept nogil:
    while atomic_load_32(&batch.outcome) == OUTCOME_SPLIT:
        batch = child_holding(batch, index)
    return batch
