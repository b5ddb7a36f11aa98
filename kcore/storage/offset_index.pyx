"""`<base offset>.index` (Kafka's `OffsetIndex`): entries of eight bytes, big endian, rising in both fields.

    relative offset int32 | position int32

The offset is that of the last record of a batch, minus the segment's base offset. The position is where that batch
starts. An entry is added after every `index.interval.bytes` of log, so a search reads only a few batches from the entry
it finds. Crash policy and concurrency: index_file.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from kcore.platform.sync cimport atomic_load_32
from kcore.storage.index_file cimport IndexFile, entry_int32, htobe32, index_append, index_entry, index_keep


cdef int32_t entries_at_or_below(const IndexFile* index, int64_t relative_offset) noexcept nogil:
    cdef int32_t low = 0
    cdef int32_t high = atomic_load_32(&index.entries)
    cdef int32_t middle
    while low < high:
        middle = low + (high - low) // 2
        if entry_int32(index_entry(index, middle)) <= relative_offset:
            low = middle + 1
        else:
            high = middle
    return low


cdef OffsetPosition offset_index_entry(const IndexFile* index, int64_t base_offset, int32_t position) noexcept nogil:
    cdef const uint8_t* entry = index_entry(index, position)
    cdef OffsetPosition found
    found.offset = base_offset + entry_int32(entry)
    found.position = entry_int32(entry + 4)
    return found


cdef int32_t offset_index_floor(const IndexFile* index, int64_t relative_offset) noexcept nogil:
    return entries_at_or_below(index, relative_offset) - 1


cdef int64_t offset_index_upper_bound(const IndexFile* index, int64_t base_offset, int64_t position) noexcept nogil:
    cdef int32_t low = 0
    cdef int32_t count = atomic_load_32(&index.entries)
    cdef int32_t high = count
    cdef int32_t middle
    while low < high:
        middle = low + (high - low) // 2
        if entry_int32(index_entry(index, middle) + 4) < position:
            low = middle + 1
        else:
            high = middle
    return offset_index_entry(index, base_offset, low).offset if low < count else -1


cdef void offset_index_append(IndexFile* index, int64_t base_offset, int64_t offset, int64_t position) noexcept nogil:
    cdef uint8_t entry[8]
    cdef uint32_t raw = htobe32(<uint32_t>(offset - base_offset))
    memcpy(entry, &raw, 4)
    raw = htobe32(<uint32_t>position)
    memcpy(entry + 4, &raw, 4)
    index_append(index, entry)


cdef void offset_index_truncate(IndexFile* index, int64_t base_offset, int64_t offset) noexcept nogil:
    index_keep(index, entries_at_or_below(index, offset - base_offset - 1))


cdef bint offset_index_is_sane(const IndexFile* index, int64_t log_bytes) noexcept nogil:
    cdef const uint8_t* last
    if index.entries == 0:
        return True
    last = index_entry(index, index.entries - 1)
    return entry_int32(last) >= 0 and entry_int32(last + 4) >= 0 and entry_int32(last + 4) < log_bytes
