"""The ring between a processor, which finishes requests without the GIL, and the thread that writes the request log.

Bounds: a ring has `kcli.request.log.queue.size` entries, allocated when the log is first enabled. Requests that do not
fit are counted and not logged: no request waits for the log.

Concurrency: one writer and one reader, without a lock. The writer publishes an entry by incrementing `written`. The
reader releases it by incrementing `taken`. The entries are allocated before `takes_all` or `slow_ns` is first set, and
kept.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from kcore.metrics.histogram cimport count
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint, endpoint_text
from kcore.network.request_timing cimport RequestTiming
from kcore.platform.sync cimport atomic_load_64, atomic_store_32, atomic_store_64

cdef enum:
    NANOSECONDS_PER_MS = 1000000


cdef void note_client(RequestClient* name, const NativeRequest* request) noexcept nogil:
    if request.client_id == NULL:
        name.id_size = -1
        return
    name.id_size = min(request.client_id_size, <int32_t>CLIENT_ID_BYTES)
    memcpy(name.id, request.client_id, <size_t>name.id_size)


cdef class RequestRing:

    def __dealloc__(self):
        free(self.entries)

    cdef void put(self, const RequestTiming* timing, uint64_t connection, int32_t listener, const Endpoint* client,
                  const Endpoint* local, const RequestClient* name) noexcept nogil:
        cdef FinishedRequest* entry
        if self.written - atomic_load_64(&self.taken) >= self.capacity:
            count(&self.lost, 1)
            return
        entry = &self.entries[self.written % self.capacity]
        entry.timing = timing[0]
        entry.connection = connection
        entry.listener = listener
        entry.client = client[0]
        entry.local = local[0]
        entry.name = name[0]
        count(&self.written, 1)

    def configure(self, int64_t capacity, bint takes_all, int64_t slow_ms) -> None:
        """Sets what to log. A `slow_ms` of 0 disables slow requests. Only the first call sets the capacity."""
        if self.entries == NULL:
            self.entries = <FinishedRequest*>calloc(<size_t>capacity, sizeof(FinishedRequest))
            if self.entries == NULL:
                raise MemoryError
            self.capacity = capacity
        atomic_store_64(&self.slow_ns, slow_ms * NANOSECONDS_PER_MS)
        atomic_store_32(&self.takes_all, takes_all)

    def take(self) -> list[LoggedRequest]:
        """Returns the requests finished since the last call."""
        cdef list taken = []
        cdef int64_t written = atomic_load_64(&self.written)
        while self.taken < written:
            taken.append(logged_request(&self.entries[self.taken % self.capacity]))
            count(&self.taken, 1)
        return taken

    @property
    def lost_requests(self) -> int:
        """Number of requests that did not fit into the ring."""
        return atomic_load_64(&self.lost)


class LoggedRequest:
    """One finished request: client, API, sizes in bytes, and times in milliseconds."""

    __slots__ = ("api_key", "api_version", "client", "client_id", "connection", "correlation_id", "listener", "local",
                 "local_ms", "queue_ms", "remote_ms", "request_bytes", "response_bytes", "response_queue_ms", "send_ms",
                 "throttle_ms", "total_ms")


cdef object logged_request(const FinishedRequest* entry):
    cdef const RequestTiming* timing = &entry.timing
    logged = LoggedRequest()
    logged.api_key = timing.api_key
    logged.api_version = timing.api_version
    logged.correlation_id = timing.correlation_id
    logged.client_id = None if entry.name.id_size < 0 else bytes(entry.name.id[:entry.name.id_size]).decode(
        "utf-8", "replace")
    logged.connection = entry.connection
    logged.listener = entry.listener
    logged.client = text_of(&entry.client)
    logged.local = text_of(&entry.local)
    logged.request_bytes = timing.request_bytes
    logged.response_bytes = timing.response_bytes
    logged.queue_ms = milliseconds(timing.begun_ns - timing.received_ns)
    logged.local_ms = milliseconds(timing.left_ns - timing.begun_ns)
    logged.remote_ms = milliseconds(timing.completed_ns - timing.left_ns)
    logged.response_queue_ms = milliseconds(timing.sending_ns - timing.completed_ns)
    logged.send_ms = milliseconds(timing.ended_ns - timing.sending_ns)
    logged.throttle_ms = timing.throttle_ms
    logged.total_ms = milliseconds(timing.ended_ns - timing.received_ns)
    return logged


cdef double milliseconds(int64_t duration_ns) noexcept:
    """Converts to milliseconds with microsecond resolution. Negative durations become 0."""
    return max(<int64_t>0, duration_ns // 1000) / 1000.0


cdef str text_of(const Endpoint* endpoint):
    cdef char[64] text
    endpoint_text(endpoint, text)
    return text.decode("ascii")
