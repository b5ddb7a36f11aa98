"""The native handler of Heartbeat."""

from kcore.coordinator.group.session_table cimport SessionTable
from kcore.network.dispatch cimport Disposition, NativeRequest
from kcore.network.response cimport Response
from kcore.network.socket_server cimport SocketServer

cdef class HeartbeatPath:
    cdef SessionTable sessions
    cdef SocketServer server

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil
