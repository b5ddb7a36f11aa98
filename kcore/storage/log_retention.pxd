"""Retention: which segments of a log can be deleted."""

from libc.stdint cimport int32_t, int64_t
from kcore.storage.log cimport Log

# The number of oldest segments that are below the log start offset or past retention.bytes or retention.ms.
cdef int32_t deletable_count(Log log, int64_t now_ms) noexcept nogil
