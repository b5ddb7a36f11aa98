"""The native dispatch table: how a processor handles a frame on its own thread."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from kcore.network.response cimport Response

cdef enum Disposition:
    RESPONDED = 0    # `response` is filled in (or marked empty)
    DELAYED = 1      # the handler responds later, from any thread, with SocketServer.respond(connection, ...)
    TO_HANDLER = 2   # nothing was done: a Python handler executes the request
    CLOSE = 3        # close the connection without a response, after the responses to earlier requests

# A complete request, borrowed from the connection's receive buffer during the call. The handler may write into `frame`:
# offsets are assigned in place.
cdef struct NativeRequest:
    uint64_t connection          # connection id; ids of closed connections are not reused
    int32_t listener             # index into the server's listeners
    int16_t api_key
    int16_t api_version
    int32_t correlation_id
    const uint8_t* client_id     # NULL when null
    int32_t client_id_size
    uint8_t* frame               # without the length prefix
    size_t size
    size_t body                  # position of the body in the frame, after the header and its tagged fields
    int64_t received_ns
    bint peer_closed             # the client had closed its side before execution began
    const uint8_t* user          # name of the connection's principal
    int32_t user_size
    # Set only if request time has quotas (`request_percentage`), else 0:
    int64_t started_ns           # when the processor began to execute the request
    int64_t network_ns           # processor time spent on the connection since the previous request

ctypedef Disposition (*NativeHandler)(void* context, NativeRequest* request, Response* response) noexcept nogil

cdef struct DispatchEntry:
    NativeHandler handle         # NULL: always TO_HANDLER
    void* context
    int16_t min_version          # other versions go to Python handlers
    int16_t max_version
    int32_t handed_over          # not 0: all versions go to Python handlers (atomic)
    int16_t first_flexible       # first version whose request header has tagged fields

cdef enum:
    DISPATCH_SIZE = 128

cdef class DispatchTable:
    cdef DispatchEntry entries[128]
