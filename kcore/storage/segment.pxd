"""One segment of a log: its .log file, its offset index and its time index.

A segment is a reference-counted native structure, so that a roll needs no GIL and a response being sent pins the
file it is sent from. `size_bytes` is published after the bytes are written: a reader that sees it may read below it.

A segment is opened when it is first needed and may be closed again, by any thread, while nobody but the log holds it,
the active one too: call `segment_open` after `segment_acquire` and before touching `descriptor` or an index.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.platform.disk cimport DiskOperations
from kcore.platform.sync cimport pthread_mutex_t
from kcore.record.batch cimport BatchHeader
from kcore.storage.index_file cimport IndexFile

cdef struct LogSegment:
    int32_t references
    const DiskOperations* disk
    char* path                   # of the .log file, whatever the suffix of `deleted`
    pthread_mutex_t open_lock    # opening and closing of the files below; nothing is taken under it
    int32_t is_open
    int32_t writable             # the active segment: appended to under the log's append lock
    bint appended                # since its indexes were last finished
    int32_t indexes_unsynced     # finished, but their files are not on the device yet
    int32_t indexes_are_wrong    # they contradicted the log: not believed, and built anew by the next load
    int32_t unreadable_errno     # met while it was sent; its log goes offline with the next read of it
    int32_t let_go               # its log is done with it: whoever still holds it keeps it open
    int32_t unmade               # without files yet: they come when the segment is opened for its first record
    int64_t base_offset
    int descriptor
    int64_t size_bytes
    IndexFile offset_index
    IndexFile time_index
    int32_t max_index_bytes
    int32_t index_interval_bytes # of the log when it made or found the segment
    int64_t bytes_since_last_index_entry
    int32_t aborted_count        # entries of its transaction index, which is made with the first
    int64_t created_ms
    int64_t roll_jitter_ms
    int64_t first_timestamp      # largest of the first batch, for time-based rolls; -1 before it is known
    int64_t max_timestamp        # -1 without records, or with records of no timestamp
    int64_t offset_of_max_timestamp
    bint deleted                 # renamed to *.deleted; unlink when the last reference goes
    int64_t delete_due_ms
    LogSegment* next_deleted
    int32_t was_used             # since open_segments last looked at it
    bint is_listed               # there; its lock guards this and the links
    LogSegment* older_open
    LogSegment* newer_open

# A segment in memory with one reference, no file touched yet; NULL without memory.
cdef LogSegment* segment_new(const DiskOperations* disk, const char* directory, int64_t base_offset,
                             int32_t max_index_bytes, int32_t index_interval_bytes) noexcept nogil
# Makes the three files, empty, and opens them for appending.
cdef int segment_create(LogSegment* segment, int64_t now_ms) noexcept nogil
# Leaves the making to the first segment_open, which only who appends calls while `unmade` is set.
cdef void segment_create_later(LogSegment* segment, int64_t now_ms) noexcept nogil
# Takes size and time from existing files without opening them for good.
cdef int segment_stat(LogSegment* segment) noexcept nogil
# Opens existing files; for appending when `writable`. Safe from any thread that holds a reference.
cdef int segment_open(LogSegment* segment) noexcept nogil
# Closes the files of a segment if it has no more than `references`, the caller's own and the log's; of one that is
# appended to only after its index entries were written. Whoever acquires it meanwhile finds it open or opens it again.
cdef void segment_close_idle(LogSegment* segment, int32_t references) noexcept nogil
cdef void segment_acquire(LogSegment* segment) noexcept nogil
# Closes (and, when deleted, unlinks) the files with the last reference.
cdef void segment_release(LogSegment* segment) noexcept nogil
# The log's own release: whoever holds the segment from now on is not taken for the log.
cdef void segment_let_go(LogSegment* segment) noexcept nogil
# Closes finished segments, of all logs, that nobody has used since the call before.
cdef void close_unused_segments() noexcept nogil
# Writes at the end; the caller publishes the new size. Returns a negated errno or 0.
cdef int segment_write(LogSegment* segment, const uint8_t* records, size_t size) noexcept nogil
# Accounts for one batch at `position`: timestamps and, when the interval has passed, index entries.
cdef void segment_index_batch(LogSegment* segment, const BatchHeader* header, int64_t position,
                              int32_t index_interval_bytes) noexcept nogil
# Goes on counting towards the next index entry from the last one there is, so that a segment that was opened again or cut
# gets the entries that building its indexes anew would give it.
cdef void segment_count_unindexed(LogSegment* segment) noexcept nogil
# Notes that an index contradicts the .log file, which is what counts. Any thread that holds a reference.
cdef void segment_distrust_indexes(LogSegment* segment) noexcept nogil
# Notes that bytes of it cannot be read, by a negated errno. Any thread that holds a reference.
cdef void segment_note_unreadable(LogSegment* segment, int error) noexcept nogil
# Data on the device; for a finished segment the indexes too.
cdef int segment_sync(LogSegment* segment) noexcept nogil
# No more appends: the last time index entry, the indexes written, the file cut to its size.
# Reading goes on from memory until segment_close_idle.
cdef int segment_finish(LogSegment* segment) noexcept nogil
# Removes the indexes, so that the next load builds them anew.
cdef void segment_unlink_indexes(LogSegment* segment) noexcept nogil
# Removes the files of a segment whose making failed.
cdef void segment_unlink(LogSegment* segment) noexcept nogil
# Renames the files to `*.deleted`; the segment counts as deleted even when a rename fails.
cdef int segment_rename_deleted(LogSegment* segment) noexcept nogil
cdef int segment_file_path(const LogSegment* segment, const char* suffix, char* out, size_t capacity) noexcept nogil
# How many segments are in memory, for tests: zero once every log is closed and every response sent.
cdef int32_t live_segments() noexcept nogil
