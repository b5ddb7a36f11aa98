"""Log lines of threads that run without the GIL."""

from libc.stdint cimport int64_t
from kcore.network.endpoint cimport Endpoint
from kcore.purgatory.handler_event cimport HandlerEventSink

cdef enum ReportLevel:
    REPORT_INFO = 0
    REPORT_WARN = 1
    REPORT_ERROR = 2

# Queues "<what> <client>: <rule>" for a handler thread to log. `rule` must be a literal with up to two %lld for the
# numbers. Lines with the same rule and client are rate-limited together.
cdef void report(HandlerEventSink sink, ReportLevel level, const char* what, const Endpoint* client,
                 const char* rule, int64_t first, int64_t second) noexcept nogil
