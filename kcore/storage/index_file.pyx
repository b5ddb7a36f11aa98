"""The file of an offset or time index, and its entries in memory (Kafka's `AbstractIndex`).

The index of a writable segment is anonymous memory, reserved at `segment.index.bytes` and used page by page. It is
written in one piece when the segment rolls or is closed. So an append makes no system call for its index, and a full
disk is an error code from a write, never a SIGBUS in a mapping. The index of a read-only segment is mapped up to its
last whole entry. An index keeps no descriptor open: an open segment costs one descriptor, for its .log file. Apache
Kafka can open these files as they are: it also trims an index to its entries when a segment rolls or is closed.

Crash policy: an index is derived from its log. An index that a crash kept from being written belongs to a segment at or
above the recovery point, and recovery rebuilds it. Zero bytes at the end, which Kafka's preallocation leaves, do not
count as entries.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from posix.fcntl cimport O_CREAT, O_RDONLY, O_RDWR, O_TRUNC
from kcore.platform.disk cimport FILE_MODE, DiskOperations, DiskStat, iovec
from kcore.platform.sync cimport atomic_load_32, atomic_store_32

cdef extern from "<sys/mman.h>" nogil:
    enum:
        PROT_READ
        PROT_WRITE
        MAP_PRIVATE
        MAP_ANONYMOUS
        MAP_NORESERVE
    void* MAP_FAILED
    void* mmap(void* address, size_t size, int protection, int flags, int descriptor, long position)
    int munmap(void* address, size_t size)

cdef enum:
    MAX_ENTRY_BYTES = 12


cdef void reset(IndexFile* index, int32_t entry_bytes, int32_t max_bytes) noexcept nogil:
    memset(index, 0, sizeof(IndexFile))
    index.entry_bytes = entry_bytes
    index.max_entries = max_bytes // entry_bytes


cdef int reserve(IndexFile* index, int32_t entries) noexcept nogil:
    """Reserves memory for the entries. Pages cost nothing until they are written."""
    cdef size_t size = <size_t>max(index.max_entries, entries, 1) * <size_t>index.entry_bytes
    cdef void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    if memory == MAP_FAILED:
        return -ENOMEM
    index.data = <const uint8_t*>memory
    index.data_bytes = size
    index.writable = True
    return 0


cdef int index_create(IndexFile* index, const DiskOperations* disk, const char* path, int32_t entry_bytes,
                      int32_t max_bytes) noexcept nogil:
    cdef int outcome
    reset(index, entry_bytes, max_bytes)
    outcome = disk.open(disk.context, path, O_RDWR | O_CREAT | O_TRUNC, FILE_MODE)
    if outcome >= 0:
        outcome = disk.close(disk.context, outcome)
    return reserve(index, 0) if outcome >= 0 else outcome


cdef int32_t entries_in_file(const DiskOperations* disk, int descriptor, int32_t entry_bytes) noexcept nogil:
    cdef DiskStat stat
    cdef int outcome = disk.fstat(disk.context, descriptor, &stat)
    if outcome < 0:
        return outcome
    return <int32_t>min(stat.size_bytes // entry_bytes, 0x7FFFFFFF // entry_bytes)


cdef bint is_blank(const uint8_t* entry, int32_t size) noexcept nogil:
    cdef int32_t i
    for i in range(size):
        if entry[i] != 0:
            return False
    return True


cdef int is_blank_in_file(const DiskOperations* disk, int descriptor, int32_t entry_bytes,
                          int32_t number) noexcept nogil:
    cdef uint8_t entry[MAX_ENTRY_BYTES]
    cdef int64_t outcome = disk.pread(disk.context, descriptor, entry, <size_t>entry_bytes,
                                      <int64_t>number * entry_bytes)
    return <int>outcome if outcome < 0 else is_blank(entry, entry_bytes)


cdef int32_t without_padding(const DiskOperations* disk, int descriptor, int32_t entry_bytes,
                             int32_t entries) noexcept nogil:
    """The number of entries without Kafka's zero padding. Entries rise, so only the first one may be all zeros.

    The file is read, not mapped: reading a hole from a mapping on a full disk ends in a SIGBUS.
    """
    cdef int32_t low = 1, high = entries, middle
    cdef int blank = 0 if entries <= 1 else is_blank_in_file(disk, descriptor, entry_bytes, entries - 1)
    if blank <= 0:
        return blank if blank < 0 else entries
    while low < high:
        middle = low + (high - low) // 2
        blank = is_blank_in_file(disk, descriptor, entry_bytes, middle)
        if blank < 0:
            return blank
        if blank:
            high = middle
        else:
            low = middle + 1
    blank = is_blank_in_file(disk, descriptor, entry_bytes, 0) if low == 1 else 0
    return blank if blank < 0 else (0 if blank else low)


cdef int load_writable(IndexFile* index, const DiskOperations* disk, int descriptor, int32_t entries) noexcept nogil:
    cdef int64_t outcome = reserve(index, entries)
    if outcome >= 0:
        outcome = disk.pread(disk.context, descriptor, <void*>index.data,
                             <size_t>entries * <size_t>index.entry_bytes, 0)
    return <int>min(outcome, <int64_t>0)


cdef int load_mapped(IndexFile* index, const DiskOperations* disk, int descriptor, int32_t entries) noexcept nogil:
    cdef int error = 0
    if entries:
        index.data_bytes = <size_t>entries * <size_t>index.entry_bytes
        index.data = disk.mmap(disk.context, descriptor, index.data_bytes, &error)
    return error


cdef int index_load(IndexFile* index, const DiskOperations* disk, const char* path, int32_t entry_bytes,
                    int32_t max_bytes, bint writable) noexcept nogil:
    cdef int32_t in_file, entries
    cdef int outcome, descriptor
    reset(index, entry_bytes, max_bytes)
    # A missing file of a writable segment is created: without an entry, a search reads more batches.
    descriptor = disk.open(disk.context, path, O_RDWR | O_CREAT if writable else O_RDONLY, FILE_MODE)
    if descriptor < 0:
        return descriptor
    outcome = in_file = entries = entries_in_file(disk, descriptor, entry_bytes)
    if outcome >= 0:
        outcome = entries = without_padding(disk, descriptor, entry_bytes, in_file)
    if outcome >= 0 and writable:
        outcome = load_writable(index, disk, descriptor, entries)
    elif outcome >= 0:
        outcome = load_mapped(index, disk, descriptor, entries)
    disk.close(disk.context, descriptor)
    if outcome < 0:
        index_close(index, disk)
        return outcome
    index.written_entries = entries
    atomic_store_32(&index.entries, entries)
    index.file_is_longer = entries < in_file
    return 0


cdef bint index_is_full(const IndexFile* index) noexcept nogil:
    return index.entries >= index.max_entries


cdef void index_append(IndexFile* index, const void* entry) noexcept nogil:
    memcpy(<uint8_t*>index_entry(index, index.entries), entry, <size_t>index.entry_bytes)
    atomic_store_32(&index.entries, index.entries + 1)


cdef void index_keep(IndexFile* index, int32_t entries) noexcept nogil:
    if entries < index.entries:
        atomic_store_32(&index.entries, entries)
    if entries < index.written_entries:
        index.written_entries = entries
        index.file_is_longer = True


cdef int write_back(IndexFile* index, const DiskOperations* disk, int descriptor, int32_t entries) noexcept nogil:
    cdef iovec part
    cdef int64_t outcome = 0
    cdef int64_t position = <int64_t>index.written_entries * index.entry_bytes
    if index.file_is_longer:
        outcome = disk.ftruncate(disk.context, descriptor, position)
    if outcome >= 0 and entries > index.written_entries:
        part.iov_base = <void*>index_entry(index, index.written_entries)
        part.iov_len = <size_t>(entries - index.written_entries) * <size_t>index.entry_bytes
        outcome = disk.pwritev(disk.context, descriptor, &part, 1, position)
    return <int>min(outcome, <int64_t>0)


cdef int index_write_back(IndexFile* index, const DiskOperations* disk, const char* path) noexcept nogil:
    cdef int32_t entries = atomic_load_32(&index.entries)
    cdef int descriptor, outcome, closed
    if not index.writable or (entries == index.written_entries and not index.file_is_longer):
        return 0
    descriptor = disk.open(disk.context, path, O_RDWR | O_CREAT, FILE_MODE)
    if descriptor < 0:
        return descriptor
    outcome = write_back(index, disk, descriptor, entries)
    closed = disk.close(disk.context, descriptor)
    outcome = closed if outcome >= 0 else outcome
    if outcome >= 0:
        index.written_entries = entries
        index.file_is_longer = False
    return outcome


cdef int index_sync(const DiskOperations* disk, const char* path) noexcept nogil:
    cdef int outcome
    cdef int descriptor = disk.open(disk.context, path, O_RDWR, FILE_MODE)
    if descriptor < 0:
        return descriptor
    outcome = disk.fdatasync(disk.context, descriptor)
    disk.close(disk.context, descriptor)
    return outcome


cdef void index_close(IndexFile* index, const DiskOperations* disk) noexcept nogil:
    if index.data != NULL:
        if index.writable:
            munmap(<void*>index.data, index.data_bytes)
        else:
            disk.munmap(disk.context, index.data, index.data_bytes)
        index.data = NULL
    index.writable = False
    atomic_store_32(&index.entries, 0)
