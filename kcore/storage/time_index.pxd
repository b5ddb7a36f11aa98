"""The time index of a segment: maps a timestamp to an offset up to which no record is newer."""

from libc.stdint cimport int64_t
from kcore.storage.index_file cimport IndexFile

cdef enum:
    TIME_ENTRY_BYTES = 12

cdef struct TimestampOffset:
    int64_t timestamp            # -1 without an entry
    int64_t offset

# The last entry at or before `timestamp`; (-1, base offset) if there is none.
cdef TimestampOffset time_index_lookup(const IndexFile* index, int64_t base_offset, int64_t timestamp) noexcept nogil
cdef TimestampOffset time_index_last(const IndexFile* index, int64_t base_offset) noexcept nogil
# Adds an entry if the timestamp is larger than the last one and there is room. The last slot is kept for the entry at a
# roll (`at_roll`).
cdef void time_index_maybe_append(IndexFile* index, int64_t base_offset, int64_t timestamp, int64_t offset,
                                  bint at_roll) noexcept nogil
cdef bint time_index_is_full(const IndexFile* index) noexcept nogil
# Drops the entries at or above `offset`.
cdef void time_index_truncate(IndexFile* index, int64_t base_offset, int64_t offset) noexcept nogil
cdef bint time_index_is_sane(const IndexFile* index) noexcept nogil
