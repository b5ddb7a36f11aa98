"""A request as a Python handler sees it.

It is answered exactly once, from any thread. If it is deallocated without an answer, because a handler failed, its
connection is closed: otherwise the connection would stay muted for ever.

Until it is answered, a request of more than UNCOUNTED_BYTES counts in the server's MemoryPool.
"""

cimport cython
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint, endpoint_host
from kcore.network.memory_pool cimport MemoryPool
from kcore.network.response cimport Response, response_bytes, response_init


cdef QueuedRequest* queued_request_new(const NativeRequest* request, const Endpoint* client,
                                       const Endpoint* local) noexcept nogil:
    cdef QueuedRequest* queued = <QueuedRequest*>malloc(
        sizeof(QueuedRequest) + request.size + <size_t>request.user_size)
    if queued == NULL:
        return NULL
    queued.next = NULL
    queued.native = request[0]
    queued.native.frame = <uint8_t*>(queued + 1)
    memcpy(queued.native.frame, request.frame, request.size)
    queued.native.user = queued.native.frame + request.size
    memcpy(queued.native.frame + request.size, request.user, <size_t>request.user_size)
    if request.client_id != NULL:
        queued.native.client_id = queued.native.frame + (request.client_id - request.frame)
    queued.client = client[0]
    queued.local = local[0]
    return queued


cdef class ResponseSink:
    """Base of SocketServer."""

    cdef void respond(self, uint64_t connection, Response* response) noexcept nogil:
        pass

    cdef int64_t now_ns(self) noexcept nogil:
        return 0


# A request in a garbage cycle, such as that of a traceback, still needs its sink and memory pool when it is
# deallocated.
@cython.no_gc_clear
cdef class Request:
    """One request of one connection. `frame` is the request without its length, `body` the position of its body."""

    def __dealloc__(self):
        if not self.answered and self.sink is not None:
            self.answer(None, True, 0, 0)

    @property
    def client_host(self) -> str:
        return endpoint_host(&self.client_endpoint)

    @property
    def client_port(self) -> int:
        return self.client_endpoint.port

    @property
    def local_host(self) -> str:
        """The local address of the connection. It is advertised if no other address is configured."""
        return endpoint_host(&self.local_endpoint)

    @property
    def local_port(self) -> int:
        return self.local_endpoint.port

    def begin(self) -> None:
        """Marks the start of the handler and the end of the queue time."""
        if self.sink is not None:
            self.begun_ns = self.sink.now_ns()

    def leave(self) -> None:
        """Marks the end of the handler. If the request is not answered yet, it waits for another component."""
        if not self.answered and self.sink is not None:
            self.left_ns = self.sink.now_ns()

    def respond(self, payload: bytes | None, close: bool = False, throttle_ms: int = 0) -> None:
        """Sends a response header and body, given without their length. None sends nothing (acks=0).

        With `close`, the connection is closed afterwards. With `throttle_ms`, it stays muted that long for a quota.
        `payload` is copied. Raises RuntimeError if the request was answered already.
        """
        if self.answered:
            raise RuntimeError(f"request {self.correlation_id} of API key {self.api_key} was answered twice")
        self.answer(payload, close, throttle_ms, 0)

    def respond_cut(self, payload: bytes, size_bytes: int) -> None:
        """Sends the first `size_bytes` of a response, its length included, and closes the connection. For faults."""
        if self.answered:
            raise RuntimeError(f"request {self.correlation_id} of API key {self.api_key} was answered twice")
        if size_bytes < 1:
            raise ValueError(f"at least one byte of a response is sent, not {size_bytes}")
        self.answer(payload, True, 0, size_bytes)

    cdef void answer(self, bytes payload, bint close, int32_t throttle_ms, int64_t cut_bytes):
        cdef Response response
        cdef uint8_t* target
        cdef uint64_t connection = self.connection
        cdef ResponseSink sink = self.sink
        response_init(&response)
        response.close_after = close
        response.empty = payload is None
        response.throttle_ms = throttle_ms
        response.begun_ns = self.begun_ns
        response.left_ns = self.left_ns
        response.cut_bytes = cut_bytes
        if payload is not None:
            target = response_bytes(&response, <size_t>PyBytes_GET_SIZE(payload))
            if target == NULL:
                response.close_after = True
                response.empty = True
            else:
                memcpy(target, PyBytes_AS_STRING(payload), <size_t>PyBytes_GET_SIZE(payload))
        self.answered = True
        with nogil:
            if self.charged_bytes:
                self.memory.release(self.charged_bytes)
            sink.respond(connection, &response)

    def __repr__(self) -> str:
        return (
            f"Request(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r}, client={self.client_host})"
        )


cdef Request request_from_queue(const QueuedRequest* queued, ResponseSink sink, MemoryPool memory):
    cdef Request request = Request.__new__(Request)
    cdef const NativeRequest* native = &queued.native
    request.sink = sink
    request.memory = memory
    request.charged_bytes = charge_of(native.size)
    request.client_endpoint = queued.client
    request.local_endpoint = queued.local
    request.connection = native.connection
    request.listener = native.listener
    request.api_key = native.api_key
    request.api_version = native.api_version
    request.correlation_id = native.correlation_id
    if native.client_id != NULL:
        request.client_id = (<const char*>native.client_id)[:native.client_id_size].decode("utf-8", "replace")
    request.frame = PyBytes_FromStringAndSize(<const char*>native.frame, <Py_ssize_t>native.size)
    request.body = <Py_ssize_t>native.body
    request.received_ns = native.received_ns
    request.peer_closed = native.peer_closed
    request.network_ns = native.network_ns
    request.user = (<const char*>native.user)[:native.user_size].decode("utf-8", "replace")
    return request
