"""The start offset of each leader epoch of a log (Kafka's `LeaderEpochFileCache`, KIP-101)."""

from libc.stdint cimport int32_t, int64_t
from kcore.platform.disk cimport Disk, DiskOperations
from kcore.platform.sync cimport pthread_mutex_t

cdef enum:
    UNDEFINED_EPOCH = -1
    UNDEFINED_EPOCH_OFFSET = -1

cdef struct EpochEntry:
    int32_t epoch
    int64_t start_offset

cdef class LeaderEpochCache:
    cdef Disk disk_owner
    cdef const DiskOperations* disk
    cdef char* path
    cdef pthread_mutex_t lock
    cdef void* entries                           # std::vector<EpochEntry>, rising in both fields
    cdef void* written                           # the same, as last written to the file
    cdef int32_t latest                          # readable without the lock

    cdef int32_t latest_epoch(self) noexcept nogil
    # Records in memory that `epoch` starts at `start_offset`.
    cdef void assign(self, int32_t epoch, int64_t start_offset) noexcept nogil
    # The end of `epoch`: the largest known epoch at or below it, and the start offset of the next one.
    cdef EpochEntry end_offset_for(self, int32_t epoch, int64_t log_end_offset) noexcept nogil
    cdef int32_t epoch_of(self, int64_t offset) noexcept nogil
    cdef void truncate_from_end(self, int64_t end_offset) noexcept nogil
    cdef void truncate_from_start(self, int64_t start_offset) noexcept nogil
    # Writes the file, unless it is already correct for records below `end_offset`. Returns 0 or a negated errno.
    cdef int write_when_changed(self, int64_t end_offset) noexcept nogil
    cdef int save(self) noexcept nogil
    cdef void refresh_latest(self) noexcept nogil
