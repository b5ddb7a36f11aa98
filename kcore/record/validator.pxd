"""LogValidator's rules: what a leader requires of the batches of a produce request before it appends them.

The rules exist only here. The native produce path, the Python path and the internal writers all call this module.
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
    ORIGIN_REPLICATION = 2     # offsets and epochs are the leader's: nothing is assigned, only consistency is checked

cdef struct ValidationRules:
    bint compacted                       # every record needs a key
    bint header_only                     # opt-in `log.validation.header.only`: the records are not read
    bint reject_zstd                     # Produce below version 7 must not carry zstd (KIP-110)
    int8_t timestamp_type
    int8_t target_codec                  # COMPRESSION_PRODUCER or a Codec
    int32_t compression_level
    int32_t max_message_bytes            # of one batch, after any recompression
    int64_t timestamp_before_max_ms
    int64_t timestamp_after_max_ms
    int64_t decompressed_limit_bytes

cdef struct ValidationResult:
    int16_t error                        # kcore.errors.ErrorCode; NONE if the batch is valid
    int32_t failed_batch_position        # byte position of the invalid batch
    int32_t failed_record_index          # the first invalid record; -1 if the batch itself is invalid
    RecordErrors record_errors           # every invalid record; empty if the batch itself is invalid
    const char* message                  # a static English sentence; NULL if error is NONE
    BatchHeader header                   # of a leader's batch, as it is written to the log
    int32_t batch_count
    int64_t record_count
    int64_t first_offset
    int64_t last_offset
    int64_t max_timestamp
    int64_t offset_of_max_timestamp      # the last offset of the batch that contains it, as in the time index
    int64_t log_append_time_ms           # -1 with CreateTime
    Bytes rebuilt                        # set if the batch had to be rewritten; replaces the given bytes
    int64_t cpu_decompressed_bytes
    int64_t valid_bytes                  # follower: size of the complete batches; an incomplete tail is no error
    bint codec_unavailable               # with UNSUPPORTED_COMPRESSION_TYPE: the system lacks the codec's library

# Validates a leader's batch and assigns offsets from `base_offset` on, in place if possible.
cdef int16_t validate_and_assign(
    const ReceivedBatch* batch, const ValidationRules* rules, int origin, int64_t base_offset, int32_t leader_epoch,
    int64_t now_ms, ValidationResult* result,
) noexcept nogil
# Validates a follower's batches: the offsets continue the log, the checksums are correct.
cdef int16_t validate_replicated(const uint8_t* batches, size_t size, int64_t base_offset,
                                 ValidationResult* result) noexcept nogil
# Releases `rebuilt` and `record_errors`. Safe on a result that owns nothing.
cdef void free_validation_result(ValidationResult* result) noexcept nogil
