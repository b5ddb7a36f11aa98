"""BrokerConnection: the state of one connection of a NetworkClient."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from kcore.client.network.api_versions cimport VersionTable
from kcore.client.network.client_request cimport ClientRequest, ReceivedFrame, RequestQueue
from kcore.client.network.name_resolution cimport AddressList, NameLookup
from kcore.client.network.reconnect_backoff cimport BackoffSettings, ReconnectBackoff
from kcore.platform.disk cimport iovec
from kcore.platform.sync cimport pthread_mutex_t
from kcore.transport.byte_stream cimport ByteStream

cdef enum:
    RECEIVE_BUFFER_BYTES = 64 * 1024
    HOST_BYTES = 256             # of a host name, including the final NUL

cdef enum ConnectionState:
    CONNECTION_DISCONNECTED = 0
    CONNECTION_RESOLVING = 1     # resolving the host name
    CONNECTION_CONNECTING = 2
    CONNECTION_HANDSHAKING = 3   # handshake of the byte stream
    CONNECTION_NEGOTIATING = 4   # ApiVersions is in flight
    CONNECTION_READY = 5

# Why a connection ended. The meaning of `detail` and `due` depends on the kind.
cdef enum FailureKind:
    FAILURE_NONE = 0
    FAILURE_ERRNO = 1            # detail: the errno
    FAILURE_END = 2              # the broker closed it
    FAILURE_NAME = 3             # detail: getaddrinfo's error
    FAILURE_SETUP_TIMEOUT = 4
    FAILURE_REQUEST_TIMEOUT = 5  # detail: the API's key
    FAILURE_SIZE = 6             # detail: the invalid size of a response
    FAILURE_UNASKED = 7          # a response without a request
    FAILURE_CORRELATION = 8      # detail: the correlation id of the response, due: that of the oldest request
    FAILURE_HEADER = 9           # detail: the API's key; its response header cannot be parsed
    FAILURE_VERSIONS = 10        # detail: the error code of ApiVersions, or VERSIONS_UNREADABLE
    FAILURE_MEMORY = 11
    FAILURE_IDLE = 12            # connections.max.idle.ms
    FAILURE_CLOSED = 13          # the client was closed

cdef struct Failure:
    FailureKind kind
    int64_t detail
    int64_t due

# The settings that all connections of a client share.
cdef struct ConnectionSettings:
    BackoffSettings backoff
    void* stream_factory         # a StreamFactory
    int64_t max_idle_ns          # connections.max.idle.ms; negative: never
    int32_t send_buffer_bytes    # send.buffer.bytes; negative: the system's default
    int32_t receive_buffer_bytes
    int64_t max_response_bytes
    const uint8_t* versions_request
    size_t versions_request_bytes
    const uint8_t* fallback_request
    size_t fallback_request_bytes

# Written by the polling thread; any thread may read them.
cdef struct ConnectionCounters:
    int64_t connections          # connections that became ready
    int64_t requests             # completely written
    int64_t responses
    int64_t writes               # system calls
    int64_t reads
    int64_t bytes_out
    int64_t bytes_in

cdef struct BrokerConnection:
    int32_t slot
    uint32_t generation          # number of its sockets, to ignore epoll events of earlier ones
    int epoll
    ConnectionState state
    const ConnectionSettings* settings
    ConnectionCounters* counters
    bint is_bootstrap
    bint is_apart                # not used for requests to any node
    int64_t throttled_until_ns   # the broker executes no request before that time (KIP-219)
    bint is_wanted               # by the driver, even if no request waits for it
    int64_t tried_round          # the last round of requests to any node in which it was tried
    # Other threads set or read the following, under the client's lock.
    pthread_mutex_t* lock
    char[256] host
    int32_t port
    bint has_versions            # `known_versions` are those of the last connection
    VersionTable known_versions
    Failure known_failure
    bint is_known_ready
    int32_t known_refusals       # consecutive failed attempts to connect
    AddressList addresses
    NameLookup* lookup
    ReconnectBackoff backoff
    ByteStream* stream
    uint32_t interest
    int64_t setup_deadline_ns
    int64_t last_active_ns
    int64_t next_deadline_ns     # no request expires before that time
    Failure failure              # of the last connection or connection attempt
    VersionTable versions
    # A request is waiting until the connection is ready, then unsent until its last byte is written, then in flight.
    RequestQueue waiting
    RequestQueue unsent
    RequestQueue in_flight
    int32_t sent_parts           # of the first unsent request: number of parts that are written,
    size_t sent_offset           # and number of written bytes of the next part
    int32_t last_correlation_id
    ClientRequest negotiation
    uint8_t[12] negotiation_head
    iovec[2] negotiation_parts
    # Received data: small responses are delivered from the buffer, a large one is received into its frame.
    uint8_t* buffer
    size_t start
    size_t end
    ReceivedFrame* frame
    size_t filled
    ReceivedFrame* spare         # reused for the next small response if nothing holds it
    bint is_dirty                # there is something to send
    bint has_finished_unanswered # a request without a reply was finished since the last check; no epoll event follows
    BrokerConnection* next_dirty


cdef inline int32_t pending_requests(const BrokerConnection* connection) noexcept nogil:
    return connection.waiting.count + connection.unsent.count + connection.in_flight.count


cdef inline bint is_in_setup(const BrokerConnection* connection) noexcept nogil:
    return CONNECTION_DISCONNECTED < connection.state < CONNECTION_READY


cdef inline Failure failure_of(FailureKind kind, int64_t detail) noexcept nogil:
    cdef Failure failure
    failure.kind = kind
    failure.detail = detail
    failure.due = 0
    return failure

cdef BrokerConnection* connection_new(int32_t slot, int epoll, const ConnectionSettings* settings,
                                      ConnectionCounters* counters, pthread_mutex_t* lock) noexcept nogil
# All its requests must be finished.
cdef void connection_free(BrokerConnection* connection) noexcept nogil
cdef void connection_watch(BrokerConnection* connection, uint32_t interest) noexcept nogil
# Accepts a request: it waits, is queued for sending, or is finished at once.
cdef void connection_submit(BrokerConnection* connection, ClientRequest* request) noexcept nogil
# Sends ApiVersions over a connected socket.
cdef void connection_negotiate(BrokerConnection* connection, int16_t version) noexcept nogil
# Closes the socket, dropping partially received data, and cancels a lookup.
cdef void connection_drop(BrokerConnection* connection) noexcept nogil
# Ends a failed connection: finishes all its requests and starts the backoff.
cdef void connection_end(BrokerConnection* connection, Failure failure, int64_t now_ns) noexcept nogil
# Closes a connection that is idle or no longer needed. This is no failure. Its requests are finished as closed.
cdef void connection_close(BrokerConnection* connection, FailureKind reason) noexcept nogil
# Sends as much as possible. Returns False if the connection has failed; `failure` is set then.
cdef bint connection_flush(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Receives responses and finishes their requests. Returns False if the connection has failed; `failure` is set then.
cdef bint connection_receive(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Returns where the response begins in a frame, after its header; 0 if the header is invalid.
cdef size_t response_body(const ReceivedFrame* frame, int16_t api_key, int16_t version) noexcept nogil
# Finishes expired requests. If one is in flight, the connection ends. Returns when to look again.
cdef int64_t connection_expire(BrokerConnection* connection, int64_t now_ns) noexcept nogil
