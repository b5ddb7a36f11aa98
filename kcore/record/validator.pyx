"""LogValidator's rules for batches of magic 2 (LogValidator, UnifiedLog.analyzeAndValidateRecords and
ProduceRequest.validateRecords of Apache Kafka 3.9), in the order in which Kafka applies them.

The rules exist only here: the native produce path, the Python path and the internal writers all call this module. A
batch is checked as a whole and patched only then, so a refused batch keeps its bytes. An uncompressed batch costs one
checksum and one walk over its records, without allocation. A compressed one is decompressed and walked by the same
rules. A batch is rewritten into `rebuilt` if the topic requires another codec, or if the offsets inside a compressed
batch do not count up from 0.

Differences to Kafka, in cases that no client produces: an uncompressed batch whose offsets do not count up from 0 is
refused (Kafka stores it, and readers see offsets outside the batch). Bytes after the batch are refused (Kafka drops a
tail that is not a whole batch). The record count of the broker's own batches is checked too. Where Kafka 3.9 returns
UNKNOWN_SERVER_ERROR, an unknown codec gives UNSUPPORTED_COMPRESSION_TYPE, data that cannot be decompressed gives
INVALID_RECORD, and wrong offsets inside a compressed batch are corrected, as the comments in Kafka intend.
tests/oracle/record compares both.

Concurrency: a pure function over the caller's bytes. Nothing here needs the GIL or a lock.
"""

from libc.stdint cimport INT32_MAX, INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from kcore.cursor cimport Cursor, cursor_over, remaining
from kcore.errors cimport (
    CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE, NONE, UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_COMPRESSION_TYPE,
)
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_INCOMPLETE, BATCH_INVALID, BATCH_OK, BATCH_OLD_MAGIC, BATCH_UNKNOWN_MAGIC,
    COMPRESSION_MASK, CONTROL_MASK, TIMESTAMP_TYPE_MASK, TRANSACTIONAL_MASK, BatchHeader, BatchStatus, ReceivedBatch,
    batch_over, has_valid_checksum, read_batch_header, set_base_offset, set_max_timestamp, set_partition_leader_epoch,
    write_batch_header,
)
from kcore.record.compression cimport (
    CODEC_CORRUPT, CODEC_NO_MEMORY, CODEC_NONE, CODEC_OK, CODEC_TOO_LARGE, CODEC_UNAVAILABLE, CODEC_ZSTD, Bytes,
    CodecStatus, compress, decompress, free_bytes, give_scratch, reserve_bytes, take_scratch,
)
from kcore.record.record_errors cimport (
    RECORD_HAS_LOG_APPEND_TIME, RECORD_HAS_NO_KEY, RECORD_OFFSET_OUT_OF_ORDER, RECORD_TIME_OUT_OF_RANGE, RecordError,
    RecordErrors, record_errors_add, record_errors_free,
)
from kcore.record.record cimport RecordView, put_record_up_to_headers, read_record, record_body_size, varlong_size

cdef enum:
    NO_TIMESTAMP = -1

# What walk_records finds.
cdef struct RecordsSummary:
    int64_t first_timestamp
    int64_t max_timestamp
    bint offsets_count_up        # 0, 1, 2, ...
    bint verbatim                # rewriting the records would give the same bytes


cdef void clear_result(ValidationResult* result) noexcept nogil:
    memset(result, 0, sizeof(ValidationResult))
    result.failed_record_index = -1
    result.first_offset = result.last_offset = result.offset_of_max_timestamp = -1
    result.max_timestamp = NO_TIMESTAMP
    result.log_append_time_ms = NO_TIMESTAMP


cdef int16_t refuse(ValidationResult* result, int16_t error, const char* message, int32_t record_index) noexcept nogil:
    result.error = error
    result.message = message
    result.failed_record_index = record_index
    return error


cdef int16_t refuse_batch(ValidationResult* result, int16_t error, const char* message) noexcept nogil:
    return refuse(result, error, message, -1)


# --- the batch as a whole --------------------------------------------------------------------------------------------


cdef int16_t check_framing(const ReceivedBatch* batch, ValidationResult* result) noexcept nogil:
    """ProduceRequest.validateRecords: one batch of magic 2 and nothing else."""
    cdef BatchStatus status = batch.status
    if status == BATCH_INCOMPLETE:
        return refuse_batch(result, INVALID_RECORD, "The records are not a complete record batch.")
    if status == BATCH_OLD_MAGIC:
        return refuse_batch(result, INVALID_RECORD, "Only record batches of magic 2 can be produced.")
    if status == BATCH_UNKNOWN_MAGIC:
        return refuse_batch(result, CORRUPT_MESSAGE, "The record batch has an unknown magic.")
    if status == BATCH_INVALID and (batch.header.magic != 2 or batch.header.size_bytes < BATCH_HEADER_SIZE):
        return refuse_batch(result, CORRUPT_MESSAGE, "The record batch is smaller than its header.")
    if <size_t>batch.header.size_bytes != batch.size_bytes:
        return refuse_batch(result, INVALID_RECORD, "Exactly one record batch can be produced to a partition.")
    return NONE


cdef int16_t check_size_and_checksum(const uint8_t* batch, const BatchHeader* header, const ValidationRules* rules,
                                     int origin, ValidationResult* result) noexcept nogil:
    """The checks of UnifiedLog.analyzeAndValidateRecords, after the codec rules of the request."""
    cdef int codec = header.attributes & COMPRESSION_MASK
    if origin == ORIGIN_CLIENT and codec == CODEC_ZSTD and rules.reject_zstd:
        return refuse_batch(result, UNSUPPORTED_COMPRESSION_TYPE, "Produce requests below version 7 cannot carry zstd.")
    if origin == ORIGIN_CLIENT and header.base_offset != 0:
        return refuse_batch(result, INVALID_RECORD, "The base offset of a produced record batch must be 0.")
    if header.size_bytes > rules.max_message_bytes:
        return refuse_batch(result, MESSAGE_TOO_LARGE, "The record batch is larger than max.message.bytes.")
    if not has_valid_checksum(batch, header):
        return refuse_batch(result, CORRUPT_MESSAGE, "The record batch has a wrong checksum.")
    if codec > CODEC_ZSTD:
        return refuse_batch(result, UNSUPPORTED_COMPRESSION_TYPE, "The record batch has an unknown codec.")
    return NONE


cdef int16_t check_header(const BatchHeader* header, int origin, ValidationResult* result) noexcept nogil:
    """LogValidator.validateBatch."""
    if header.last_offset_delta < 0 or header.last_offset < header.base_offset:
        return refuse_batch(result, INVALID_RECORD, "The record batch has an invalid offset range.")
    if header.record_count <= 0:
        return refuse_batch(result, INVALID_RECORD, "The record batch has no records.")
    if <int64_t>header.last_offset_delta + 1 != header.record_count:
        return refuse_batch(result, INVALID_RECORD, "The record batch's offset range and record count differ.")
    if origin != ORIGIN_CLIENT:
        return NONE
    if header.attributes & CONTROL_MASK:
        return refuse_batch(result, INVALID_RECORD, "Clients are not allowed to write control records.")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return refuse_batch(result, INVALID_RECORD, "The record batch of a producer id has no valid sequence number.")
    return NONE


# --- the records -----------------------------------------------------------------------------------------------------


cdef inline bint is_out_of_range(int64_t timestamp, int64_t now_ms, const ValidationRules* rules) noexcept nogil:
    # Unsigned subtraction wraps as Java's does; Kafka decides about extreme timestamps in this way.
    cdef int64_t age = <int64_t>(<uint64_t>now_ms - <uint64_t>timestamp)
    return age > rules.timestamp_before_max_ms or <int64_t>(0 - <uint64_t>age) > rules.timestamp_after_max_ms


cdef void note_record_error(RecordErrors* errors, int kind, const RecordView* record, int64_t timestamp, int32_t index,
                            const BatchHeader* header) noexcept nogil:
    cdef RecordError error
    error.index = index
    error.kind = kind
    error.key_size = record.key_size
    error.value_size = record.value_size
    error.offset = <int64_t>(<uint64_t>header.base_offset + <uint64_t><int64_t>record.offset_delta)
    error.timestamp = timestamp
    if kind == RECORD_TIME_OUT_OF_RANGE or kind == RECORD_HAS_LOG_APPEND_TIME:
        errors.has_bad_timestamp = True
    record_errors_add(errors, &error)


cdef void check_record(const RecordView* record, int64_t timestamp, int32_t index, const BatchHeader* header,
                       const ValidationRules* rules, int64_t now_ms, RecordsSummary* summary,
                       RecordErrors* errors) noexcept nogil:
    """LogValidator.validateRecord: at most one error per record."""
    if record.offset_delta != index:
        summary.offsets_count_up = False
    if rules.compacted and record.key_size < 0:
        note_record_error(errors, RECORD_HAS_NO_KEY, record, timestamp, index, header)
    elif (rules.timestamp_type == TIMESTAMP_CREATE_TIME and timestamp != NO_TIMESTAMP
            and is_out_of_range(timestamp, now_ms, rules)):
        note_record_error(errors, RECORD_TIME_OUT_OF_RANGE, record, timestamp, index, header)
    elif (header.attributes & TIMESTAMP_TYPE_MASK
            and (rules.timestamp_type != TIMESTAMP_CREATE_TIME or timestamp == NO_TIMESTAMP)):
        note_record_error(errors, RECORD_HAS_LOG_APPEND_TIME, record, timestamp, index, header)
    elif record.offset_delta != index and not header.attributes & COMPRESSION_MASK:
        note_record_error(errors, RECORD_OFFSET_OUT_OF_ORDER, record, timestamp, index, header)


cdef int16_t refuse_records(const RecordErrors* errors, ValidationResult* result) noexcept nogil:
    """LogValidator.processRecordErrors: INVALID_TIMESTAMP if any record has a bad timestamp. If memory for the list was
    exhausted, no record is named."""
    cdef int32_t first = errors.errors[0].index if errors.count > 0 else -1
    if errors.has_bad_timestamp:
        return refuse(result, INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp",
                      first)
    return refuse(result, INVALID_RECORD, "One or more records have been rejected due to record errors", first)


cdef int16_t refuse_unreadable(ValidationResult* result, const char* message, int32_t index) noexcept nogil:
    """Refuses the batch itself and drops the list of invalid records."""
    record_errors_free(&result.record_errors)
    return refuse(result, INVALID_RECORD, message, index)


cdef int16_t walk_records(const uint8_t* records, size_t size, const BatchHeader* header, const ValidationRules* rules,
                          int64_t now_ms, RecordsSummary* summary, ValidationResult* result) noexcept nogil:
    cdef Cursor cursor = cursor_over(records, size)
    cdef RecordView record
    cdef int64_t timestamp
    cdef int32_t index
    cdef bint log_append_time = (header.attributes & TIMESTAMP_TYPE_MASK) != 0
    for index in range(header.record_count):
        if not read_record(&cursor, &record):
            return refuse_unreadable(result, "A record's lengths do not fit its batch.", index)
        timestamp = <int64_t>(<uint64_t>header.base_timestamp + <uint64_t>record.timestamp_delta)
        if log_append_time:
            timestamp = header.max_timestamp
        check_record(&record, timestamp, index, header, rules, now_ms, summary, &result.record_errors)
        if index == 0:
            summary.first_timestamp = timestamp
            summary.verbatim = record.timestamp_delta == 0 and not log_append_time
        if record.attributes != 0:
            summary.verbatim = False
        if timestamp > summary.max_timestamp:
            summary.max_timestamp = timestamp
    if remaining(&cursor) != 0:
        return refuse_unreadable(result, "The record batch contains more bytes than its records.", -1)
    if result.record_errors.total > 0:
        result.record_errors.earliest_ms = <int64_t>(<uint64_t>now_ms - <uint64_t>rules.timestamp_before_max_ms)
        result.record_errors.latest_ms = <int64_t>(<uint64_t>now_ms + <uint64_t>rules.timestamp_after_max_ms)
        return refuse_records(&result.record_errors, result)
    return NONE


cdef int16_t trust_header(const BatchHeader* header, const ValidationRules* rules, int64_t now_ms,
                          RecordsSummary* summary, ValidationResult* result) noexcept nogil:
    """Header-only validation: takes the maximum timestamp from the header."""
    summary.max_timestamp = header.max_timestamp
    if header.attributes & TIMESTAMP_TYPE_MASK:
        return refuse_batch(result, INVALID_TIMESTAMP, "Producers cannot set the timestamp type LogAppendTime.")
    if (rules.timestamp_type == TIMESTAMP_CREATE_TIME and header.max_timestamp != NO_TIMESTAMP
            and is_out_of_range(header.max_timestamp, now_ms, rules)):
        return refuse_batch(result, INVALID_TIMESTAMP, "A record's timestamp is out of the topic's range.")
    return NONE


cdef int16_t refuse_codec(CodecStatus status, ValidationResult* result) noexcept nogil:
    if status == CODEC_CORRUPT:
        return refuse_batch(result, INVALID_RECORD, "The compressed records cannot be read.")
    if status == CODEC_TOO_LARGE:
        return refuse_batch(result, MESSAGE_TOO_LARGE, "The decompressed records are larger than the broker allows.")
    if status == CODEC_UNAVAILABLE:
        result.codec_unavailable = True
        return refuse_batch(result, UNSUPPORTED_COMPRESSION_TYPE, "This system has no library for the codec.")
    return refuse_batch(result, UNKNOWN_SERVER_ERROR, "Out of memory while reading a record batch.")


# --- what is written -------------------------------------------------------------------------------------------------


cdef void patch_in_place(uint8_t* batch, BatchHeader* header, const ValidationRules* rules, int64_t base_offset,
                         int32_t leader_epoch, int64_t now_ms, const RecordsSummary* summary) noexcept nogil:
    """Patches the header. The checksum covers timestamps and not offsets, so it rarely has to be updated."""
    cdef bint log_append_time = rules.timestamp_type == TIMESTAMP_LOG_APPEND_TIME
    cdef int64_t max_timestamp = now_ms if log_append_time else summary.max_timestamp
    set_base_offset(batch, header, base_offset)
    set_partition_leader_epoch(batch, header, leader_epoch)
    if header.max_timestamp != max_timestamp or log_append_time != ((header.attributes & TIMESTAMP_TYPE_MASK) != 0):
        set_max_timestamp(batch, header, max_timestamp, log_append_time)


cdef CodecStatus write_records_anew(const uint8_t* records, size_t size, const BatchHeader* header,
                                    const RecordsSummary* summary, Bytes* out) noexcept nogil:
    """Writes the records as MemoryRecordsBuilder would: offsets from 0, timestamps relative to the first record."""
    cdef Cursor cursor = cursor_over(records, size)
    cdef RecordView record
    cdef size_t body_size
    cdef uint8_t* target
    cdef int32_t index
    for index in range(header.record_count):
        if not read_record(&cursor, &record):
            return CODEC_CORRUPT
        record.attributes = 0
        record.offset_delta = index
        if header.attributes & TIMESTAMP_TYPE_MASK:
            record.timestamp_delta = 0
        else:
            record.timestamp_delta = <int64_t>(<uint64_t>header.base_timestamp + <uint64_t>record.timestamp_delta
                                               - <uint64_t>summary.first_timestamp)
        body_size = record_body_size(&record)
        if out.capacity - out.size < body_size + 5:
            if not reserve_bytes(out, (out.size + body_size + 5) * 2):
                return CODEC_NO_MEMORY
        target = put_record_up_to_headers(out.data + out.size, &record, body_size)
        memcpy(target, record.headers, record.headers_size)
        out.size += varlong_size(<int64_t>body_size) + body_size
    return CODEC_OK


cdef int16_t wrap_anew(const uint8_t* payload, size_t size, int codec, const BatchHeader* header,
                       const ValidationRules* rules, int64_t base_offset, int32_t leader_epoch, int64_t now_ms,
                       const RecordsSummary* summary, ValidationResult* result) noexcept nogil:
    """Puts a header before a finished payload, in result.rebuilt."""
    cdef BatchHeader* fresh = &result.header
    if size + BATCH_HEADER_SIZE > <size_t>rules.max_message_bytes:
        return refuse_batch(result, MESSAGE_TOO_LARGE, "The recompressed record batch is larger than max.message.bytes.")
    if not reserve_bytes(&result.rebuilt, size + BATCH_HEADER_SIZE):
        return refuse_batch(result, UNKNOWN_SERVER_ERROR, "Out of memory while recompressing a record batch.")
    memcpy(result.rebuilt.data + BATCH_HEADER_SIZE, payload, size)
    result.rebuilt.size = size + BATCH_HEADER_SIZE
    fresh[0] = header[0]
    fresh.size_bytes = <int32_t>result.rebuilt.size
    fresh.base_offset = base_offset
    fresh.last_offset = base_offset + header.last_offset_delta
    fresh.partition_leader_epoch = leader_epoch
    fresh.attributes = <int16_t>(codec | (header.attributes & TRANSACTIONAL_MASK))
    fresh.base_timestamp = summary.first_timestamp
    fresh.max_timestamp = summary.max_timestamp
    if rules.timestamp_type == TIMESTAMP_LOG_APPEND_TIME:
        fresh.attributes |= TIMESTAMP_TYPE_MASK
        fresh.max_timestamp = now_ms
    fresh.crc = write_batch_header(result.rebuilt.data, fresh)
    return NONE


cdef int16_t rebuild(const uint8_t* records, size_t size, int codec, const BatchHeader* header,
                     const ValidationRules* rules, int64_t base_offset, int32_t leader_epoch, int64_t now_ms,
                     const RecordsSummary* summary, ValidationResult* result) noexcept nogil:
    """LogValidator.buildRecordsAndAssignOffsets, starting from the uncompressed records."""
    cdef Bytes anew, compressed
    cdef CodecStatus status = CODEC_OK
    cdef int16_t error
    take_scratch(&anew)
    take_scratch(&compressed)
    if not (summary.verbatim and summary.offsets_count_up):
        status = write_records_anew(records, size, header, summary, &anew)
        records = anew.data
        size = anew.size
    if status == CODEC_OK and codec != CODEC_NONE:
        status = compress(codec, rules.compression_level, records, size, &compressed)
        records = compressed.data
        size = compressed.size
    if status == CODEC_OK:
        error = wrap_anew(records, size, codec, header, rules, base_offset, leader_epoch, now_ms, summary, result)
    else:
        error = refuse_codec(status, result)
    give_scratch(&anew)
    give_scratch(&compressed)
    return error


# --- one batch of a leader -------------------------------------------------------------------------------------------


cdef int target_codec_of(const BatchHeader* header, const ValidationRules* rules) noexcept nogil:
    cdef int codec = header.attributes & COMPRESSION_MASK
    if rules.target_codec == COMPRESSION_PRODUCER:
        return codec
    # Control records are not compressed unless they were written compressed.
    if codec == CODEC_NONE and header.attributes & CONTROL_MASK:
        return codec
    return rules.target_codec


cdef int16_t assign(uint8_t* batch, const uint8_t* records, size_t records_size, const BatchHeader* header,
                    const ValidationRules* rules, int64_t base_offset, int32_t leader_epoch, int64_t now_ms,
                    const RecordsSummary* summary, ValidationResult* result) noexcept nogil:
    cdef int codec = header.attributes & COMPRESSION_MASK
    cdef int target_codec = target_codec_of(header, rules)
    cdef int16_t error
    if codec != target_codec or not summary.offsets_count_up:
        error = rebuild(records, records_size, target_codec, header, rules, base_offset, leader_epoch, now_ms, summary,
                        result)
        if error != NONE:
            return error
    else:
        result.header = header[0]
        patch_in_place(batch, &result.header, rules, base_offset, leader_epoch, now_ms, summary)
    result.batch_count = 1
    result.record_count = header.record_count
    result.first_offset = base_offset
    result.last_offset = base_offset + header.record_count - 1
    result.max_timestamp = summary.max_timestamp
    result.offset_of_max_timestamp = result.last_offset
    if rules.timestamp_type == TIMESTAMP_LOG_APPEND_TIME:
        result.max_timestamp = now_ms
        result.log_append_time_ms = now_ms
    result.valid_bytes = header.size_bytes
    return NONE


cdef int16_t validate_leader_batch(uint8_t* batch, const BatchHeader* header, const ValidationRules* rules,
                                   int64_t base_offset, int32_t leader_epoch, int64_t now_ms,
                                   ValidationResult* result) noexcept nogil:
    """Validates the records, decompressed if necessary, and assigns offsets."""
    cdef RecordsSummary summary
    cdef const uint8_t* records = batch + BATCH_HEADER_SIZE
    cdef size_t size = <size_t>header.size_bytes - BATCH_HEADER_SIZE
    cdef size_t limit = <size_t>rules.decompressed_limit_bytes if rules.decompressed_limit_bytes > 0 else INT32_MAX
    cdef int codec = header.attributes & COMPRESSION_MASK
    cdef Bytes decompressed
    cdef CodecStatus status
    cdef int16_t error
    memset(&summary, 0, sizeof(summary))
    summary.max_timestamp = NO_TIMESTAMP
    summary.offsets_count_up = True
    if rules.header_only and codec == target_codec_of(header, rules):
        error = trust_header(header, rules, now_ms, &summary, result)
        if error != NONE:
            return error
        return assign(batch, records, size, header, rules, base_offset, leader_epoch, now_ms, &summary, result)
    take_scratch(&decompressed)
    status = CODEC_OK
    if codec != CODEC_NONE:
        status = decompress(codec, records, size, limit, &decompressed)
        records = decompressed.data
        size = decompressed.size
        result.cpu_decompressed_bytes = <int64_t>size
    if status != CODEC_OK:
        error = refuse_codec(status, result)
    else:
        error = walk_records(records, size, header, rules, now_ms, &summary, result)
    if error == NONE:
        error = assign(batch, records, size, header, rules, base_offset, leader_epoch, now_ms, &summary, result)
    give_scratch(&decompressed)
    return error


# --- batches of a follower -------------------------------------------------------------------------------------------


cdef int16_t validate_replicated(const uint8_t* batches, size_t size, int64_t base_offset,
                                 ValidationResult* result) noexcept nogil:
    cdef BatchHeader header
    cdef BatchStatus status
    cdef size_t position = 0
    cdef int64_t next_offset = base_offset
    clear_result(result)
    while position < size:
        status = read_batch_header(batches + position, size - position, &header)
        if status == BATCH_INCOMPLETE:
            break
        result.failed_batch_position = <int32_t>position
        if status == BATCH_OLD_MAGIC:
            header.record_count = 1
        elif status != BATCH_OK:
            return refuse_batch(result, CORRUPT_MESSAGE, "A replicated record batch has an invalid header.")
        elif not has_valid_checksum(batches + position, &header):
            return refuse_batch(result, CORRUPT_MESSAGE, "A replicated record batch has a wrong checksum.")
        if header.base_offset < next_offset or header.last_offset < header.base_offset:
            return refuse_batch(result, INVALID_RECORD, "The offsets of replicated record batches do not go up.")
        if result.batch_count == 0:
            result.first_offset = header.base_offset
        if header.max_timestamp > result.max_timestamp:
            result.max_timestamp = header.max_timestamp
            result.offset_of_max_timestamp = header.last_offset
        result.batch_count += 1
        result.record_count += header.record_count
        result.last_offset = header.last_offset
        next_offset = header.last_offset + 1
        position += <size_t>header.size_bytes
    result.failed_batch_position = 0
    result.valid_bytes = <int64_t>position
    return NONE


# --- the interface ---------------------------------------------------------------------------------------------------


cdef void free_validation_result(ValidationResult* result) noexcept nogil:
    free_bytes(&result.rebuilt)
    record_errors_free(&result.record_errors)


cdef int16_t validate_and_assign(
    const ReceivedBatch* batch, const ValidationRules* rules, int origin, int64_t base_offset, int32_t leader_epoch,
    int64_t now_ms, ValidationResult* result,
) noexcept nogil:
    cdef int16_t error
    clear_result(result)
    error = check_framing(batch, result)
    if error == NONE:
        error = check_size_and_checksum(batch.data, &batch.header, rules, origin, result)
    if error == NONE:
        error = check_header(&batch.header, origin, result)
    if error == NONE:
        error = validate_leader_batch(batch.data, &batch.header, rules, base_offset, leader_epoch, now_ms, result)
    return error


# --- Python interface ------------------------------------------------------------------------------------------------


cdef class Validation:
    """The result of `validate`: an error, or the bytes to write and their offsets and timestamps."""

    cdef readonly int error
    cdef readonly object message
    cdef readonly object records
    cdef readonly bint rebuilt
    cdef readonly bint codec_unavailable
    cdef readonly int failed_record_index
    cdef readonly list failed_records
    cdef readonly int failed_batch_position
    cdef readonly int batch_count
    cdef readonly int64_t record_count
    cdef readonly int64_t first_offset
    cdef readonly int64_t last_offset
    cdef readonly int64_t max_timestamp
    cdef readonly int64_t offset_of_max_timestamp
    cdef readonly int64_t log_append_time_ms
    cdef readonly int64_t decompressed_bytes
    cdef readonly int64_t valid_bytes

    def __repr__(self):
        if self.error:
            return f"<Validation error={self.error} record={self.failed_record_index} {self.message!r}>"
        return f"<Validation offsets={self.first_offset}..{self.last_offset} rebuilt={self.rebuilt}>"


cdef Validation to_python(const ValidationResult* result, bytearray patched):
    cdef int32_t i
    cdef Validation out = Validation.__new__(Validation)
    out.error = result.error
    out.message = result.message.decode("ascii") if result.message != NULL else None
    out.rebuilt = result.rebuilt.data != NULL
    if result.error == NONE:
        out.records = result.rebuilt.data[:result.rebuilt.size] if out.rebuilt else bytes(patched[:result.valid_bytes])
    out.codec_unavailable = result.codec_unavailable
    out.failed_record_index = result.failed_record_index
    out.failed_records = [result.record_errors.errors[i].index for i in range(result.record_errors.count)]
    out.failed_batch_position = result.failed_batch_position
    out.batch_count = result.batch_count
    out.record_count = result.record_count
    out.first_offset = result.first_offset
    out.last_offset = result.last_offset
    out.max_timestamp = result.max_timestamp
    out.offset_of_max_timestamp = result.offset_of_max_timestamp
    out.log_append_time_ms = result.log_append_time_ms
    out.decompressed_bytes = result.cpu_decompressed_bytes
    out.valid_bytes = result.valid_bytes
    return out


def validate(records, *, int64_t base_offset=0, int32_t leader_epoch=0, int64_t now_ms=0, int origin=ORIGIN_CLIENT,
             bint compacted=False, bint header_only=False, bint reject_zstd=False,
             int timestamp_type=TIMESTAMP_CREATE_TIME, int target_codec=COMPRESSION_PRODUCER, compression_level=None,
             int32_t max_message_bytes=1048588, int64_t timestamp_before_max_ms=0x7FFFFFFFFFFFFFFF,
             int64_t timestamp_after_max_ms=0x7FFFFFFFFFFFFFFF, int64_t decompressed_limit_bytes=0):
    """Validates a copy of `records`, as the leader or, with ORIGIN_REPLICATION, as a follower.

    The defaults are those of a topic in Kafka 3.9.
    """
    cdef bytearray patched = bytearray(records)
    cdef uint8_t* start = <uint8_t*><char*>patched
    cdef size_t size = <size_t>len(patched)
    cdef ValidationRules rules
    cdef ValidationResult result
    cdef ReceivedBatch batch
    rules.compacted = compacted
    rules.header_only = header_only
    rules.reject_zstd = reject_zstd
    rules.timestamp_type = <int8_t>timestamp_type
    rules.target_codec = <int8_t>target_codec
    rules.compression_level = INT32_MIN if compression_level is None else compression_level
    rules.max_message_bytes = max_message_bytes
    rules.timestamp_before_max_ms = timestamp_before_max_ms
    rules.timestamp_after_max_ms = timestamp_after_max_ms
    rules.decompressed_limit_bytes = decompressed_limit_bytes
    with nogil:
        if origin == ORIGIN_REPLICATION:
            validate_replicated(start, size, base_offset, &result)
        else:
            batch = batch_over(start, size)
            validate_and_assign(&batch, &rules, origin, base_offset, leader_epoch, now_ms, &result)
    try:
        return to_python(&result, patched)
    finally:
        free_validation_result(&result)
