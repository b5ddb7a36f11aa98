"""Removing records from a log."""

from libc.stdint cimport int32_t, int64_t
from kcore.storage.local_log cimport LocalLog

# Removes segments from the list, but never all of them. The caller holds append_lock.
cdef int remove_segments(LocalLog log, int32_t first, int32_t count, int64_t now_ms) noexcept nogil
# Drops every batch with records at or above `offset`, which becomes the log end offset. The caller holds append_lock.
cdef int cut_to(LocalLog log, int64_t offset, int64_t now_ms) noexcept nogil
# Drops all records. The empty log continues at `offset`. The caller holds append_lock.
cdef int restart_at(LocalLog log, int64_t offset, int64_t now_ms) noexcept nogil
# Unlinks the files of removed segments that are due, or leaves that to their last reader. The caller holds no lock.
cdef void purge_deleted(LocalLog log, int64_t now_ms) noexcept nogil
