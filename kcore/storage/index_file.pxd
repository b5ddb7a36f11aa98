"""A sparse index of a segment: sorted entries of one size (Kafka's `AbstractIndex`).

`entries` is published with a release store after the entry is written. `data` does not move while the segment is
pinned, so readers that pin the segment may search below `entries` without a lock.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from kcore.platform.disk cimport DiskOperations

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)
    uint64_t be64toh(uint64_t)
    uint32_t htobe32(uint32_t)
    uint32_t be32toh(uint32_t)

cdef struct IndexFile:
    const uint8_t* data          # the entries; NULL if there are none
    size_t data_bytes            # size of the reservation or mapping
    bint writable                # `data` is anonymous memory, not a mapping of the file
    int32_t entry_bytes
    int32_t entries
    int32_t written_entries      # how many of them are in the file
    bint file_is_longer          # it has dropped entries or padding; the next write back cuts it
    int32_t max_entries

# Creates a new empty file.
cdef int index_create(IndexFile* index, const DiskOperations* disk, const char* path, int32_t entry_bytes,
                      int32_t max_bytes) noexcept nogil
# Loads an existing file, for appending (`writable`) or for reading only.
cdef int index_load(IndexFile* index, const DiskOperations* disk, const char* path, int32_t entry_bytes,
                    int32_t max_bytes, bint writable) noexcept nogil
cdef bint index_is_full(const IndexFile* index) noexcept nogil
# The caller has checked that the index is not full.
cdef void index_append(IndexFile* index, const void* entry) noexcept nogil
# Keeps the first `entries`. The next write back cuts the file.
cdef void index_keep(IndexFile* index, int32_t entries) noexcept nogil
# Writes the entries in memory to the file at `path`, and cuts it after them.
cdef int index_write_back(IndexFile* index, const DiskOperations* disk, const char* path) noexcept nogil
# Syncs the file as it was last written back.
cdef int index_sync(const DiskOperations* disk, const char* path) noexcept nogil
# Frees the memory or the mapping. Nothing is written.
cdef void index_close(IndexFile* index, const DiskOperations* disk) noexcept nogil


cdef inline const uint8_t* index_entry(const IndexFile* index, int32_t position) noexcept nogil:
    return index.data + <size_t>position * <size_t>index.entry_bytes


cdef inline int32_t entry_int32(const uint8_t* source) noexcept nogil:
    cdef uint32_t raw
    memcpy(&raw, source, 4)
    return <int32_t>be32toh(raw)


cdef inline int64_t entry_int64(const uint8_t* source) noexcept nogil:
    cdef uint64_t raw
    memcpy(&raw, source, 8)
    return <int64_t>be64toh(raw)
