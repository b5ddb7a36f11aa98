"""`<base offset>.timeindex` (Kafka's `TimeIndex`): entries of twelve bytes, big endian, timestamps strictly rising.

    timestamp int64 | relative offset int32

An entry (t, o) means that no record up to offset o is newer than t. Entries are added together with those of the offset
index, and once more when the segment rolls or is closed, so that the last entry has the segment's newest timestamp.
Crash policy and concurrency: index_file.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from kcore.platform.sync cimport atomic_load_32
from kcore.storage.index_file cimport (
    IndexFile, entry_int32, entry_int64, htobe32, htobe64, index_append, index_entry, index_keep,
)


cdef int32_t entries_at_or_before(const IndexFile* index, int64_t timestamp) noexcept nogil:
    cdef int32_t low = 0
    cdef int32_t high = atomic_load_32(&index.entries)
    cdef int32_t middle
    while low < high:
        middle = low + (high - low) // 2
        if entry_int64(index_entry(index, middle)) <= timestamp:
            low = middle + 1
        else:
            high = middle
    return low


cdef TimestampOffset entry_before(const IndexFile* index, int64_t base_offset, int32_t count) noexcept nogil:
    """The last of the first `count` entries."""
    cdef TimestampOffset found
    if count == 0:
        found.timestamp = -1
        found.offset = base_offset
    else:
        found.timestamp = entry_int64(index_entry(index, count - 1))
        found.offset = base_offset + entry_int32(index_entry(index, count - 1) + 8)
    return found


cdef TimestampOffset time_index_lookup(const IndexFile* index, int64_t base_offset, int64_t timestamp) noexcept nogil:
    return entry_before(index, base_offset, entries_at_or_before(index, timestamp))


cdef TimestampOffset time_index_last(const IndexFile* index, int64_t base_offset) noexcept nogil:
    return entry_before(index, base_offset, atomic_load_32(&index.entries))


cdef bint time_index_is_full(const IndexFile* index) noexcept nogil:
    return index.entries >= index.max_entries - 1


cdef void time_index_maybe_append(IndexFile* index, int64_t base_offset, int64_t timestamp, int64_t offset,
                                  bint at_roll) noexcept nogil:
    cdef TimestampOffset last = time_index_last(index, base_offset)
    cdef uint8_t entry[12]
    cdef uint64_t raw_timestamp
    cdef uint32_t raw_offset
    if timestamp <= last.timestamp or (offset < last.offset and index.entries > 0):
        return
    if index.entries >= index.max_entries or (time_index_is_full(index) and not at_roll):
        return
    raw_timestamp = htobe64(<uint64_t>timestamp)
    raw_offset = htobe32(<uint32_t>(offset - base_offset))
    memcpy(entry, &raw_timestamp, 8)
    memcpy(entry + 8, &raw_offset, 4)
    index_append(index, entry)


cdef void time_index_truncate(IndexFile* index, int64_t base_offset, int64_t offset) noexcept nogil:
    cdef int32_t kept = index.entries
    while kept > 0 and base_offset + entry_int32(index_entry(index, kept - 1) + 8) >= offset:
        kept -= 1
    index_keep(index, kept)


cdef bint time_index_is_sane(const IndexFile* index) noexcept nogil:
    cdef const uint8_t* last
    if index.entries == 0:
        return True
    last = index_entry(index, index.entries - 1)
    return entry_int64(last) >= entry_int64(index.data) and entry_int32(last + 8) >= 0
