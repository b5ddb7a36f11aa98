"""Flushing a log."""

from kcore.storage.local_log cimport LocalLog

# Flushes everything appended so far (or only finished segments) to the device and raises the recovery point. Returns 0,
# also on a closed log, or a negated errno. The caller holds none of the log's locks.
cdef int flush_log(LocalLog log, bint include_active) noexcept nogil
# The callback of a CommitTicket: `log` is a LocalLog. -EAGAIN means that the committer has to try again.
cdef int flush_for_committer(void* log) noexcept nogil
