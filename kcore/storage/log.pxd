"""One partition's log: an ordered list of segments. Appends go to the last one.

Concurrency: `append_lock` serialises appends, rolls, truncation and deletion. `segments_lock` guards the segment list
and the offsets that limit a read; it is held for a few instructions. Lock order: append_lock before segments_lock.
Nothing here needs the GIL. Methods without `nogil` are for start, administration and tests.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.metrics.topic_counters cimport TopicCounters
from kcore.record.record_errors cimport RecordErrors
from kcore.storage.leader_epoch_cache cimport LeaderEpochCache
from kcore.storage.local_log cimport LocalLog, LogOffsetMetadata
from kcore.storage.producer_state cimport ProducerStateManager
from kcore.storage.segment cimport LogSegment
from kcore.storage.transaction_index cimport AbortedTransactions

cdef enum Isolation:
    ISOLATION_LOG_END = 0        # a follower
    ISOLATION_HIGH_WATERMARK = 1 # read_uncommitted
    ISOLATION_TXN_COMMITTED = 2  # read_committed: the last stable offset

cdef struct AppendResult:
    int16_t error
    const char* message          # static; NULL if there is none
    RecordErrors record_errors   # owned: release it with record_errors_free
    int64_t base_offset
    int64_t last_offset
    int64_t log_append_time_ms   # -1 with CreateTime
    int64_t log_start_offset
    int64_t log_end_offset       # after the append
    int64_t record_count
    bint duplicate               # an idempotent retry: nothing was written, base_offset is that of the first append

cdef struct ReadResult:
    int16_t error                # NONE, OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE or KAFKA_STORAGE_ERROR
    LogSegment* segment          # pinned and open when size_bytes > 0: release it with release_read
    int64_t position             # file position in segment.descriptor
    int64_t size_bytes           # whole batches up to the visible end; may end inside a batch when cut by max_bytes
    int64_t segment_base_offset  # where the read starts, also when nothing is readable
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    int64_t log_end_offset
    AbortedTransactions aborted  # read_committed: the aborted transactions with records in this range
    # Set by Partition when the follower's log diverges before the fetch offset: the latest common epoch and its end
    # here.
    bint diverges
    int32_t diverging_epoch
    int64_t diverging_end_offset

# How often the log start offset of any log has changed. A cached start offset is stale once this has changed.
cdef int64_t log_start_moves() noexcept nogil
# Error messages for a lack of file descriptors and for a full disk.
cdef const char* DESCRIPTOR_REMEDY
cdef const char* ROOM_REMEDY

cdef class Log(LocalLog):
    cdef readonly str topic
    cdef readonly int partition
    cdef readonly ProducerStateManager producer_state
    cdef readonly LeaderEpochCache leader_epochs
    cdef object config
    cdef object on_failure
    cdef bint failure_reported
    cdef int64_t first_offset                    # the log start offset
    cdef TopicCounters appended                  # written under append_lock
    cdef int64_t flush_messages                  # copy of limits.flush_messages, readable without append_lock
    cdef LogOffsetMetadata high_watermark_at
    cdef LogOffsetMetadata first_unstable_at     # offset -1 when no transaction is undecided

    cdef int64_t log_start_offset(self) noexcept nogil
    cdef int64_t log_end_offset(self) noexcept nogil
    cdef int64_t high_watermark(self) noexcept nogil
    cdef int64_t last_stable_offset(self) noexcept nogil
    # Only raises it, at most to the log end offset. Returns whether it changed.
    cdef bint advance_high_watermark(self, int64_t offset) noexcept nogil

    # --- callers hold append_lock
    cdef int truncate_locked(self, int64_t offset) noexcept nogil
    cdef int restart_locked(self, int64_t offset) noexcept nogil
    cdef int rebuild_producer_state(self, int64_t now_ms) noexcept nogil
    cdef int recall_producer(self, int64_t producer_id, int16_t producer_epoch) noexcept nogil
    cdef void raise_start(self, int64_t offset) noexcept nogil
    cdef int delete_locked(self, int64_t now_ms, int32_t* deleted) noexcept nogil
    cdef int finish(self) noexcept nogil

    # --- callers hold segments_lock
    cdef LogOffsetMetadata bound(self, int isolation) noexcept nogil
    cdef void refresh_first_unstable(self) noexcept nogil
    cdef void move_start(self, int64_t offset) noexcept nogil

    # --- callers hold none of the locks
    cdef int16_t flush_if_due(self) noexcept nogil
    cdef int raise_error(self, int16_t code, message) except -1
    cdef int check_disk(self, int outcome, const char* work) except -1
    cdef int flush_segments(self, bint include_active) except -1
