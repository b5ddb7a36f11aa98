"""Passes log lines of processors and the acceptor to a handler thread, which has the GIL to write them.

Bounds: MAX_WAITING lines wait to be written; further ones are only counted. Each client has a few lines per minute for
each rule that it breaks (`kcore.logger`), so a client that sends garbage in a loop fills neither memory nor disk.
"""

from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from kcore.network.endpoint cimport Endpoint, endpoint_host, endpoint_text
from kcore.platform.sync cimport atomic_add_32, atomic_add_64, atomic_load_64
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink

from kcore.logger import ERROR, INFO, LIMITED, WARN, get_logger

cdef enum:
    MAX_WAITING = 64
    TEXT_SIZE = 320
    RULE_SIZE = 192

cdef struct Report:
    HandlerEvent event           # first: cast to Report in the callbacks
    ReportLevel level
    Endpoint client
    const char* rule             # with its %lld, so that it is the same for every line of this rule
    char[320] text

LOG = get_logger("kcore.network")
cdef int32_t waiting = 0
cdef int64_t suppressed = 0


cdef void free_report(HandlerEvent* event) noexcept nogil:
    atomic_add_32(&waiting, -1)
    free(event)


cdef void write_report(HandlerEvent* event) noexcept:
    cdef Report* line = <Report*>event
    cdef int64_t lost
    level = INFO if line.level == REPORT_INFO else WARN if line.level == REPORT_WARN else ERROR
    client = endpoint_host(&line.client)
    cause = line.rule.decode("utf-8", "replace").replace("%lld", "N")
    text = line.text.decode("utf-8", "replace")
    free_report(event)
    LOG.limited(level, client, cause, "%s", text)
    lost = atomic_load_64(&suppressed)
    if lost:
        atomic_add_64(&suppressed, -lost)
        # The clients of these lines are not known.
        LIMITED.count(LOG, WARN, "any", "connections refused faster than a line is written", lost)


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
    line.client = client[0]
    line.rule = rule
    line.event.run = write_report
    line.event.drop = free_report
    if not sink.push_event(&line.event):
        free_report(&line.event)
