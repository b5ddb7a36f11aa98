"""The segments of one log and what can be done to them without knowing of leaders or producers (Kafka's `LocalLog`)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from kcore.platform.disk cimport Disk, DiskOperations
from kcore.platform.sync cimport pthread_mutex_t
from kcore.record.batch cimport BatchHeader
from kcore.record.validator cimport ValidationRules
from kcore.storage.log_committer cimport CommitTicket, LogCommitter
from kcore.storage.segment cimport LogSegment

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

cdef struct LogOffsetMetadata:   # an offset and where its batch stands
    int64_t offset
    int64_t segment_base_offset
    int64_t position

cdef enum:
    RECENT_BOUNDARIES = 64

cdef class LocalLog:
    cdef Disk disk_owner
    cdef const DiskOperations* disk
    cdef pthread_mutex_t append_lock
    cdef pthread_mutex_t segments_lock
    cdef pthread_mutex_t flush_lock
    cdef LogLimits limits
    cdef char* directory_path
    cdef LogSegment** segment_list
    cdef int32_t segment_count
    cdef int32_t segment_capacity
    cdef int64_t next_offset                     # the log end offset
    cdef int64_t flushed_offset                  # the recovery point
    cdef int64_t flush_ceiling                   # the lowest log end since the flush under way began
    cdef int64_t flushed_at_ms
    cdef LogOffsetMetadata recent[64]            # ends of the latest appends: where tailing readers stand
    cdef int64_t recent_count
    cdef LogSegment* deleted_segments            # renamed, waiting for file.delete.delay.ms
    cdef uint64_t jitter_state
    cdef int32_t failure_errno                   # of the disk error that took the log offline; 0 while online
    cdef const char* failed_while                # at which work it was met, once that is known
    cdef int32_t refusals                        # for want of room on the device
    cdef bint directory_changed                  # names to be synced by the next flush
    cdef bint birth_is_durable                   # the directory's own name too, and whose it is; under flush_lock
    cdef int32_t changed                         # anything that checkpoints and flushing are about, since last asked
    cdef LogCommitter committer                  # None unless acks wait for a flush
    cdef bint commits_in_groups                  # there is one
    cdef CommitTicket ticket
    cdef bint closed

    # --- callers hold segments_lock
    cdef int32_t floor_index(self, int64_t offset) noexcept nogil
    cdef LogOffsetMetadata end_metadata(self) noexcept nogil
    cdef bint recent_boundary(self, int64_t offset, LogOffsetMetadata* out) noexcept nogil
    cdef void set_end(self, int64_t offset) noexcept nogil
    cdef void end_moved_back(self) noexcept nogil
    cdef void publish_append(self, int64_t size_bytes, int64_t last_offset) noexcept nogil
    cdef int64_t bytes_between(self, int64_t segment_base_offset, int64_t position,
                               const LogOffsetMetadata* end) noexcept nogil

    # --- callers hold append_lock
    cdef LogSegment* active_segment(self) noexcept nogil
    # The active segment open, with a reference of the caller's whatever the outcome.
    cdef LogSegment* hold_active(self, int* outcome) noexcept nogil
    cdef bint must_roll(self, int64_t size_bytes, int64_t max_timestamp, int64_t last_offset,
                        int64_t now_ms) noexcept nogil
    cdef int grow_list(self) noexcept nogil
    cdef void splice(self, int32_t first, int32_t count, LogSegment* segment) noexcept nogil
    cdef void remember_boundary(self, LogOffsetMetadata boundary) noexcept nogil
    cdef int64_t next_jitter_ms(self) noexcept nogil
    cdef int begin_unmade(self, int64_t now_ms) noexcept nogil
    cdef int begin_segment(self, int32_t kept, int64_t base_offset, int64_t now_ms) noexcept nogil
    cdef int retire(self, int32_t first, int32_t count, int64_t now_ms) noexcept nogil
    cdef int replace_active(self, LogSegment* old, int64_t position, int64_t offset) noexcept nogil
    cdef int roll_to(self, int64_t base_offset, int64_t now_ms) noexcept nogil
    cdef int prepare_roll(self, int64_t base_offset) noexcept nogil
    cdef int remove_segments(self, int32_t first, int32_t count, int64_t now_ms) noexcept nogil
    cdef int cut_to(self, int64_t offset, int64_t now_ms) noexcept nogil
    cdef int restart_at(self, int64_t offset, int64_t now_ms) noexcept nogil

    # --- callers hold none of the locks
    cdef int locate(self, int64_t offset, LogOffsetMetadata* out) noexcept nogil
    # The segments from the one that holds `offset` on, each with a reference of the caller's, in a malloc'ed array.
    cdef LogSegment** pin_from(self, int64_t offset, int32_t* count) noexcept nogil
    cdef int flush_to_disk(self, bint include_active) noexcept nogil
    cdef int sync_birth(self) noexcept nogil
    cdef int sync_pinned(self, LogSegment** pinned, int32_t count) noexcept nogil
    cdef void unpin(self, LogSegment** pinned, int32_t count) noexcept nogil
    cdef int prepare_recovery_point(self, int64_t target) noexcept nogil
    cdef void advance_recovery_point(self, int64_t target) noexcept nogil
    cdef void purge_deleted(self, int64_t now_ms) noexcept nogil
    # `work` is a literal that goes on after "while".
    cdef int16_t fail(self, int outcome, const char* work) noexcept nogil
    cdef int offline_unless_done(self, int outcome, const char* work) noexcept nogil
    cdef void go_offline(self, int outcome, const char* work) noexcept nogil
    cdef bint is_offline(self) noexcept nogil
    cdef void note_change(self) noexcept nogil
    # The end of what may be acknowledged and shown to consumers, for all that this log has to say.
    cdef int64_t acknowledged_end(self) noexcept nogil
    # With group commit: has what was appended flushed soon, unless it is on the device already.
    cdef void request_commit(self) noexcept nogil
    # With group commit: `flushed(listener)` is called after every flush by the committer; the other one ends that.
    cdef void tell_of_flushes(self, void* listener, void (*flushed)(void* listener) noexcept nogil) noexcept nogil
    cdef void stop_telling(self, void* listener) noexcept nogil


# What native code needs of a LogConfig.
cdef LogLimits limits_of(object config)
