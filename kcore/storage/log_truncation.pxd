"""Removing records from a log."""

from libc.stdint cimport int32_t, int64_t
from kcore.storage.local_log cimport LocalLog

# The caller holds append_lock. Takes segments, but never all of them, out of the list.
cdef int remove_segments(LocalLog log, int32_t first, int32_t count, int64_t now_ms) noexcept nogil
# The same. Drops every batch with records at or above `offset`, which becomes the log end offset.
cdef int cut_to(LocalLog log, int64_t offset, int64_t now_ms) noexcept nogil
# The same. Drops all records; the empty log continues at `offset`.
cdef int restart_at(LocalLog log, int64_t offset, int64_t now_ms) noexcept nogil
# The caller holds no lock. Unlinks the files of removed segments that are due, or leaves that to their last reader.
cdef void purge_deleted(LocalLog log, int64_t now_ms) noexcept nogil
