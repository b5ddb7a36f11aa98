"""The header of a record batch of magic 2 (KIP-98; DefaultRecordBatch of Apache Kafka), read and patched in place.

batch.pxd shows the layout. Concurrency: pure functions over borrowed bytes; the owner decides who may patch them.
Received bytes are read through the checked cursor. Call the setters only after `read_batch_header` has found the batch
complete.
"""

from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from kcore.cursor cimport Cursor, cursor_over, read_int8, read_int16, read_int32, read_int64
from kcore.record.crc cimport crc32c

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)
    uint32_t htobe32(uint32_t)

cdef enum:
    LEADER_EPOCH_POSITION = 12
    LAST_OFFSET_DELTA_POSITION = 23
    BASE_TIMESTAMP_POSITION = 27
    MAX_TIMESTAMP_POSITION = 35
    PRODUCER_ID_POSITION = 43
    PRODUCER_EPOCH_POSITION = 51
    BASE_SEQUENCE_POSITION = 53
    RECORD_COUNT_POSITION = 57
    # A message of magic 0 without key and value: crc, magic, attributes and two lengths.
    SMALLEST_OLD_MESSAGE = 14
    SMALLEST_MESSAGE_WITH_TIME = 22


cdef BatchStatus read_batch_header(const uint8_t* data, size_t size, BatchHeader* out) noexcept nogil:
    cdef Cursor cursor = cursor_over(data, size)
    cdef int32_t counted_bytes
    out.size_bytes = 0
    out.magic = -1
    out.attributes = 0
    if size < LOG_OVERHEAD:
        return BATCH_INCOMPLETE
    out.base_offset = read_int64(&cursor)
    counted_bytes = read_int32(&cursor)
    if counted_bytes < SMALLEST_OLD_MESSAGE or counted_bytes > INT32_MAX - LOG_OVERHEAD:
        return BATCH_INVALID
    out.size_bytes = counted_bytes + LOG_OVERHEAD
    if size <= MAGIC_POSITION:
        return BATCH_INCOMPLETE
    out.partition_leader_epoch = read_int32(&cursor)
    out.magic = read_int8(&cursor)
    if out.magic < 0 or out.magic > 2:
        return BATCH_UNKNOWN_MAGIC
    if out.magic < 2:
        return read_old_head(&cursor, size, out)
    if out.size_bytes < BATCH_HEADER_SIZE:
        return BATCH_INVALID
    if size < BATCH_HEADER_SIZE:
        return BATCH_INCOMPLETE
    out.crc = <uint32_t>read_int32(&cursor)
    out.attributes = read_int16(&cursor)
    out.last_offset_delta = read_int32(&cursor)
    out.base_timestamp = read_int64(&cursor)
    out.max_timestamp = read_int64(&cursor)
    out.producer_id = read_int64(&cursor)
    out.producer_epoch = read_int16(&cursor)
    out.base_sequence = read_int32(&cursor)
    out.record_count = read_int32(&cursor)
    # Unsigned, so that a malicious base offset wraps and does not overflow. The callers check the sign.
    out.last_offset = <int64_t>(<uint64_t>out.base_offset + <uint64_t><int64_t>out.last_offset_delta)
    if out.last_offset_delta < 0 or out.record_count < 0:
        return BATCH_INVALID
    return BATCH_OK if size >= <size_t>out.size_bytes else BATCH_INCOMPLETE


cdef ReceivedBatch batch_over(uint8_t* data, size_t size) noexcept nogil:
    cdef ReceivedBatch batch
    batch.data = data
    batch.size_bytes = size
    batch.status = read_batch_header(data, size, &batch.header)
    return batch


cdef BatchStatus read_old_head(Cursor* cursor, size_t size, BatchHeader* out) noexcept nogil:
    """Reads a message of magic 0 or 1 as a batch: crc, magic, attributes and, in magic 1, the timestamp."""
    out.crc = <uint32_t>out.partition_leader_epoch
    out.partition_leader_epoch = -1
    out.attributes = <uint8_t>read_int8(cursor)
    out.base_timestamp = read_int64(cursor) if out.magic == 1 else -1
    out.last_offset = out.base_offset
    out.last_offset_delta = 0
    out.producer_id = out.producer_epoch = out.base_sequence = out.record_count = -1
    if out.magic == 1 and out.size_bytes < LOG_OVERHEAD + SMALLEST_MESSAGE_WITH_TIME:
        return BATCH_INVALID
    if cursor.failed:
        out.base_timestamp = -1
    out.max_timestamp = out.base_timestamp
    return BATCH_OLD_MAGIC if size >= <size_t>out.size_bytes else BATCH_INCOMPLETE


cdef inline uint32_t checksum_of(const uint8_t* batch, const BatchHeader* header) noexcept nogil:
    return crc32c(batch + ATTRIBUTES_POSITION, <size_t>header.size_bytes - ATTRIBUTES_POSITION)


cdef bint has_valid_checksum(const uint8_t* batch, const BatchHeader* header) noexcept nogil:
    return checksum_of(batch, header) == header.crc


cdef inline void write_int16(uint8_t* target, int16_t value) noexcept nogil:
    target[0] = <uint8_t>(value >> 8)
    target[1] = <uint8_t>value


cdef inline void write_int32(uint8_t* target, int32_t value) noexcept nogil:
    cdef uint32_t raw = htobe32(<uint32_t>value)
    memcpy(target, &raw, 4)


cdef inline void write_int64(uint8_t* target, int64_t value) noexcept nogil:
    cdef uint64_t raw = htobe64(<uint64_t>value)
    memcpy(target, &raw, 8)


cdef void set_base_offset(uint8_t* batch, BatchHeader* header, int64_t base_offset) noexcept nogil:
    header.base_offset = base_offset
    header.last_offset = <int64_t>(<uint64_t>base_offset + <uint64_t><int64_t>header.last_offset_delta)
    write_int64(batch, base_offset)


cdef void set_partition_leader_epoch(uint8_t* batch, BatchHeader* header, int32_t epoch) noexcept nogil:
    header.partition_leader_epoch = epoch
    write_int32(batch + LEADER_EPOCH_POSITION, epoch)


cdef void set_max_timestamp(uint8_t* batch, BatchHeader* header, int64_t timestamp_ms,
                            bint log_append_time) noexcept nogil:
    if log_append_time:
        header.attributes |= TIMESTAMP_TYPE_MASK
    else:
        header.attributes &= ~TIMESTAMP_TYPE_MASK
    header.max_timestamp = timestamp_ms
    write_int16(batch + ATTRIBUTES_POSITION, header.attributes)
    write_int64(batch + MAX_TIMESTAMP_POSITION, timestamp_ms)
    header.crc = checksum_of(batch, header)
    write_int32(batch + CRC_POSITION, <int32_t>header.crc)


cdef uint32_t write_batch_header(uint8_t* batch, const BatchHeader* header) noexcept nogil:
    cdef uint32_t crc
    write_int64(batch, header.base_offset)
    write_int32(batch + LENGTH_POSITION, header.size_bytes - LOG_OVERHEAD)
    write_int32(batch + LEADER_EPOCH_POSITION, header.partition_leader_epoch)
    batch[MAGIC_POSITION] = 2
    write_int16(batch + ATTRIBUTES_POSITION, header.attributes)
    write_int32(batch + LAST_OFFSET_DELTA_POSITION, header.last_offset_delta)
    write_int64(batch + BASE_TIMESTAMP_POSITION, header.base_timestamp)
    write_int64(batch + MAX_TIMESTAMP_POSITION, header.max_timestamp)
    write_int64(batch + PRODUCER_ID_POSITION, header.producer_id)
    write_int16(batch + PRODUCER_EPOCH_POSITION, header.producer_epoch)
    write_int32(batch + BASE_SEQUENCE_POSITION, header.base_sequence)
    write_int32(batch + RECORD_COUNT_POSITION, header.record_count)
    crc = checksum_of(batch, header)
    write_int32(batch + CRC_POSITION, <int32_t>crc)
    return crc
