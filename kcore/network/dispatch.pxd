"""The native dispatch table: what the server lets a processor do with a frame, on the processor's own thread."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from kcore.network.response cimport Response

cdef enum Disposition:
    RESPONDED = 0    # `response` is filled in (or marked empty)
    DELAYED = 1      # the handler answers later, from any thread, with SocketServer.respond(connection, ...)
    TO_HANDLER = 2   # nothing was done: a Python handler takes it
    CLOSE = 3        # close the connection without an answer, once those to earlier requests are sent

# A whole request, borrowed from the connection's receive buffer for the time of the call. The handler may write
# into `frame` (offsets are assigned in place).
cdef struct NativeRequest:
    uint64_t connection          # names the connection for ever; a dead one is told apart by its generation
    int32_t listener             # index into the server's listeners
    int16_t api_key
    int16_t api_version
    int32_t correlation_id
    const uint8_t* client_id     # NULL when null
    int32_t client_id_size
    uint8_t* frame               # without the length prefix
    size_t size
    size_t body                  # position of the body within the frame, past the header and its tagged fields
    int64_t received_ns
    bint peer_closed             # the client had closed its side before the request was taken up
    const uint8_t* user          # whose connection it is: the principal's name
    int32_t user_size
    # Only where request time has quotas, and 0 otherwise (`request_percentage`):
    int64_t started_ns           # when its execution began on the processor
    int64_t network_ns           # what the processor spent on the connection since the request before

ctypedef Disposition (*NativeHandler)(void* context, NativeRequest* request, Response* response) noexcept nogil

cdef struct DispatchEntry:
    NativeHandler handle         # NULL: always TO_HANDLER
    void* context
    int16_t min_version          # outside the range the native handler is not asked
    int16_t max_version
    int32_t handed_over          # not 0: a Python handler takes it although there is a native one (atomic)
    int16_t first_flexible       # from this version on the request header carries tagged fields

cdef enum:
    DISPATCH_SIZE = 128

cdef class DispatchTable:
    cdef DispatchEntry entries[128]
