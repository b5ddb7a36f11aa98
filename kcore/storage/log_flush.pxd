"""Flushing a log."""

from kcore.storage.local_log cimport LocalLog

# Brings everything appended so far (or only the finished segments) onto the device and moves the recovery point.
# Returns a negated errno on failure; 0 on a closed log. The caller holds none of the log's locks.
cdef int flush_log(LocalLog log, bint include_active) noexcept nogil
# The same as a CommitTicket wants it: `log` is a LocalLog, and -EAGAIN means that the flush is to be tried again.
cdef int flush_for_committer(void* log) noexcept nogil
