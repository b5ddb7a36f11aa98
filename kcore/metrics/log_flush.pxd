"""How often logs are flushed, and how long that takes (Kafka's LogFlushStats, which is one for the process too)."""

from libc.stdint cimport int64_t

# From any thread.
cdef void record_log_flush(int64_t duration_ns) noexcept nogil
