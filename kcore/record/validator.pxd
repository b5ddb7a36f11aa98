"""LogValidator's rules: what a leader demands of the batches of a produce request before it appends them.

The one rule book: the native produce path, the Python path and the internal writers all come through here.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from kcore.record.batch cimport BatchHeader, ReceivedBatch
from kcore.record.compression cimport Bytes
from kcore.record.record_errors cimport RecordErrors

cdef enum:
    TIMESTAMP_CREATE_TIME = 0
    TIMESTAMP_LOG_APPEND_TIME = 1
    COMPRESSION_PRODUCER = -1  # keep the producer's codec

cdef enum AppendOrigin:
    ORIGIN_CLIENT = 0
    ORIGIN_COORDINATOR = 1     # control batches and non-sequenced producer ids are allowed
    ORIGIN_REPLICATION = 2     # offsets and epochs are the leader's: nothing is assigned, only sanity is checked

cdef struct ValidationRules:
    bint compacted                       # every record needs a key
    bint header_only                     # opt-in `log.validation.header.only`: records inside are not looked at
    bint reject_zstd                     # a Produce below version 7, whose clients' peers could not read it (KIP-110)
    int8_t timestamp_type
    int8_t target_codec                  # COMPRESSION_PRODUCER or a Codec
    int32_t compression_level
    int32_t max_message_bytes            # of one batch, after any recompression
    int64_t timestamp_before_max_ms
    int64_t timestamp_after_max_ms
    int64_t decompressed_limit_bytes

cdef struct ValidationResult:
    int16_t error                        # kcore.errors.ErrorCode; NONE when everything holds
    int32_t failed_batch_position        # byte position of the offending batch
    int32_t failed_record_index          # of the first one, -1 when the batch itself is at fault
    RecordErrors record_errors           # every record at fault; empty when the batch itself is
    const char* message                  # a static English sentence, NULL when error is NONE
    BatchHeader header                   # of a leader's batch, as it is to be written
    int32_t batch_count
    int64_t record_count
    int64_t first_offset
    int64_t last_offset
    int64_t max_timestamp
    int64_t offset_of_max_timestamp      # the last offset of the batch that holds it, as the time index wants it
    int64_t log_append_time_ms           # -1 with CreateTime
    Bytes rebuilt                        # filled when the batch had to be written again; replaces the given bytes
    int64_t cpu_decompressed_bytes
    int64_t valid_bytes                  # of a follower: complete batches at the front; an incomplete tail is no error
    bint codec_unavailable               # with UNSUPPORTED_COMPRESSION_TYPE: the system lacks the codec's library

# Checks a leader's batch and assigns it offsets from `base_offset` on, in place where the bytes allow it.
cdef int16_t validate_and_assign(
    const ReceivedBatch* batch, const ValidationRules* rules, int origin, int64_t base_offset, int32_t leader_epoch,
    int64_t now_ms, ValidationResult* result,
) noexcept nogil
# Checks the batches that a follower got from its leader: offsets increase from the log's end, checksums are right.
cdef int16_t validate_replicated(const uint8_t* batches, size_t size, int64_t base_offset,
                                 ValidationResult* result) noexcept nogil
# Releases what a result owns, `rebuilt` and `record_errors`; harmless on a result that owns nothing.
cdef void free_validation_result(ValidationResult* result) noexcept nogil
