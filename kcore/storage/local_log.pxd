"""The segments of one log, without leader epochs and producer state (Kafka's `LocalLog`)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from kcore.platform.disk cimport Disk, DiskOperations
from kcore.platform.sync cimport pthread_mutex_t
from kcore.storage.log_committer cimport CommitTicket, LogCommitter
from kcore.storage.log_limits cimport LogLimits
from kcore.storage.segment cimport LogSegment

cdef struct LogOffsetMetadata:   # an offset and the position of its batch
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
    cdef int64_t flush_ceiling                   # the lowest log end offset since the running flush began
    cdef int64_t flushed_at_ms
    cdef LogOffsetMetadata recent[64]            # ends of the latest appends; consumers that keep up read from there
    cdef int64_t recent_count
    cdef LogSegment* deleted_segments            # renamed; unlinked after file.delete.delay.ms
    cdef uint64_t jitter_state
    cdef int32_t failure_errno                   # of the disk error that took the log offline; 0 while online
    cdef const char* failed_while                # the operation that failed; NULL until it is known
    cdef int32_t refusals                        # writes that failed because the disk was full
    cdef bint directory_changed                  # the next flush has to sync the directory
    cdef bint birth_is_durable                   # directory name and partition.metadata are synced; under flush_lock
    cdef int32_t changed                         # needs a checkpoint or a flush since the last take_changed
    cdef LogCommitter committer                  # None without group commit
    cdef bint commits_in_groups                  # `committer` is not None
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
    # Opens the active segment and sets `outcome`. The caller gets a reference to the segment even on failure.
    cdef LogSegment* hold_active(self, int* outcome) noexcept nogil
    cdef bint must_roll(self, int64_t size_bytes, int64_t max_timestamp, int64_t last_offset,
                        int64_t now_ms) noexcept nogil
    cdef int grow_list(self) noexcept nogil
    cdef void splice(self, int32_t first, int32_t count, LogSegment* segment) noexcept nogil
    cdef void remember_boundary(self, LogOffsetMetadata boundary) noexcept nogil
    cdef int64_t next_jitter_ms(self) noexcept nogil
    cdef int begin_unmade(self, int64_t now_ms) noexcept nogil
    cdef int begin_segment(self, int32_t kept, int64_t base_offset, int64_t now_ms) noexcept nogil
    cdef int roll_to(self, int64_t base_offset, int64_t now_ms) noexcept nogil
    cdef int prepare_roll(self, int64_t base_offset) noexcept nogil

    # --- callers hold none of the locks
    cdef int locate(self, int64_t offset, LogOffsetMetadata* out) noexcept nogil
    # The segments from the one that contains `offset`, in a malloc'ed array. The caller gets a reference to each.
    cdef LogSegment** pin_from(self, int64_t offset, int32_t* count) noexcept nogil
    cdef int prepare_recovery_point(self, int64_t target) noexcept nogil
    # `work` is a literal that completes the message after "while".
    cdef int16_t fail(self, int outcome, const char* work) noexcept nogil
    cdef int offline_unless_done(self, int outcome, const char* work) noexcept nogil
    cdef void go_offline(self, int outcome, const char* work) noexcept nogil
    cdef bint is_offline(self) noexcept nogil
    cdef void note_change(self) noexcept nogil
    # Records below this offset may be acknowledged and shown to consumers, as far as this log is concerned.
    cdef int64_t acknowledged_end(self) noexcept nogil
    # With group commit: requests a flush, unless everything is flushed already.
    cdef void request_commit(self) noexcept nogil
    # With group commit: the committer calls `flushed(listener)` after every flush, until `stop_telling`.
    cdef void tell_of_flushes(self, void* listener, void (*flushed)(void* listener) noexcept nogil) noexcept nogil
    cdef void stop_telling(self, void* listener) noexcept nogil
