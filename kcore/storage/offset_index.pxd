"""The offset index of a segment: from a record's offset to the position of its batch in the .log file."""

from libc.stdint cimport int32_t, int64_t
from kcore.storage.index_file cimport IndexFile

cdef enum:
    OFFSET_ENTRY_BYTES = 8

cdef struct OffsetPosition:
    int64_t offset               # of the last record of a batch
    int64_t position             # where that batch starts

# The number of the last entry at or below a relative offset (offset - base offset); -1 if there is none.
cdef int32_t offset_index_floor(const IndexFile* index, int64_t relative_offset) noexcept nogil
cdef OffsetPosition offset_index_entry(const IndexFile* index, int64_t base_offset, int32_t position) noexcept nogil
# The offset of the first entry whose batch starts at or above `position`; -1 if there is none.
cdef int64_t offset_index_upper_bound(const IndexFile* index, int64_t base_offset, int64_t position) noexcept nogil
cdef void offset_index_append(IndexFile* index, int64_t base_offset, int64_t offset, int64_t position) noexcept nogil
# Drops the entries at or above `offset`.
cdef void offset_index_truncate(IndexFile* index, int64_t base_offset, int64_t offset) noexcept nogil
# Whether the last entry is within a segment of `log_bytes` and not below its base offset.
cdef bint offset_index_is_sane(const IndexFile* index, int64_t log_bytes) noexcept nogil
