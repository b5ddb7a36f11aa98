"""One segment of a log: its .log file, its offset index and its time index.

A segment is a reference-counted native structure, so that a roll needs no GIL, and a response that is being sent pins
the file. `size_bytes` is published after the bytes are written: a reader may read everything below the value it sees.

A segment, also the active one, is opened on first use. Any thread may close it again while only the log holds a
reference. Call `segment_acquire` and then `segment_open` before you use `descriptor` or an index.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.platform.disk cimport DiskOperations
from kcore.platform.sync cimport pthread_mutex_t
from kcore.record.batch cimport BatchHeader
from kcore.storage.index_file cimport IndexFile

cdef struct LogSegment:
    int32_t references
    const DiskOperations* disk
    char* path                   # of the .log file, without the suffix that `deleted` adds
    pthread_mutex_t open_lock    # guards opening and closing the files below; no other lock is taken under it
    int32_t is_open
    int32_t writable             # the active segment: appended to under the log's append lock
    bint appended                # since its indexes were last written
    int32_t indexes_unsynced     # finished, but its index files are not synced yet
    int32_t indexes_are_wrong    # they contradict the .log file: not used, and rebuilt by the next load
    int32_t unreadable_errno     # a read error while it was sent; the next read takes the log offline
    int32_t let_go               # the log has released it: other holders keep it open
    int32_t unmade               # it has no files yet: segment_open creates them for the first record
    int64_t base_offset
    int descriptor
    int64_t size_bytes
    IndexFile offset_index
    IndexFile time_index
    int32_t max_index_bytes
    int32_t index_interval_bytes # the log's setting when the segment was created or loaded
    int64_t bytes_since_last_index_entry
    int32_t aborted_count        # entries of its transaction index; the first entry creates that file
    int64_t created_ms
    int64_t roll_jitter_ms
    int64_t first_timestamp      # largest timestamp of the first batch, for time-based rolls; -1 until known
    int64_t max_timestamp        # -1 without records or without timestamps
    int64_t offset_of_max_timestamp
    bint deleted                 # renamed to *.deleted; unlinked with the last reference
    int64_t delete_due_ms
    LogSegment* next_deleted
    int32_t was_used             # since open_segments last looked at it (clock algorithm)
    bint is_listed               # in the list of open_segments, whose lock guards this and the links
    LogSegment* older_open
    LogSegment* newer_open

# Allocates a segment with one reference and touches no file; NULL if memory is exhausted.
cdef LogSegment* segment_new(const DiskOperations* disk, const char* directory, int64_t base_offset,
                             int32_t max_index_bytes, int32_t index_interval_bytes) noexcept nogil
# Creates the three files, empty, and opens them for appending.
cdef int segment_create(LogSegment* segment, int64_t now_ms) noexcept nogil
# Defers creating the files to the first segment_open. While `unmade` is set only an appender calls it.
cdef void segment_create_later(LogSegment* segment, int64_t now_ms) noexcept nogil
# Reads size and modification time of the existing .log file, without keeping it open.
cdef int segment_stat(LogSegment* segment) noexcept nogil
# Opens existing files, for appending when `writable`. Safe from any thread that holds a reference.
cdef int segment_open(LogSegment* segment) noexcept nogil
# Closes the files if the segment has at most `references` references, the caller's and the log's included. Writes the
# index entries of a writable segment first. A thread that acquires it meanwhile finds it open, or opens it again.
cdef void segment_close_idle(LogSegment* segment, int32_t references) noexcept nogil
cdef void segment_acquire(LogSegment* segment) noexcept nogil
# Drops a reference. The last one closes the files and, when `deleted`, unlinks them.
cdef void segment_release(LogSegment* segment) noexcept nogil
# The log drops its own reference: the remaining ones are readers, who keep the segment open.
cdef void segment_let_go(LogSegment* segment) noexcept nogil
# Closes the finished segments of all logs that were not used since the previous call.
cdef void close_unused_segments() noexcept nogil
# Writes at the end; the caller publishes the new size. Returns 0 or a negated errno.
cdef int segment_write(LogSegment* segment, const uint8_t* records, size_t size) noexcept nogil
# Updates timestamps for a batch at `position` and, once index.interval.bytes have passed, adds index entries.
cdef void segment_index_batch(LogSegment* segment, const BatchHeader* header, int64_t position,
                              int32_t index_interval_bytes) noexcept nogil
# Counts the bytes since the last index entry, so that a reopened or truncated segment gets the same entries as a
# rebuild of its indexes would give it.
cdef void segment_count_unindexed(LogSegment* segment) noexcept nogil
# Marks the indexes as contradicting the .log file. Safe from any thread that holds a reference.
cdef void segment_distrust_indexes(LogSegment* segment) noexcept nogil
# Records a read error (a negated errno). Safe from any thread that holds a reference.
cdef void segment_note_unreadable(LogSegment* segment, int error) noexcept nogil
# Syncs the .log file and, for a finished segment, the indexes.
cdef int segment_sync(LogSegment* segment) noexcept nogil
# Ends appending: adds the last time index entry, writes the indexes, cuts the file to its size.
# Reads still use the indexes in memory until segment_close_idle.
cdef int segment_finish(LogSegment* segment) noexcept nogil
# Removes the index files; the next load rebuilds them.
cdef void segment_unlink_indexes(LogSegment* segment) noexcept nogil
# Removes the files of a segment that could not be created completely.
cdef void segment_unlink(LogSegment* segment) noexcept nogil
# Renames the files to `*.deleted`. The segment counts as deleted even if a rename fails.
cdef int segment_rename_deleted(LogSegment* segment) noexcept nogil
cdef int segment_file_path(const LogSegment* segment, const char* suffix, char* out, size_t capacity) noexcept nogil
# How many segments are in memory, for tests: zero once every log is closed and every response is sent.
cdef int32_t live_segments() noexcept nogil
