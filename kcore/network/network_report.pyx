"""What processors and the acceptor have to say goes to a handler thread, which has the GIL to log it.

Bounded: when MAX_WAITING lines wait to be written, further ones are counted and the count is logged afterwards, so that a
client that sends rubbish in a loop fills neither memory nor disk faster than a handler writes.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from kcore.network.endpoint cimport ENDPOINT_TEXT_SIZE, Endpoint, endpoint_text
from kcore.platform.sync cimport atomic_add_32, atomic_add_64, atomic_load_64
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink

from kcore.logger import get_logger

cdef enum:
    MAX_WAITING = 64
    TEXT_SIZE = 320
    RULE_SIZE = 192

cdef struct Report:
    HandlerEvent event           # first: the sink knows nothing else of a report
    ReportLevel level
    char[320] text

LOG = get_logger("kcore.network")
cdef int32_t waiting = 0
cdef int64_t suppressed = 0


cdef void free_report(HandlerEvent* event) noexcept nogil:
    atomic_add_32(&waiting, -1)
    free(event)


cdef void write_report(HandlerEvent* event) noexcept:
    cdef Report* line = <Report*>event
    cdef ReportLevel level = line.level
    cdef int64_t lost
    text = line.text.decode("utf-8", "replace")
    free_report(event)
    if level == REPORT_INFO:
        LOG.info("%s", text)
    elif level == REPORT_WARN:
        LOG.warn("%s", text)
    else:
        LOG.error("%s", text)
    lost = atomic_load_64(&suppressed)
    if lost:
        atomic_add_64(&suppressed, -lost)
        LOG.warn("%d more lines like these were left out", lost)


cdef void report(HandlerEventSink sink, ReportLevel level, const char* what, const Endpoint* client,
                 const char* rule, int64_t first, int64_t second) noexcept nogil:
    cdef Report* line
    cdef char[64] client_text
    cdef char[192] rule_text
    if atomic_add_32(&waiting, 1) > MAX_WAITING:
        atomic_add_32(&waiting, -1)
        atomic_add_64(&suppressed, 1)
        return
    line = <Report*>calloc(1, sizeof(Report))
    if line == NULL:
        atomic_add_32(&waiting, -1)
        return
    endpoint_text(client, client_text)
    snprintf(rule_text, RULE_SIZE, rule, <long long>first, <long long>second)
    snprintf(line.text, TEXT_SIZE, b"%s %s: %s", what, client_text, rule_text)
    line.level = level
    line.event.run = write_report
    line.event.drop = free_report
    if not sink.push_event(&line.event):
        free_report(&line.event)
