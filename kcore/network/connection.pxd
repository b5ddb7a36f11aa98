"""One client's connection, as seen by its processor."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from kcore.network.endpoint cimport Endpoint
from kcore.network.memory_pool cimport MemoryClaim
from kcore.network.receive_buffer cimport BufferPool
from kcore.network.request_log cimport RequestClient
from kcore.network.request_timing cimport RequestTiming, TimingQueue
from kcore.network.response cimport Response, ResponsePart
from kcore.platform.disk cimport DiskOperations
from kcore.transport.byte_stream cimport ByteStream

cdef enum FlushStatus:
    FLUSHED = 0                  # everything was sent
    FLUSH_BLOCKED = 1            # the socket's send buffer is full
    FLUSH_YIELD = 2              # the budget is used up; there is more to send
    FLUSH_FAILED = 3             # the connection is broken

cdef enum ReceiveStatus:
    RECEIVED = 0
    RECEIVE_DRAINED = 1          # the socket has no more data for now; some bytes may have come
    RECEIVE_END = 2              # the client has closed its side
    RECEIVE_FAILED = 3
    RECEIVE_STARVED = 4          # no memory is left for the frame

# The processor's list that contains the connection, linked by `listed_next`. It is in at most one.
cdef enum Listed:
    UNLISTED = 0
    LISTED_READY = 1             # has work that does not depend on its socket
    LISTED_STALLED = 2           # its next request waits for room in the request channel
    LISTED_STARVED = 3           # its frame waits for memory: `claim` is queued

cdef struct Connection:
    uint64_t id
    ByteStream* stream
    int32_t listener
    Endpoint client
    Endpoint local
    # Bytes received and not yet executed: buffer[start:end].
    uint8_t* buffer
    size_t capacity
    size_t start
    size_t end
    size_t expected_bytes        # of the frame being received, or of the last one; 0 before the first
    bint single_frame            # the buffer was reserved for the frame in it, and is released with it
    MemoryClaim claim
    # Responses not yet sent: parts[head:count]. `head_sent` bytes of the first part were sent.
    ResponsePart* parts
    int32_t head
    int32_t count
    int32_t part_capacity
    int64_t head_sent
    uint32_t interest            # events that epoll watches for
    bint handshaking
    bint in_flight               # a request is in a handler or a purgatory: the connection is muted
    int32_t throttle_slot        # 1-based place in the processor's ThrottleQueue, while muted for a quota; else 0
    int64_t throttled_until_ns
    int64_t network_ns           # processor time not yet charged to a request, if request time has quotas
    bint maybe_readable
    bint ended                   # the client has closed its side, and everything was received
    bint peer_closed             # the client has closed its side; earlier requests may still be unread
    bint close_after_send
    Listed listed
    Connection* listed_next
    Connection* listed_previous
    Connection* idle_next        # from the least to the most recently active
    Connection* idle_previous
    int64_t last_active_ns
    int64_t received_ns          # time of the last bytes, or of the last unmute
    RequestClient name           # the client's name, as far as the request log needs it
    RequestTiming timing         # of the request being executed or in flight
    TimingQueue timings          # of requests whose responses are not sent yet
    int64_t bytes_enqueued       # total of all responses
    int64_t bytes_sent

# While a connection is muted, none of its requests is executed.
cdef inline bint is_muted(const Connection* connection) noexcept nogil:
    return connection.in_flight or connection.throttle_slot != 0

cdef Connection* connection_new(ByteStream* stream) noexcept nogil
# Closes the socket and drops unsent responses.
cdef void connection_free(Connection* connection, BufferPool* pool) noexcept nogil
cdef size_t buffered_bytes(const Connection* connection) noexcept nogil
cdef bint has_unsent(const Connection* connection) noexcept nogil
# Calls recv once and appends to the buffer. Sets *received to the number of bytes.
cdef ReceiveStatus connection_receive(Connection* connection, BufferPool* pool, int64_t* received) noexcept nogil
# Releases the buffer if it is empty, or replaces it with a small one if little is left in it.
cdef void connection_park(Connection* connection, BufferPool* pool) noexcept nogil
# Takes over the parts of a sealed response. If memory is exhausted, frees the response and returns False.
cdef bint connection_enqueue(Connection* connection, Response* response, const DiskOperations* disk) noexcept nogil
# Sends approximately `budget_bytes` at most. Sets *sent to the number of bytes.
cdef FlushStatus connection_flush(Connection* connection, const DiskOperations* disk, int64_t budget_bytes,
                                  int64_t* sent) noexcept nogil
