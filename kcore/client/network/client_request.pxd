"""What a client asks of a broker, and the answer's bytes.

    size int32 | api key int16 | api version int16 | correlation id int32 | client id | [tagged fields] | request
    size int32 | correlation id int32 | [tagged fields] | response

Whoever makes a `ClientRequest` owns it until `finish`, which is called exactly once, on the thread that polls.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.platform.disk cimport iovec

cdef enum:
    # parts[0] of a request begins with these bytes, which the connection fills in.
    REQUEST_HEAD_BYTES = 12        # size, api key, api version, correlation id
    NO_NODE = -1                   # any broker that can be reached; `node` names it once it is chosen
    NO_API = -1                    # nothing is sent: finished with REPLY_OK once a connection is ready

cdef enum ReplyStatus:
    REPLY_OK = 0
    REPLY_UNSENT = 1               # no byte has left: every address was tried once, or the time was over
    REPLY_DISCONNECTED = 2         # the broker may have carried it out
    REPLY_TIMED_OUT = 3            # so may it here
    REPLY_UNSUPPORTED_VERSION = 4  # the broker does not speak `api_version` of this API
    REPLY_UNREADABLE = 5           # what came is no answer to it: the connection was ended
    REPLY_CLOSED = 6               # the client is being closed

# A response as it was received, without its size. Whoever wants its bytes for longer than `finish` lasts holds it.
cdef struct ReceivedFrame:
    uint8_t* data
    size_t size
    size_t capacity
    int32_t holders                # atomic

cdef struct ClientRequest:
    int32_t node                   # a slot of the NetworkClient, or NO_NODE
    int16_t api_key
    int16_t api_version
    bint expects_reply             # acks=0 has no reply: finished with REPLY_OK and no frame once the last byte is written
    int64_t deadline_ns            # CLOCK_MONOTONIC: to connect, to send and to be answered
    iovec* parts                   # the frame; nothing in it changes until `finish`
    int32_t part_count
    # `body` is where the response begins in the frame, after its header; `frame` is NULL unless REPLY_OK.
    void (*finish)(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil
    void* context                  # the owner's
    int32_t correlation_id         # the connection's from here on
    int64_t sent_ns
    ClientRequest* next

# A frame of `size` bytes with one holder; NULL without memory.
cdef ReceivedFrame* frame_new(size_t size) noexcept nogil
cdef void frame_hold(ReceivedFrame* frame) noexcept nogil
cdef void frame_release(ReceivedFrame* frame) noexcept nogil


# Requests in the order in which they are to be sent or answered.
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
    """The oldest one, or NULL."""
    cdef ClientRequest* request = queue.first
    if request != NULL:
        queue.first = request.next
        queue.count -= 1
        request.next = NULL
    return request


cdef inline RequestQueue queue_take(RequestQueue* queue) noexcept nogil:
    """All of them; the queue is empty afterwards."""
    cdef RequestQueue taken = queue[0]
    queue.first = queue.last = NULL
    queue.count = 0
    return taken
