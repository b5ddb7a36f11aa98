"""A topic's configuration as native code uses it."""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
from kcore.record.validator cimport ValidationRules

cdef struct LogLimits:           # a snapshot of the topic's configuration, replaced as a whole under append_lock
    int64_t segment_bytes
    int64_t segment_ms
    int64_t segment_jitter_ms
    int32_t index_interval_bytes
    int32_t max_index_bytes
    int64_t flush_messages
    int64_t flush_ms
    int64_t retention_bytes
    int64_t retention_ms
    int64_t file_delete_delay_ms
    bint delete_policy
    ValidationRules validation


cdef inline LogLimits limits_of(object config):
    """The limits of a LogConfig."""
    cdef LogLimits limits
    memset(&limits, 0, sizeof(limits))
    limits.segment_bytes = config.segment_bytes
    limits.segment_ms = config.segment_ms
    limits.segment_jitter_ms = config.segment_jitter_ms
    limits.index_interval_bytes = config.index_interval_bytes
    limits.max_index_bytes = config.max_index_bytes
    limits.flush_messages = config.flush_messages
    limits.flush_ms = config.flush_ms
    limits.retention_bytes = config.retention_bytes
    limits.retention_ms = config.retention_ms
    limits.file_delete_delay_ms = config.file_delete_delay_ms
    limits.delete_policy = config.delete
    limits.validation.compacted = config.compact
    limits.validation.header_only = config.header_only_validation
    limits.validation.timestamp_type = config.timestamp_type
    limits.validation.target_codec = config.compression_type
    limits.validation.compression_level = config.compression_level
    limits.validation.max_message_bytes = config.max_message_bytes
    limits.validation.timestamp_before_max_ms = config.timestamp_before_max_ms
    limits.validation.timestamp_after_max_ms = config.timestamp_after_max_ms
    limits.validation.decompressed_limit_bytes = config.decompressed_limit_bytes
    return limits
