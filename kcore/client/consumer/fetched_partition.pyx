"""The batches of one partition in a Fetch response, opened one after another for a reader (Kafka's CompletedFetch).

The first batch may begin before the position, and the last one may be incomplete. Gaps between offsets are normal:
compaction and transactions leave them, and a batch without records still advances the position. Control batches are
skipped. With read_committed, records of aborted transactions are skipped, too. The response lists these transactions by
producer id and first offset, and an abort marker ends the one of its producer (KIP-98).

Invalid data ends the reading (`FetchedStatus`). Records before it are still returned, the position stays before the bad
batch, and a seek skips it. Messages of magic 0 and 1 are converted to records of magic 2, so that readers know one
format. They, and codecs without a library, are rare and are opened with the GIL.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memmove
from kcore.client.network.client_request cimport ReceivedFrame, frame_hold, frame_release
from kcore.cursor cimport Cursor, cursor_over, read_int16, remaining
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_INCOMPLETE, BATCH_OK, BATCH_OLD_MAGIC, COMPRESSION_MASK, CONTROL_MASK, TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK, BatchHeader, BatchStatus, has_valid_checksum, read_batch_header,
)
from kcore.record.compression cimport (
    CODEC_CORRUPT, CODEC_NONE, CODEC_NO_MEMORY, CODEC_OK, CODEC_TOO_LARGE, CODEC_UNAVAILABLE, CodecStatus, decompress,
    give_scratch, reserve_bytes, take_scratch,
)
from kcore.record.decoder cimport Record
from kcore.record.record cimport RecordView, put_record_up_to_headers, read_record, record_body_size, varlong_size

from kcore import errors

cdef enum:
    DEFAULT_LIMIT_BYTES = 268435456
    ABORT_MARKER = 0


# --- life ------------------------------------------------------------------------------------------------------------


cdef FetchedPartition* new_fetched_partition(ReceivedFrame* frame, const uint8_t* data, size_t size_bytes,
                                             int64_t fetch_offset, const AbortedTransaction* aborted,
                                             int32_t aborted_count) noexcept nogil:
    cdef FetchedPartition* fetched = <FetchedPartition*>calloc(1, sizeof(FetchedPartition))
    if fetched == NULL:
        return NULL
    if aborted_count > 0:
        fetched.aborted = <AbortedTransaction*>malloc(<size_t>aborted_count * sizeof(AbortedTransaction))
        if fetched.aborted == NULL:
            free(fetched)
            return NULL
        memcpy(fetched.aborted, aborted, <size_t>aborted_count * sizeof(AbortedTransaction))
        fetched.aborted_count = aborted_count
        qsort(fetched.aborted, <size_t>aborted_count, sizeof(AbortedTransaction), by_first_offset)
    if frame != NULL:
        frame_hold(frame)
    fetched.frame = frame
    fetched.data = data
    fetched.size_bytes = size_bytes
    fetched.next_offset = fetch_offset
    fetched.next_epoch = -1
    fetched.check_crcs = True
    fetched.decompressed_limit_bytes = DEFAULT_LIMIT_BYTES
    fetched.status = FETCHED_DRAINED
    return fetched


cdef void free_fetched_partition(FetchedPartition* fetched) noexcept nogil:
    give_scratch(&fetched.decompressed)
    free(fetched.aborted)
    free(fetched.aborted_producers.ids)
    if fetched.frame != NULL:
        frame_release(fetched.frame)
    free(fetched)


cdef int by_first_offset(const void* one, const void* other) noexcept nogil:
    cdef int64_t first = (<const AbortedTransaction*>one).first_offset
    cdef int64_t second = (<const AbortedTransaction*>other).first_offset
    return <int>(first > second) - <int>(first < second)


# --- aborted transactions --------------------------------------------------------------------------------------------


cdef int32_t place_of(const ProducerSet* producers, int64_t producer_id) noexcept nogil:
    """Return the index of an id, or where to insert it."""
    cdef int32_t low = 0
    cdef int32_t high = producers.count
    cdef int32_t middle
    while low < high:
        middle = low + (high - low) // 2
        if producers.ids[middle] < producer_id:
            low = middle + 1
        else:
            high = middle
    return low


cdef bint has_producer(const ProducerSet* producers, int64_t producer_id) noexcept nogil:
    cdef int32_t place = place_of(producers, producer_id)
    return place < producers.count and producers.ids[place] == producer_id


cdef bint add_producer(ProducerSet* producers, int64_t producer_id) noexcept nogil:
    cdef int32_t place = place_of(producers, producer_id)
    cdef int32_t capacity
    cdef int64_t* ids
    if place < producers.count and producers.ids[place] == producer_id:
        return True
    if producers.count == producers.capacity:
        capacity = max(8, 2 * producers.capacity)
        ids = <int64_t*>realloc(producers.ids, <size_t>capacity * sizeof(int64_t))
        if ids == NULL:
            return False
        producers.ids = ids
        producers.capacity = capacity
    memmove(producers.ids + place + 1, producers.ids + place, <size_t>(producers.count - place) * sizeof(int64_t))
    producers.ids[place] = producer_id
    producers.count += 1
    return True


cdef void remove_producer(ProducerSet* producers, int64_t producer_id) noexcept nogil:
    cdef int32_t place = place_of(producers, producer_id)
    if place < producers.count and producers.ids[place] == producer_id:
        producers.count -= 1
        memmove(producers.ids + place, producers.ids + place + 1,
                <size_t>(producers.count - place) * sizeof(int64_t))


cdef bint take_aborted_up_to(FetchedPartition* fetched, int64_t offset) noexcept nogil:
    cdef AbortedTransaction* aborted
    while fetched.aborted_taken < fetched.aborted_count:
        aborted = &fetched.aborted[fetched.aborted_taken]
        if aborted.first_offset > offset:
            break
        if not add_producer(&fetched.aborted_producers, aborted.producer_id):
            return False
        fetched.aborted_taken += 1
    return True


cdef bint is_abort_marker(const FetchedPartition* fetched) noexcept nogil:
    """Return whether the record of an open control batch is an abort marker."""
    cdef Cursor records = fetched.records
    cdef Cursor key
    cdef RecordView record
    if fetched.records_left < 1 or not read_record(&records, &record) or record.key_size < 4:
        return False
    key = cursor_over(record.key, <size_t>record.key_size)
    return read_int16(&key) >= 0 and read_int16(&key) == ABORT_MARKER


# --- batches ---------------------------------------------------------------------------------------------------------


cdef inline FetchedStatus fail(FetchedPartition* fetched, FetchedStatus status) noexcept nogil:
    fetched.status = status
    return status


cdef inline bint is_for_readers(const FetchedPartition* fetched) noexcept nogil:
    """Return whether a batch has records to read, after its header was read.

    False for control batches, aborted ones, and those entirely before the position.
    """
    cdef const BatchHeader* batch = &fetched.batch
    if batch.last_offset < fetched.next_offset or batch.attributes & CONTROL_MASK:
        return False
    return not (batch.attributes & TRANSACTIONAL_MASK
                and has_producer(&fetched.aborted_producers, batch.producer_id))


cdef void go_past_batch(FetchedPartition* fetched) noexcept nogil:
    if fetched.batch.last_offset >= fetched.next_offset:
        fetched.next_offset = fetched.batch.last_offset + 1
    fetched.next_epoch = fetched.batch.partition_leader_epoch
    fetched.position += <size_t>fetched.batch.size_bytes
    fetched.records_left = 0
    fetched.status = FETCHED_DRAINED


cdef FetchedStatus close_batch(FetchedPartition* fetched) noexcept nogil:
    if remaining(&fetched.records) != 0:
        return fail(fetched, FETCHED_MALFORMED)
    go_past_batch(fetched)
    return FETCHED_DRAINED


cdef FetchedStatus open_batch(FetchedPartition* fetched) noexcept nogil:
    """Open the next batch to read. FETCHED_OPEN guarantees no record: all of the batch may be before the position."""
    while fetched.status == FETCHED_DRAINED:
        if read_head(fetched) != FETCHED_OPEN:
            return fetched.status
        if fetched.read_committed and fetched.batch.producer_id >= 0 and not follow_transactions(fetched):
            return fetched.status
        if not is_for_readers(fetched):
            go_past_batch(fetched)
        elif fetched.batch.magic < 2:
            fetched.status = FETCHED_BY_PYTHON
        else:
            open_records(fetched)
    return fetched.status


cdef bint follow_transactions(FetchedPartition* fetched) noexcept nogil:
    """Update the producers with aborted transactions. Returns False if a marker cannot be read (see `status`)."""
    if not take_aborted_up_to(fetched, fetched.batch.last_offset):
        fetched.status = FETCHED_NO_MEMORY
        return False
    if not (fetched.batch.attributes & CONTROL_MASK
            and has_producer(&fetched.aborted_producers, fetched.batch.producer_id)):
        return True
    if open_records(fetched) != FETCHED_OPEN:
        return False
    if is_abort_marker(fetched):
        remove_producer(&fetched.aborted_producers, fetched.batch.producer_id)
    return True


cdef FetchedStatus read_head(FetchedPartition* fetched) noexcept nogil:
    """Read the header of the batch at `position`. Checks the CRC for magic 2."""
    cdef BatchHeader* batch = &fetched.batch
    cdef const uint8_t* data = fetched.data + fetched.position
    cdef BatchStatus status
    if fetched.position >= fetched.size_bytes:
        return FETCHED_DRAINED
    status = read_batch_header(data, fetched.size_bytes - fetched.position, batch)
    if status == BATCH_INCOMPLETE:
        return fail(fetched, FETCHED_CUT_SHORT) if fetched.position == 0 else FETCHED_DRAINED
    if status != BATCH_OK and status != BATCH_OLD_MAGIC:
        return fail(fetched, FETCHED_MALFORMED)
    # The CRC does not cover the base offset, and the last offset must have a successor.
    if batch.base_offset < 0 or batch.last_offset < batch.base_offset or batch.last_offset == INT64_MAX:
        return fail(fetched, FETCHED_MALFORMED)
    if fetched.check_crcs and batch.magic >= 2 and not has_valid_checksum(data, batch):
        return fail(fetched, FETCHED_WRONG_CHECKSUM)
    return FETCHED_OPEN


cdef FetchedStatus open_records(FetchedPartition* fetched) noexcept nogil:
    """Open the records of a batch of magic 2, decompressed."""
    cdef BatchHeader* batch = &fetched.batch
    cdef const uint8_t* data = fetched.data + fetched.position + BATCH_HEADER_SIZE
    cdef size_t size = <size_t>batch.size_bytes - BATCH_HEADER_SIZE
    cdef int codec = batch.attributes & COMPRESSION_MASK
    cdef CodecStatus status
    if codec != CODEC_NONE and batch.record_count > 0:
        if fetched.decompressed.data == NULL:
            take_scratch(&fetched.decompressed)
        status = decompress(codec, data, size, fetched.decompressed_limit_bytes, &fetched.decompressed)
        if status == CODEC_UNAVAILABLE:
            return fail(fetched, FETCHED_BY_PYTHON)
        if status != CODEC_OK:
            return fail(fetched, status_of_codec(status))
        data = fetched.decompressed.data
        size = fetched.decompressed.size
    fetched.records = cursor_over(data, size)
    fetched.records_left = batch.record_count
    fetched.has_append_time = (batch.attributes & TIMESTAMP_TYPE_MASK) != 0
    fetched.timestamp_type = LOG_APPEND_TIME if fetched.has_append_time else CREATE_TIME
    fetched.append_time = batch.max_timestamp
    fetched.next_epoch = batch.partition_leader_epoch
    fetched.status = FETCHED_OPEN
    return FETCHED_OPEN


cdef FetchedStatus status_of_codec(CodecStatus status) noexcept nogil:
    if status == CODEC_TOO_LARGE:
        return FETCHED_TOO_LARGE
    return FETCHED_NO_MEMORY if status == CODEC_NO_MEMORY else FETCHED_MALFORMED


cdef int64_t following_offset(const uint8_t* data, size_t size, int64_t fetch_offset, int32_t* epoch) noexcept nogil:
    cdef BatchHeader batch
    cdef BatchStatus status
    cdef size_t position = 0
    cdef int64_t following = fetch_offset
    while position < size:
        status = read_batch_header(data + position, size - position, &batch)
        if (status != BATCH_OK and status != BATCH_OLD_MAGIC) or batch.last_offset == INT64_MAX:
            break
        if batch.last_offset >= following:
            following = batch.last_offset + 1
            epoch[0] = batch.partition_leader_epoch
        position += <size_t>batch.size_bytes
    return following


# --- with the GIL ----------------------------------------------------------------------------------------------------


cdef FetchedStatus open_by_python(FetchedPartition* fetched):
    fetched.status = FETCHED_DRAINED
    try:
        if fetched.batch.magic < 2:
            return open_message(fetched)
        return open_by_wheel(fetched)
    except errors.MessageTooLargeError:
        return fail(fetched, FETCHED_TOO_LARGE)
    except errors.UnsupportedCompressionTypeError:
        return fail(fetched, FETCHED_NO_CODEC)
    except errors.CorruptMessageError:
        return fail(fetched, FETCHED_MALFORMED)
    except MemoryError:
        return fail(fetched, FETCHED_NO_MEMORY)


cdef FetchedStatus open_by_wheel(FetchedPartition* fetched) except *:
    """Decompress a batch with a Python package, because no library for its codec is installed; then open it."""
    from kcore.record import codec_fallback

    cdef const uint8_t* data = fetched.data + fetched.position + BATCH_HEADER_SIZE
    cdef size_t size = <size_t>fetched.batch.size_bytes - BATCH_HEADER_SIZE
    cdef bytes payload
    payload = codec_fallback.decompress(fetched.batch.attributes & COMPRESSION_MASK, data[:size],
                                        fetched.decompressed_limit_bytes)
    if not reserve_bytes(&fetched.decompressed, <size_t>len(payload) + 1):
        raise MemoryError
    memcpy(fetched.decompressed.data, PyBytes_AS_STRING(payload), <size_t>len(payload))
    fetched.decompressed.size = <size_t>len(payload)
    fetched.batch.attributes &= ~COMPRESSION_MASK
    open_records(fetched)
    fetched.records = cursor_over(fetched.decompressed.data, fetched.decompressed.size)
    if fetched.batch.attributes & CONTROL_MASK:
        if fetched.read_committed and is_abort_marker(fetched):
            remove_producer(&fetched.aborted_producers, fetched.batch.producer_id)
        go_past_batch(fetched)
    return fetched.status


cdef FetchedStatus open_message(FetchedPartition* fetched) except *:
    """Convert a message of magic 0 or 1, or the messages compressed in it, to records of magic 2."""
    from kcore.record import legacy

    cdef bytes message = (fetched.data + fetched.position)[:fetched.batch.size_bytes]
    cdef Record record
    cdef RecordView view
    cdef uint8_t* target
    cdef size_t size = 0
    if fetched.check_crcs and not legacy.has_valid_checksum(message):
        return fail(fetched, FETCHED_WRONG_CHECKSUM)
    cdef list records = legacy.decode_message(message, fetched.decompressed_limit_bytes)
    cdef int64_t base_offset = (<Record>records[0]).offset
    for record in records:
        size += 32 + len(record.key or b"") + len(record.value or b"")
    if not reserve_bytes(&fetched.decompressed, size):
        raise MemoryError
    target = fetched.decompressed.data
    for record in records:
        if not 0 <= record.offset - base_offset <= INT32_MAX:
            raise errors.CorruptMessageError("the offsets of messages inside a compressed one are in disorder")
        view_of(record, base_offset, &view)
        target = put_record_up_to_headers(target, &view, record_body_size(&view))
    fetched.decompressed.size = <size_t>(target - fetched.decompressed.data)
    fetched.records = cursor_over(fetched.decompressed.data, fetched.decompressed.size)
    fetched.records_left = <int32_t>len(records)
    fetched.timestamp_type = timestamp_type_of(&fetched.batch)
    fetched.has_append_time = False
    fetched.batch.base_offset = base_offset
    fetched.batch.base_timestamp = 0
    fetched.status = FETCHED_OPEN
    return FETCHED_OPEN


cdef int8_t timestamp_type_of(const BatchHeader* message) noexcept nogil:
    if message.magic == 0:
        return NO_TIMESTAMP_TYPE
    return LOG_APPEND_TIME if message.attributes & TIMESTAMP_TYPE_MASK else CREATE_TIME


cdef const uint8_t* start_of(bytes data) noexcept:
    if data is None:
        return NULL
    return <const uint8_t*>PyBytes_AS_STRING(data)


cdef void view_of(Record record, int64_t base_offset, RecordView* view):
    """Describe a record of an old message. Its timestamp is the delta, because the base timestamp is 0."""
    view.attributes = 0
    view.timestamp_delta = record.timestamp
    view.offset_delta = <int32_t>(record.offset - base_offset)
    view.key = start_of(record.key)
    view.key_size = -1 if record.key is None else <int32_t>len(record.key)
    view.value = start_of(record.value)
    view.value_size = -1 if record.value is None else <int32_t>len(record.value)
    view.header_count = 0
    view.headers = NULL
    view.headers_size = 0


cdef object fetched_error(const FetchedPartition* fetched, object name):
    where = f"partition {name} at offset {fetched.next_offset}"
    remedy = "To skip the batch, move the consumer to an offset after it with Consumer.seek"
    if fetched.status == FETCHED_WRONG_CHECKSUM:
        return errors.CorruptMessageError(f"{where}: the record batch has a wrong checksum. {remedy}")
    if fetched.status == FETCHED_TOO_LARGE:
        limit = fetched.decompressed_limit_bytes
        return errors.MessageTooLargeError(f"{where}: the record batch holds more than {limit} bytes once decompressed")
    if fetched.status == FETCHED_NO_CODEC:
        codec = fetched.batch.attributes & COMPRESSION_MASK
        from kcore.record.compression import NAMES
        label = NAMES[codec] if codec < len(NAMES) else f"codec {codec}"
        return errors.UnsupportedCompressionTypeError(
            f"{where}: neither a library nor a package for {label} is installed here")
    if fetched.status == FETCHED_CUT_SHORT:
        return errors.CorruptMessageError(f"{where}: the answer ends inside its first record batch")
    if fetched.status == FETCHED_NO_MEMORY:
        return MemoryError(where)
    return errors.CorruptMessageError(f"{where}: the record batch is malformed. {remedy}")
