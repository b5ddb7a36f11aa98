"""A response to be sent on a connection: byte ranges and file ranges, in order.

The first four bytes are the frame's length. `response_bytes` leaves room for them, and `response_seal` writes them.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

# `error` is 0, or the negated errno of a failed read of the file.
ctypedef void (*PartRelease)(void* owner, int error) noexcept nogil

cdef struct ResponsePart:
    uint8_t* data                # malloc'ed and owned, or NULL for a file range
    int descriptor
    int64_t position
    int64_t size_bytes
    int64_t capacity_bytes       # of `data`
    PartRelease release          # called with `owner` when the range was sent, dropped or unreadable; may be NULL
    void* owner

cdef struct Response:
    ResponsePart* parts
    int32_t count
    int32_t capacity
    bint close_after             # close the connection once sent
    bint empty                   # acks=0: nothing is sent, the connection is unmuted
    int32_t throttle_ms          # how long the connection is muted after this response, for a quota
    int64_t cut_bytes            # an injected fault, 0 for none: send this many bytes with the length prefix, close
    bint failed                  # memory was exhausted: close the connection instead of sending
    bint has_error               # native handlers: one of its error codes is not NONE
    # By the server's clock, or 0: when a handler began the request, when it finished, when the response was ready.
    int64_t begun_ns
    int64_t left_ns
    int64_t completed_ns

cdef void response_init(Response* response) noexcept nogil
# Frees unsent bytes and calls `release` of unsent parts. The response can be reused afterwards.
cdef void response_free(Response* response) noexcept nogil
# Resets the flags of the last response, and keeps the list of parts.
cdef inline void response_reset(Response* response) noexcept nogil:
    response.close_after = response.empty = response.failed = response.has_error = False
    response.throttle_ms = 0

# Appends `size` writable bytes, to the last byte range if they fit. Returns NULL if memory is exhausted. The pointer is
# valid until the next call on this response.
cdef uint8_t* response_bytes(Response* response, size_t size) noexcept nogil
cdef bint response_file(Response* response, int descriptor, int64_t position, int64_t size_bytes,
                        PartRelease release, void* owner) noexcept nogil
# The value of the length prefix: the size of all parts without the prefix itself.
cdef int64_t response_size(const Response* response) noexcept nogil
# Writes the length prefix. Returns False if the response is empty, failed or larger than 2 GiB.
cdef bint response_seal(Response* response) noexcept nogil
# Frees one part that was taken out of a response.
cdef void release_part(ResponsePart* part) noexcept nogil
# Calls `release` of a part with 0, or with the negated errno of a failed read.
cdef void part_let_go(ResponsePart* part, int error) noexcept nogil
