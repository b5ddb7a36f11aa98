"""Number and duration of log flushes (Kafka's LogFlushStats, which also has one instance per process)."""

from libc.stdint cimport int64_t

# May be called on any thread.
cdef void record_log_flush(int64_t duration_ns) noexcept nogil
