"""BrokerConnection: one connection to a broker, as its NetworkClient keeps it."""

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
    HOST_BYTES = 256             # of a name, with its end

cdef enum ConnectionState:
    CONNECTION_DISCONNECTED = 0
    CONNECTION_RESOLVING = 1     # its name
    CONNECTION_CONNECTING = 2
    CONNECTION_HANDSHAKING = 3   # what carries its bytes is being agreed upon
    CONNECTION_NEGOTIATING = 4   # ApiVersions is on its way
    CONNECTION_READY = 5

# Why a connection ended, for whoever is to read it; `detail` and `due` as said.
cdef enum FailureKind:
    FAILURE_NONE = 0
    FAILURE_ERRNO = 1            # detail: the errno
    FAILURE_END = 2              # the broker closed it
    FAILURE_NAME = 3             # detail: getaddrinfo's error
    FAILURE_SETUP_TIMEOUT = 4
    FAILURE_REQUEST_TIMEOUT = 5  # detail: the API's key
    FAILURE_SIZE = 6             # detail: the size of a response that may not be
    FAILURE_UNASKED = 7          # a response that nobody waits for
    FAILURE_CORRELATION = 8      # detail: the correlation id that came, due: that of the oldest request
    FAILURE_HEADER = 9           # detail: the API's key; the header of its response cannot be read
    FAILURE_VERSIONS = 10        # detail: the error code of ApiVersions, or VERSIONS_UNREADABLE
    FAILURE_MEMORY = 11
    FAILURE_IDLE = 12            # connections.max.idle.ms
    FAILURE_CLOSED = 13          # the client closes

cdef struct Failure:
    FailureKind kind
    int64_t detail
    int64_t due

# What all connections of a client have in common.
cdef struct ConnectionSettings:
    BackoffSettings backoff
    void* stream_factory         # a StreamFactory
    int64_t max_idle_ns          # connections.max.idle.ms; below 0: never
    int32_t send_buffer_bytes    # send.buffer.bytes; below 0: as the system decides
    int32_t receive_buffer_bytes
    int64_t max_response_bytes
    const uint8_t* versions_request
    size_t versions_request_bytes
    const uint8_t* fallback_request
    size_t fallback_request_bytes

# Written by the polling thread, read by anyone.
cdef struct ConnectionCounters:
    int64_t connections          # that became ready
    int64_t requests             # wholly written
    int64_t responses
    int64_t writes               # system calls
    int64_t reads
    int64_t bytes_out
    int64_t bytes_in

cdef struct BrokerConnection:
    int32_t slot
    uint32_t generation          # counts its sockets: an event of an earlier one is not taken for this one's
    int epoll
    ConnectionState state
    const ConnectionSettings* settings
    ConnectionCounters* counters
    bint is_bootstrap
    bint is_apart                # what may go to any node does not go here
    int64_t throttled_until_ns   # the broker executes nothing that it is sent before (KIP-219)
    bint is_wanted               # by the driver, though no request waits for it
    int64_t tried_round          # of requests to any node: the last one that had it connect
    # What other threads set or read, under the client's lock.
    pthread_mutex_t* lock
    char[256] host
    int32_t port
    bint has_versions            # `known_versions` are those that the broker spoke last
    VersionTable known_versions
    Failure known_failure
    bint is_known_ready
    int32_t known_refusals       # attempts at a connection in a row that failed
    AddressList addresses
    NameLookup* lookup
    ReconnectBackoff backoff
    ByteStream* stream
    uint32_t interest
    int64_t setup_deadline_ns
    int64_t last_active_ns
    int64_t next_deadline_ns     # no request expires before
    Failure failure              # of the last connection, or of the last attempt at one
    VersionTable versions
    # A request waits until the connection is ready, is then unsent until its last byte is written, and in flight after that.
    RequestQueue waiting
    RequestQueue unsent
    RequestQueue in_flight
    int32_t sent_parts           # of the first unsent one: so many parts are written,
    size_t sent_offset           # and so many bytes of the next
    int32_t last_correlation_id
    ClientRequest negotiation
    uint8_t[12] negotiation_head
    iovec[2] negotiation_parts
    # What was received: whole small responses out of the buffer, a large one straight into its frame.
    uint8_t* buffer
    size_t start
    size_t end
    ReceivedFrame* frame
    size_t filled
    ReceivedFrame* spare         # for the next small response, if nobody kept it
    bint is_dirty                # has something to send
    bint has_finished_unanswered # requests without a reply, since it was last asked: no event will tell of them
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
# Everything has been finished before.
cdef void connection_free(BrokerConnection* connection) noexcept nogil
cdef void connection_watch(BrokerConnection* connection, uint32_t interest) noexcept nogil
# Takes a request in: it waits, is to be sent, or is finished at once.
cdef void connection_submit(BrokerConnection* connection, ClientRequest* request) noexcept nogil
# Asks for the broker's versions over a socket that is connected.
cdef void connection_negotiate(BrokerConnection* connection, int16_t version) noexcept nogil
# Gives up the socket and what has come half over it, and a look-up.
cdef void connection_drop(BrokerConnection* connection) noexcept nogil
# The connection ended: every request of it is finished, and the broker left alone for a while.
cdef void connection_end(BrokerConnection* connection, Failure failure, int64_t now_ns) noexcept nogil
# The connection did its time, or the client does not want it any more: no failure; its requests are finished as closed.
cdef void connection_close(BrokerConnection* connection, FailureKind reason) noexcept nogil
# Sends what is unsent as far as it goes; False when the connection has failed, with `failure` set.
cdef bint connection_flush(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Receives and finishes what is answered; False when the connection has failed, with `failure` set.
cdef bint connection_receive(BrokerConnection* connection, int64_t now_ns) noexcept nogil
# Where the response begins in a frame, behind its header; 0 when that cannot be read.
cdef size_t response_body(const ReceivedFrame* frame, int16_t api_key, int16_t version) noexcept nogil
# Finishes what has waited for too long, ends the connection if that was in flight; when to look again.
cdef int64_t connection_expire(BrokerConnection* connection, int64_t now_ns) noexcept nogil
