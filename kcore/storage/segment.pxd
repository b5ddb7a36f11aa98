"""One segment of a log: its .log file, its offset index and its time index.

A segment is a reference-counted native structure, so that a roll needs no GIL and a response being sent pins the
file it is sent from. `size_bytes` is published after the bytes are written: a reader that sees it may read below it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.platform.disk cimport DiskOperations

cdef struct IndexFile:
    int descriptor               # -1 while closed
    const uint8_t* mapping       # read-only; NULL when empty
    size_t mapped_bytes
    int64_t file_bytes           # as allocated on disk
    int32_t entries              # published with a release store after the entry is written
    int32_t max_entries

cdef struct LogSegment:
    int32_t references
    const DiskOperations* disk
    char* path                   # of the .log file
    int64_t base_offset
    int descriptor
    int64_t size_bytes
    IndexFile offset_index
    IndexFile time_index
    int64_t bytes_since_last_index_entry
    int64_t created_ms
    int64_t first_timestamp      # of the first batch, for time-based rolls; -1 before it is known
    int64_t max_timestamp
    int64_t offset_of_max_timestamp
    bint deleted                 # unlink when the last reference goes

cdef void segment_acquire(LogSegment* segment) noexcept nogil
# Closes (and, when deleted, unlinks) the files with the last reference.
cdef void segment_release(LogSegment* segment) noexcept nogil
