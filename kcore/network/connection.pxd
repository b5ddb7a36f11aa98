"""One client's connection, as its processor keeps it."""

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
    FLUSHED = 0                  # nothing is left to be sent
    FLUSH_BLOCKED = 1            # the client reads more slowly than we send
    FLUSH_YIELD = 2              # there is more, but others want their turn
    FLUSH_FAILED = 3             # the connection is of no use any more

cdef enum ReceiveStatus:
    RECEIVED = 0
    RECEIVE_DRAINED = 1          # bytes came, or not; the socket holds no more for now
    RECEIVE_END = 2              # the client will send no more
    RECEIVE_FAILED = 3
    RECEIVE_STARVED = 4          # the frame needs memory, and none is left

# Which of the processor's lists a connection is linked into by `listed_next`; at most one.
cdef enum Listed:
    UNLISTED = 0
    LISTED_READY = 1             # has work to do without waiting for its socket
    LISTED_STALLED = 2           # its next request waits for room in the request channel
    LISTED_STARVED = 3           # what it receives waits for memory: `claim` is queued

cdef struct Connection:
    uint64_t id
    ByteStream* stream
    int32_t listener
    Endpoint client
    Endpoint local
    # Received and not yet executed: buffer[start:end].
    uint8_t* buffer
    size_t capacity
    size_t start
    size_t end
    size_t expected_bytes        # of the frame that is being received, else of the last one; 0 before the first
    bint single_frame            # the buffer was reserved for the one frame in it, and goes with it
    MemoryClaim claim
    # Executed and not yet sent: parts[head:count], of the first of which `head_sent` bytes are gone.
    ResponsePart* parts
    int32_t head
    int32_t count
    int32_t part_capacity
    int64_t head_sent
    uint32_t interest            # what epoll watches for
    bint handshaking
    bint in_flight               # a request is in a handler or a purgatory: the connection is muted
    int32_t throttle_slot        # its place in the processor's ThrottleQueue, counted from 1: muted for a quota; else 0
    int64_t throttled_until_ns
    int64_t network_ns           # spent on it and not yet charged to a request, where request time has quotas
    bint maybe_readable
    bint ended                   # the client will send no more, and all of it was received
    bint peer_closed             # the client will send no more; there may be requests that it sent before
    bint close_after_send
    Listed listed
    Connection* listed_next
    Connection* listed_previous
    Connection* idle_next        # less recently active ones come first
    Connection* idle_previous
    int64_t last_active_ns
    int64_t received_ns          # when bytes came last, or when it was unmuted
    RequestClient name           # of the client, as far as the request log wanted to know
    RequestTiming timing         # of the request that is being executed or in flight
    TimingQueue timings          # of those whose answers are not sent
    int64_t bytes_enqueued       # of answers since the beginning
    int64_t bytes_sent

# Nothing that it sends is executed for now.
cdef inline bint is_muted(const Connection* connection) noexcept nogil:
    return connection.in_flight or connection.throttle_slot != 0

cdef Connection* connection_new(ByteStream* stream) noexcept nogil
# Closes the socket, gives up what was not sent.
cdef void connection_free(Connection* connection, BufferPool* pool) noexcept nogil
cdef size_t buffered_bytes(const Connection* connection) noexcept nogil
cdef bint has_unsent(const Connection* connection) noexcept nogil
# Appends to what is received; one recv. *received counts its bytes.
cdef ReceiveStatus connection_receive(Connection* connection, BufferPool* pool, int64_t* received) noexcept nogil
# Gives the buffer back, or keeps a small one, as what is left in it demands.
cdef void connection_park(Connection* connection, BufferPool* pool) noexcept nogil
# Takes over the parts of a sealed response; False, with the response freed, without memory.
cdef bint connection_enqueue(Connection* connection, Response* response, const DiskOperations* disk) noexcept nogil
# Sends at most about `budget_bytes`; *sent counts what went out.
cdef FlushStatus connection_flush(Connection* connection, const DiskOperations* disk, int64_t budget_bytes,
                                  int64_t* sent) noexcept nogil
