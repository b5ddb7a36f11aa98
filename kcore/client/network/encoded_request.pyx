"""EncodedRequest and ReplyQueue: requests from Python and their replies, whichever thread polls.

The polling thread finishes a request without the GIL: it puts the reply into the request's ReplyQueue and wakes the
queue's reader. So the network never waits for Python, and Python code runs on the thread that takes the reply. Every
submitted request is taken from its queue exactly once.

Concurrency: a queue has one lock, held for a few instructions. One thread at a time reads it.
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

# A payload begins with key, version and correlation id. The engine writes them, and the size before them, into `head`.
cdef enum:
    PAYLOAD_HEAD_BYTES = 8
    NANOSECONDS_PER_MS = 1000000
    FOREVER_MS = 1000000000

OK, UNSENT, DISCONNECTED, TIMED_OUT, UNSUPPORTED_VERSION, UNREADABLE, CLOSED = range(7)


cdef class ReplyQueue:
    """Replies of finished requests, until they are taken."""

    def __cinit__(self):
        pthread_mutex_init(&self.lock, NULL)
        self.wakeup = Wakeup()

    def __dealloc__(self):
        # Requests in the queue hold a reference to it, so it is empty.
        pthread_mutex_destroy(&self.lock)

    cdef void put(self, PendingReply* reply) noexcept nogil:
        reply.next = NULL
        pthread_mutex_lock(&self.lock)
        if self.first == NULL:
            self.first = reply
        else:
            self.last.next = reply
        self.last = reply
        # Under the lock, because the reader may take the reply and release the queue as soon as the lock is free.
        self.wakeup.set()
        pthread_mutex_unlock(&self.lock)

    def take(self) -> list[EncodedRequest]:
        """Return all finished requests, oldest first."""
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
        """Wait without the GIL for a reply, at most `timeout_ms`."""
        return self.wakeup.wait_for(timeout_ms)

    @property
    def descriptor(self) -> int:
        """The eventfd that the reader waits on. Writing to it ends the reader's wait."""
        return self.wakeup.descriptor

    def wake(self) -> None:
        """End the wait of the queue's reader."""
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
    """A request's bytes after its head, and later its reply. `tag` is for the requester."""

    def __init__(self, NetworkClient client not None, ReplyQueue replies not None, tag=None):
        self.client = client
        self.replies = replies
        self.tag = tag

    def __dealloc__(self):
        if self.reply.frame != NULL:
            frame_release(self.reply.frame)

    def submit(self, int node, int api_key, int api_version, bytes payload not None, timeout_ms: float,
               bint expects_reply=True) -> None:
        """Send `payload`, a header and a body, to a node's slot or to any node (-1)."""
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
        """Only connect to a node, or to any (-1). Afterwards `node` is the connected one."""
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
        """The slot of the broker; -1 if none is chosen yet."""
        return self.reply.request.node

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def frame(self) -> bytes | None:
        """A copy of the response with its header; None if there is none."""
        if self.reply.frame == NULL:
            return None
        return PyBytes_FromStringAndSize(<char*>self.reply.frame.data, <Py_ssize_t>self.reply.frame.size)

    @property
    def body(self) -> int:
        """Where the response begins in its frame, after the header."""
        return self.reply.body

    @property
    def failure(self) -> tuple[int, int, int]:
        """Why the connection ended, if it did: FailureKind and its details."""
        return self.reply.failure.kind, self.reply.failure.detail, self.reply.failure.due
