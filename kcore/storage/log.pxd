"""One partition's log: an ordered list of segments, the last of which is appended to.

Concurrency: `append_lock` serialises appends, rolls, truncation and flushes; `segments_lock`, held for a few
instructions, guards the list that readers look segments up in. Lock order: append_lock before segments_lock.
Nothing here needs the GIL; methods without `nogil` are for start, administration and tests.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.platform.disk cimport Disk, DiskOperations
from kcore.platform.sync cimport pthread_mutex_t
from kcore.record.validator cimport ValidationRules
from kcore.storage.segment cimport LogSegment

cdef enum Isolation:
    ISOLATION_LOG_END = 0        # a follower
    ISOLATION_HIGH_WATERMARK = 1 # read_uncommitted
    ISOLATION_TXN_COMMITTED = 2  # read_committed: the last stable offset

cdef struct AppendResult:
    int16_t error
    const char* message          # static; NULL without one
    int32_t failed_record_index  # -1 when the batch itself is at fault
    int64_t base_offset
    int64_t last_offset
    int64_t log_append_time_ms   # -1 with CreateTime
    int64_t log_start_offset
    int64_t log_end_offset       # after the append
    int64_t record_count
    bint duplicate               # an idempotent retry: nothing was written, base_offset is the first one's

cdef struct ReadResult:
    int16_t error                # NONE or OFFSET_OUT_OF_RANGE or KAFKA_STORAGE_ERROR
    LogSegment* segment          # pinned when size_bytes > 0: release with segment_release
    int64_t position             # in segment.descriptor
    int64_t size_bytes           # whole batches only up to the bound; may end inside a batch when cut by max_bytes
    int64_t segment_base_offset  # where the read stands, also when nothing is readable
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    int64_t log_end_offset

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

cdef class Log:
    cdef Disk disk_owner
    cdef const DiskOperations* disk
    cdef pthread_mutex_t append_lock
    cdef pthread_mutex_t segments_lock
    cdef LogLimits limits

    # Validates, assigns offsets, checks sequences, rolls when due, writes with one pwritev. `records` is patched.
    cdef int16_t append_as_leader(self, uint8_t* records, size_t size, int32_t leader_epoch, int origin,
                                  AppendResult* result) noexcept nogil
    # Batches as the leader wrote them.
    cdef int16_t append_as_follower(self, uint8_t* records, size_t size, AppendResult* result) noexcept nogil
    # Whole batches from the one holding `offset`; the first one entire even above max_bytes when at_least_one.
    cdef int16_t read(self, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                      ReadResult* result) noexcept nogil
    # How many bytes are readable from a place that a ReadResult named; never negative. Later segments count whole.
    cdef int64_t readable_bytes(self, int64_t segment_base_offset, int64_t position, int isolation) noexcept nogil
    cdef int64_t log_start_offset(self) noexcept nogil
    cdef int64_t log_end_offset(self) noexcept nogil
    cdef int64_t high_watermark(self) noexcept nogil
    cdef int64_t last_stable_offset(self) noexcept nogil
    # Moves forward only, bounded by the log end; answers whether it moved.
    cdef bint advance_high_watermark(self, int64_t offset) noexcept nogil
    cdef bint is_offline(self) noexcept nogil
