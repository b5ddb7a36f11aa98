"""What retention asks of a log."""

from libc.stdint cimport int32_t, int64_t
from kcore.storage.log cimport Log

# How many of the oldest segments the log start offset, retention.bytes or retention.ms have passed.
cdef int32_t deletable_count(Log log, int64_t now_ms) noexcept nogil
