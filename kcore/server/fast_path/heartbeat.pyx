"""Heartbeat requests of versions 0 to 4 that change nothing, answered without the GIL.

Most requests of a group coordinator are heartbeats of members of stable groups, thousands per second, which are
answered NONE. The coordinator's SessionTable accepts these. All other heartbeats, such as those that must learn of a
rebalance or an error, go to `handlers/heartbeat.py`.

If the client has closed its connection, the heartbeat is answered but does not extend the session (`Group.heartbeat`).
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from kcore.coordinator.group.session_table cimport NOT_HEARD_OF, SessionTable, SignOfLife
from kcore.cursor cimport Cursor, cursor_over, read_int32, read_unsigned_varint
from kcore.errors cimport NONE
from kcore.network.dispatch cimport CLOSE, RESPONDED, TO_HANDLER, DispatchEntry, Disposition, NativeRequest
from kcore.network.response cimport Response, response_bytes
from kcore.network.socket_server cimport SocketServer
from kcore.protocol.fields cimport read_string
from kcore.protocol.output cimport Output, output_free, put_int16, put_int32, put_no_tags
from kcore.server.fast_path.throttling cimport charge_time_only

cdef enum:
    HEARTBEAT_KEY = 12
    FIRST_VERSION = 0
    LAST_VERSION = 4
    FIRST_VERSION_WITH_THROTTLE_TIME = 1
    FIRST_VERSION_WITH_INSTANCE = 3
    FIRST_FLEXIBLE = 4


cdef class HeartbeatPath:
    """The native handler of Heartbeat. `install` adds it to the server's dispatch table."""

    def __init__(self, SessionTable sessions not None, SocketServer server not None):
        self.sessions = sessions
        self.server = server

    def install(self):
        """Lets the processors answer Heartbeat. This object must outlive them."""
        cdef DispatchEntry* entry = &self.server.dispatch.entries[HEARTBEAT_KEY]
        entry.context = <void*>self
        entry.min_version = FIRST_VERSION
        entry.max_version = LAST_VERSION
        entry.first_flexible = FIRST_FLEXIBLE
        entry.handle = handle_heartbeat

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil:
        cdef SignOfLife sign
        cdef int64_t heard_ms = NOT_HEARD_OF if request.peer_closed else self.sessions.clock_ms()
        if not read_heartbeat(request, &sign) or not self.sessions.hear(&sign, heard_ms):
            return TO_HANDLER
        response.throttle_ms = charge_time_only(self.server.quotas, request)
        return write_answer(request, response)


cdef Disposition handle_heartbeat(void* context, NativeRequest* request, Response* response) noexcept nogil:
    return (<HeartbeatPath>context).handle(request, response)


cdef bint read_heartbeat(const NativeRequest* request, SignOfLife* sign) noexcept nogil:
    """False if the request is malformed or has tagged fields. Trailing bytes are ignored, as by the handlers."""
    cdef Cursor cursor = cursor_over(request.frame + request.body, request.size - request.body)
    cdef bint flexible = request.api_version >= FIRST_FLEXIBLE
    sign.group_id = read_string(&cursor, flexible, &sign.group_id_size)
    sign.generation_id = read_int32(&cursor)
    sign.member_id = read_string(&cursor, flexible, &sign.member_id_size)
    sign.instance_id = NULL
    sign.instance_id_size = -1
    if request.api_version >= FIRST_VERSION_WITH_INSTANCE:
        sign.instance_id = read_string(&cursor, flexible, &sign.instance_id_size)
    if flexible and read_unsigned_varint(&cursor) != 0:
        return False
    return not cursor.failed and sign.group_id != NULL and sign.member_id != NULL


cdef Disposition write_answer(const NativeRequest* request, Response* response) noexcept nogil:
    cdef Output answer = Output(NULL, 0, 0, False)
    cdef bint flexible = request.api_version >= FIRST_FLEXIBLE
    cdef uint8_t* target
    put_int32(&answer, request.correlation_id)
    put_no_tags(&answer, flexible)
    if request.api_version >= FIRST_VERSION_WITH_THROTTLE_TIME:
        put_int32(&answer, response.throttle_ms)
    put_int16(&answer, NONE)
    put_no_tags(&answer, flexible)
    target = response_bytes(response, answer.size) if not answer.failed else NULL
    if target != NULL:
        memcpy(target, answer.data, answer.size)
    output_free(&answer)
    return RESPONDED if target != NULL else CLOSE
