"""EncodedRequest and ReplyQueue: how Python asks and is answered, whichever thread polls.

A request is finished without the GIL, on the thread that polls: its reply is put into the ReplyQueue that it was submitted
with, and whoever reads that queue is woken. So the network never waits for Python, and Python code runs on the thread that
takes the reply. Every submitted request comes out of its queue exactly once.

Concurrency: a queue has one lock, held for a few instructions; it is read by one thread at a time.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from kcore.client.network.client_request cimport (
    NO_API, REQUEST_HEAD_BYTES, ClientRequest, ReceivedFrame, ReplyStatus, frame_hold, frame_release,
)
from kcore.client.network.network_client cimport NetworkClient, monotonic_ns
from kcore.client.network.wakeup cimport WAIT_INTERRUPTED, WAIT_WOKEN, WaitOutcome, Wakeup
from kcore.platform.sync cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)

# A payload begins with its key, version and correlation id; the engine writes them, and the size before them, into `head`.
cdef enum:
    PAYLOAD_HEAD_BYTES = 8
    NANOSECONDS_PER_MS = 1000000
    FOREVER_MS = 1000000000

OK, UNSENT, DISCONNECTED, TIMED_OUT, UNSUPPORTED_VERSION, UNREADABLE, CLOSED = range(7)


cdef class ReplyQueue:
    """Replies that wait to be taken."""

    def __cinit__(self):
        pthread_mutex_init(&self.lock, NULL)
        self.wakeup = Wakeup()

    def __dealloc__(self):
        # Whoever waits in it holds it: it is empty.
        pthread_mutex_destroy(&self.lock)

    cdef void put(self, PendingReply* reply) noexcept nogil:
        reply.next = NULL
        pthread_mutex_lock(&self.lock)
        if self.first == NULL:
            self.first = reply
        else:
            self.last.next = reply
        self.last = reply
        # Under the lock: once it is free the reader may take the reply and let go of the queue.
        self.wakeup.set()
        pthread_mutex_unlock(&self.lock)

    def take(self) -> list[EncodedRequest]:
        """All requests that are finished, oldest first."""
        cdef PendingReply* reply
        cdef PendingReply* next_reply
        cdef EncodedRequest request
        cdef list taken = []
        with nogil:
            pthread_mutex_lock(&self.lock)
            reply = self.first
            self.first = self.last = NULL
            pthread_mutex_unlock(&self.lock)
        while reply != NULL:
            next_reply = reply.next
            reply.request.context = NULL
            request = <EncodedRequest>reply.owner
            taken.append(request)
            Py_DECREF(request)
            reply = next_reply
        return taken

    def wait(self, timeout_ms: float) -> bool:
        """Waits without the GIL until a reply is there, at most so long."""
        return self.wakeup.wait_for(timeout_ms)

    @property
    def descriptor(self) -> int:
        """An eventfd: whoever writes to it ends the wait of the queue's reader too."""
        return self.wakeup.descriptor

    def wake(self) -> None:
        """Ends the wait of the queue's reader."""
        self.wakeup.notify()


cdef void finished(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil:
    cdef PendingReply* reply = <PendingReply*>request.context
    reply.status = status
    reply.body = body
    reply.frame = frame
    if frame != NULL:
        frame_hold(frame)
    reply.failure = (<EncodedRequest>reply.owner).client.failure_of(request.node)
    (<EncodedRequest>reply.owner).replies.put(reply)


cdef class EncodedRequest:
    """A request's bytes from its header on, and in the end its reply. `tag` is the requester's."""

    def __init__(self, NetworkClient client not None, ReplyQueue replies not None, tag=None):
        self.client = client
        self.replies = replies
        self.tag = tag

    def __dealloc__(self):
        if self.reply.frame != NULL:
            frame_release(self.reply.frame)

    def submit(self, int node, int api_key, int api_version, bytes payload not None, timeout_ms: float,
               bint expects_reply=True) -> None:
        """Sends `payload`, a header and a body, to a node's slot or to any (-1)."""
        cdef ClientRequest* request = &self.reply.request
        if len(payload) < PAYLOAD_HEAD_BYTES:
            raise ValueError("a request without a header")
        self.payload = payload
        self.reply.parts[1].iov_base = PyBytes_AS_STRING(payload) + PAYLOAD_HEAD_BYTES
        self.reply.parts[1].iov_len = len(payload) - PAYLOAD_HEAD_BYTES
        request.api_key = <short>api_key
        request.api_version = <short>api_version
        request.expects_reply = expects_reply
        self.start(node, timeout_ms)

    def connect(self, int node, timeout_ms: float) -> None:
        """Asks for nothing but a connection to a node, or to any; `node` is the one that stands."""
        self.reply.request.api_key = NO_API
        self.reply.parts[1].iov_len = 0
        self.start(node, timeout_ms)

    def start(self, int node, timeout_ms: float) -> None:
        cdef ClientRequest* request = &self.reply.request
        if self.reply.request.context != NULL:
            raise RuntimeError("a request is submitted again before its reply was taken")
        if self.reply.frame != NULL:
            frame_release(self.reply.frame)
            self.reply.frame = NULL
        self.reply.owner = <void*>self
        self.reply.parts[0].iov_base = self.reply.head
        self.reply.parts[0].iov_len = REQUEST_HEAD_BYTES
        request.parts = self.reply.parts
        request.part_count = 2
        request.node = node
        request.deadline_ns = monotonic_ns() + <int64_t>(min(timeout_ms, FOREVER_MS) * NANOSECONDS_PER_MS)
        request.finish = finished
        request.context = &self.reply
        Py_INCREF(self)
        with nogil:
            self.client.submit(request)

    @property
    def node(self) -> int:
        """The slot that it went to, -1 while there is none."""
        return self.reply.request.node

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def frame(self) -> bytes | None:
        """The response with its header, copied; None without one."""
        if self.reply.frame == NULL:
            return None
        return PyBytes_FromStringAndSize(<char*>self.reply.frame.data, <Py_ssize_t>self.reply.frame.size)

    @property
    def body(self) -> int:
        """Where the response begins in its frame, after its header."""
        return self.reply.body

    @property
    def failure(self) -> tuple[int, int, int]:
        """Why the connection ended, where one did: FailureKind and what belongs to it."""
        return self.reply.failure.kind, self.reply.failure.detail, self.reply.failure.due
