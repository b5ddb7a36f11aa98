"""The time index of a segment: from a timestamp to an offset before which nothing newer stands."""

from libc.stdint cimport int64_t
from kcore.storage.index_file cimport IndexFile

cdef enum:
    TIME_ENTRY_BYTES = 12

cdef struct TimestampOffset:
    int64_t timestamp            # -1 without an entry
    int64_t offset

# The last entry at or before `timestamp`; (-1, base offset) when there is none.
cdef TimestampOffset time_index_lookup(const IndexFile* index, int64_t base_offset, int64_t timestamp) noexcept nogil
cdef TimestampOffset time_index_last(const IndexFile* index, int64_t base_offset) noexcept nogil
# Adds an entry unless it would not rise, or the index is full; one slot stays free for the entry made at a roll,
# which `at_roll` may take.
cdef void time_index_maybe_append(IndexFile* index, int64_t base_offset, int64_t timestamp, int64_t offset,
                                  bint at_roll) noexcept nogil
cdef bint time_index_is_full(const IndexFile* index) noexcept nogil
# Drops the entries at or above `offset`.
cdef void time_index_truncate(IndexFile* index, int64_t base_offset, int64_t offset) noexcept nogil
cdef bint time_index_is_sane(const IndexFile* index) noexcept nogil
