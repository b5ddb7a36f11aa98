"""ClientRequest: a request to a broker. ReceivedFrame: the bytes of a response.

    size int32 | api key int16 | api version int16 | correlation id int32 | client id | [tagged fields] | request
    size int32 | correlation id int32 | [tagged fields] | response

The creator of a `ClientRequest` owns it until `finish`, which is called exactly once, on the polling thread.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.platform.disk cimport iovec

cdef enum:
    # parts[0] of a request begins with these bytes, which the connection fills in.
    REQUEST_HEAD_BYTES = 12        # size, api key, api version, correlation id
    NO_NODE = -1                   # any reachable broker; `node` is set once it is chosen
    NO_API = -1                    # send nothing: finish with REPLY_OK when a connection is ready

cdef enum ReplyStatus:
    REPLY_OK = 0
    REPLY_UNSENT = 1               # no byte was sent: every address was tried once, or the time was up
    REPLY_DISCONNECTED = 2         # the broker may have executed it
    REPLY_TIMED_OUT = 3            # the broker may have executed it
    REPLY_UNSUPPORTED_VERSION = 4  # the broker does not speak `api_version` of this API
    REPLY_UNREADABLE = 5           # the response is invalid, and the connection was closed
    REPLY_CLOSED = 6               # the client is being closed

# A response as received, without its size. Hold it to use its bytes after `finish` has returned.
cdef struct ReceivedFrame:
    uint8_t* data
    size_t size
    size_t capacity
    int32_t holders                # atomic

cdef struct ClientRequest:
    int32_t node                   # a slot of the NetworkClient, or NO_NODE
    int16_t api_key
    int16_t api_version
    bint expects_reply             # False with acks=0: finished with REPLY_OK and no frame when all bytes are written
    int64_t deadline_ns            # CLOCK_MONOTONIC; for connecting, sending and the response together
    iovec* parts                   # the frame; nothing in it changes until `finish`
    int32_t part_count
    # `body` is where the response begins in the frame, after its header; `frame` is NULL unless REPLY_OK.
    void (*finish)(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil
    void* context                  # for the owner
    int32_t correlation_id         # from here on, for the connection
    int64_t sent_ns
    ClientRequest* next

# A frame of `size` bytes with one holder; NULL if memory cannot be allocated.
cdef ReceivedFrame* frame_new(size_t size) noexcept nogil
cdef void frame_hold(ReceivedFrame* frame) noexcept nogil
cdef void frame_release(ReceivedFrame* frame) noexcept nogil


# Requests in the order of sending or of their responses.
cdef struct RequestQueue:
    ClientRequest* first
    ClientRequest* last
    int32_t count


cdef inline void queue_push(RequestQueue* queue, ClientRequest* request) noexcept nogil:
    request.next = NULL
    if queue.first == NULL:
        queue.first = request
    else:
        queue.last.next = request
    queue.last = request
    queue.count += 1


cdef inline ClientRequest* queue_pop(RequestQueue* queue) noexcept nogil:
    """Remove and return the oldest request, or NULL."""
    cdef ClientRequest* request = queue.first
    if request != NULL:
        queue.first = request.next
        queue.count -= 1
        request.next = NULL
    return request


cdef inline RequestQueue queue_take(RequestQueue* queue) noexcept nogil:
    """Remove and return all requests."""
    cdef RequestQueue taken = queue[0]
    queue.first = queue.last = NULL
    queue.count = 0
    return taken
