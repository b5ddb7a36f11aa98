"""What is to be sent on a connection: a list of byte ranges and file ranges, in order.

The first four bytes, the frame's length, are the network's: `response_bytes` leaves room for them, `response_seal`
writes them from the sum of the parts.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

# `error` is 0, or the negated errno with which the file could not be read.
ctypedef void (*PartRelease)(void* owner, int error) noexcept nogil

cdef struct ResponsePart:
    uint8_t* data                # malloc'ed and ours, or NULL for a file range
    int descriptor
    int64_t position
    int64_t size_bytes
    int64_t capacity_bytes       # of `data`
    PartRelease release          # called with `owner` when the range was sent, given up or unreadable; may be NULL
    void* owner

cdef struct Response:
    ResponsePart* parts
    int32_t count
    int32_t capacity
    bint close_after             # close the connection once sent
    bint empty                   # acks=0: nothing goes out, the connection is unmuted
    int32_t throttle_ms          # how long the connection is muted after this answer, for it exceeded a quota
    int64_t cut_bytes            # above 0: so much of it is sent, of its length prefix too, and the connection ends (a fault)
    bint failed                  # memory ran out while it was built: the connection is closed instead of sending it
    bint has_error               # native handlers: one of its error codes is not NONE
    # When, by the server's clock, 0 where it was not so: a handler took the request up and had done its part, the
    # answer was ready.
    int64_t begun_ns
    int64_t left_ns
    int64_t completed_ns

cdef void response_init(Response* response) noexcept nogil
# Gives up what was not sent: frees bytes, calls releases. The response may be filled anew afterwards.
cdef void response_free(Response* response) noexcept nogil
# Takes back what the last answer said of itself, besides its parts; the list of parts stays warm.
cdef inline void response_reset(Response* response) noexcept nogil:
    response.close_after = response.empty = response.failed = response.has_error = False
    response.throttle_ms = 0

# A writable run of `size` bytes at the end of the response, merged with a preceding byte run where it fits; NULL without memory.
# The pointer is good until the next call on this response.
cdef uint8_t* response_bytes(Response* response, size_t size) noexcept nogil
cdef bint response_file(Response* response, int descriptor, int64_t position, int64_t size_bytes,
                        PartRelease release, void* owner) noexcept nogil
# What the length prefix will say: all parts without the four bytes of the prefix itself.
cdef int64_t response_size(const Response* response) noexcept nogil
# Writes the length prefix; False when the response is empty, failed or past 2 GiB.
cdef bint response_seal(Response* response) noexcept nogil
# Frees one part that was taken out of a response.
cdef void release_part(ResponsePart* part) noexcept nogil
# Tells the owner of a file range that it is needed no more: 0, or the negated errno with which it could not be read.
cdef void part_let_go(ResponsePart* part, int error) noexcept nogil
