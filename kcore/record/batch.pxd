"""The header of a record batch of magic 2 (KIP-98), read and patched in place.

    base offset int64 | batch length int32 | partition leader epoch int32 | magic int8 | crc uint32 | attributes int16
    last offset delta int32 | base timestamp int64 | max timestamp int64 | producer id int64 | producer epoch int16
    base sequence int32 | record count int32 | records

`batch length` counts the bytes after itself. The checksum covers everything from `attributes` on.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

cdef enum:
    LOG_OVERHEAD = 12          # base offset and batch length, which the length does not count; the same in every magic
    LENGTH_POSITION = 8
    MAGIC_POSITION = 16
    CRC_POSITION = 17
    ATTRIBUTES_POSITION = 21   # the checksum covers the bytes from here on
    BATCH_HEADER_SIZE = 61
    COMPRESSION_MASK = 0x07
    TIMESTAMP_TYPE_MASK = 0x08
    TRANSACTIONAL_MASK = 0x10
    CONTROL_MASK = 0x20
    DELETE_HORIZON_MASK = 0x40

cdef enum BatchStatus:
    BATCH_OK = 0
    BATCH_INCOMPLETE = 1       # fewer bytes than the header needs, or than its length says
    BATCH_INVALID = 2          # a length, count or delta that no writer produces
    BATCH_OLD_MAGIC = 3        # a message of magic 0 or 1: no producer, record_count -1, one offset (the last)
    BATCH_UNKNOWN_MAGIC = 4

cdef struct BatchHeader:
    int64_t base_offset
    int32_t size_bytes         # the whole batch, LOG_OVERHEAD included
    int32_t partition_leader_epoch
    int8_t magic
    uint32_t crc
    int16_t attributes
    int32_t last_offset_delta
    int64_t last_offset
    int64_t base_timestamp
    int64_t max_timestamp
    int64_t producer_id
    int16_t producer_epoch
    int32_t base_sequence
    int32_t record_count

# The bytes of a received batch, with their header, which `batch_over` parses once.
cdef struct ReceivedBatch:
    uint8_t* data              # borrowed
    size_t size_bytes          # readable bytes; only the log's rules require it to equal header.size_bytes
    BatchStatus status
    BatchHeader header

# Parses a header from `size` readable bytes. BATCH_INCOMPLETE sets size_bytes if at least 12 bytes are there.
# Attributes are 0 if the bytes end, or are found to be invalid, before them.
cdef BatchStatus read_batch_header(const uint8_t* data, size_t size, BatchHeader* out) noexcept nogil
cdef ReceivedBatch batch_over(uint8_t* data, size_t size) noexcept nogil
# Whether the checksum in a whole batch of magic 2 (header.size_bytes readable bytes) is correct.
cdef bint has_valid_checksum(const uint8_t* batch, const BatchHeader* header) noexcept nogil
# The setters change the bytes and `header` together. The checksum does not cover these two fields:
cdef void set_base_offset(uint8_t* batch, BatchHeader* header, int64_t base_offset) noexcept nogil
cdef void set_partition_leader_epoch(uint8_t* batch, BatchHeader* header, int32_t epoch) noexcept nogil
# Sets the maximum timestamp and the timestamp type, and updates the checksum, which covers them.
cdef void set_max_timestamp(uint8_t* batch, BatchHeader* header, int64_t timestamp_ms,
                            bint log_append_time) noexcept nogil
# Writes the header of a batch whose records are already in place, and returns the checksum. `magic`, `crc` and
# `last_offset` of `header` are not used.
cdef uint32_t write_batch_header(uint8_t* batch, const BatchHeader* header) noexcept nogil
