"""A native user of the client's network, as producers and fetchers are: requests that are made anew from their own `finish`."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from kcore.client.network.api_versions cimport MAX_APIS, VersionTable, versions_read
from kcore.client.network.client_request cimport (
    REPLY_OK, REQUEST_HEAD_BYTES, ClientRequest, ReceivedFrame, ReplyStatus, frame_hold, frame_release,
)
from kcore.client.network.connection cimport response_body
from kcore.client.network.network_client cimport NetworkClient, monotonic_ns
from kcore.client.network.reconnect_backoff cimport (
    BackoffSettings, ReconnectBackoff, backoff_failed, backoff_succeeded,
)
from kcore.platform.disk cimport iovec
from kcore.platform.sync cimport atomic_add_64, atomic_load_64, atomic_store_64

from kcore.transport.byte_stream cimport ByteStream, StreamFactory

cdef extern from "<unistd.h>" nogil:
    int usleep(unsigned int microseconds)

cdef enum:
    STATUSES = 7
    NANOSECONDS_PER_MS = 1000000


cdef struct Asker:
    void* client
    int64_t unasked
    int64_t finished
    int64_t[7] statuses
    int64_t bytes_received


cdef struct Question:
    ClientRequest request
    iovec[2] parts
    uint8_t[12] head
    Asker* asker


cdef void answered(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil:
    cdef Question* question = <Question*>request
    cdef Asker* asker = question.asker
    asker.statuses[<int>status] += 1
    if frame != NULL:
        asker.bytes_received += <int64_t>(frame.size - body)
    if asker.unasked > 0 and status == REPLY_OK:
        asker.unasked -= 1
        request.node = 0
        (<NetworkClient>asker.client).submit(request)
    else:
        atomic_add_64(&asker.finished, 1)


def ask(NetworkClient client, int node, int api_key, int version, bytes payload, int64_t total, int in_flight,
        bint keep_interpreter=False, int64_t timeout_ms=60000) -> dict[str, object]:
    """Asks `total` times the same, so many at once; how often each status came, and the bytes of all responses.

    With `keep_interpreter` the calling thread waits without ever giving up the interpreter lock.
    """
    cdef Asker asker
    cdef Question* questions = <Question*>calloc(in_flight, sizeof(Question))
    cdef int64_t deadline_ns = monotonic_ns() + timeout_ms * NANOSECONDS_PER_MS
    cdef int i
    memset(&asker, 0, sizeof(asker))
    asker.client = <void*>client
    asker.unasked = total - in_flight
    for i in range(in_flight):
        questions[i].asker = &asker
        questions[i].parts[0].iov_base = questions[i].head
        questions[i].parts[0].iov_len = REQUEST_HEAD_BYTES
        questions[i].parts[1].iov_base = <char*>payload + 8
        questions[i].parts[1].iov_len = len(payload) - 8
        questions[i].request.node = node
        questions[i].request.api_key = api_key
        questions[i].request.api_version = version
        questions[i].request.expects_reply = True
        questions[i].request.deadline_ns = deadline_ns
        questions[i].request.parts = questions[i].parts
        questions[i].request.part_count = 2
        questions[i].request.finish = answered
        client.submit(&questions[i].request)
    # Their deadlines end them all; what waits for the interpreter lock is late by then.
    if keep_interpreter:
        while atomic_load_64(&asker.finished) < in_flight and monotonic_ns() < deadline_ns:
            usleep(100)
    is_in_time = atomic_load_64(&asker.finished) == in_flight
    with nogil:
        while atomic_load_64(&asker.finished) < in_flight:
            usleep(1000)
    free(questions)
    statuses = [asker.statuses[i] for i in range(STATUSES)]
    return {"statuses": statuses, "bytes_received": asker.bytes_received, "is_in_time": is_in_time}


cdef struct Holder:
    ReceivedFrame** frames
    size_t* bodies
    int64_t held


cdef void held(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil:
    cdef Holder* holder = <Holder*>request.context
    if frame != NULL:
        frame_hold(frame)
    holder.frames[holder.held] = frame
    holder.bodies[holder.held] = body
    atomic_store_64(&holder.held, holder.held + 1)


def hold(NetworkClient client, int api_key, int version, bytes payload, int total) -> list[bytes | None]:
    """The bodies of so many responses, all of whose frames are kept until the last one has come."""
    cdef Holder holder
    cdef Question* questions = <Question*>calloc(total, sizeof(Question))
    cdef int i
    holder.frames = <ReceivedFrame**>calloc(total, sizeof(void*))
    holder.bodies = <size_t*>calloc(total, sizeof(size_t))
    holder.held = 0
    for i in range(total):
        questions[i].parts[0].iov_base = questions[i].head
        questions[i].parts[0].iov_len = REQUEST_HEAD_BYTES
        questions[i].parts[1].iov_base = <char*>payload + 8
        questions[i].parts[1].iov_len = len(payload) - 8
        questions[i].request.node = 0
        questions[i].request.api_key = api_key
        questions[i].request.api_version = version
        questions[i].request.expects_reply = True
        questions[i].request.deadline_ns = monotonic_ns() + 60000 * <int64_t>NANOSECONDS_PER_MS
        questions[i].request.parts = questions[i].parts
        questions[i].request.part_count = 2
        questions[i].request.finish = held
        questions[i].request.context = &holder
        client.submit(&questions[i].request)
    with nogil:
        while atomic_load_64(&holder.held) < total:
            usleep(1000)
    bodies: list[bytes | None] = []
    for i in range(total):
        if holder.frames[i] == NULL:
            bodies.append(None)
            continue
        bodies.append((<char*>holder.frames[i].data)[holder.bodies[i]:holder.frames[i].size])
        frame_release(holder.frames[i])
    free(holder.frames)
    free(holder.bodies)
    free(questions)
    return bodies


cdef struct Turns:
    int64_t taken
    int64_t wanted
    int64_t interval_ns


cdef int64_t take_turn(void* driver, int64_t now_ns) noexcept nogil:
    cdef Turns* turns = <Turns*>driver
    atomic_store_64(&turns.taken, turns.taken + 1)
    return now_ns + turns.interval_ns if turns.taken < turns.wanted else INT64_MAX


def drive(NetworkClient client, thread, int64_t wanted, int64_t interval_ns) -> int:
    """Starts a network thread whose driver wants so many turns by time, then is woken once more; the turns it took."""
    cdef Turns turns
    memset(&turns, 0, sizeof(turns))
    turns.wanted = wanted
    turns.interval_ns = interval_ns
    client.drive(take_turn, &turns)
    thread.start()
    with nogil:
        while atomic_load_64(&turns.taken) < wanted:
            usleep(1000)
        client.wake()
        while atomic_load_64(&turns.taken) < wanted + 1:
            usleep(1000)
    thread.close()
    client.drive(NULL, NULL)
    return turns.taken


def backoffs(base_ns: int, max_ns: int, failures: int) -> list[int]:
    """How long a broker is left alone after each of so many failures in a row, and after one that follows a success."""
    cdef BackoffSettings settings
    cdef ReconnectBackoff backoff
    memset(&settings, 0, sizeof(settings))
    memset(&backoff, 0, sizeof(backoff))
    settings.reconnect_ns = base_ns
    settings.reconnect_max_ns = max_ns
    waits = []
    for _ in range(failures):
        backoff_failed(&backoff, &settings, 0, True)
        waits.append(backoff.not_before_ns)
    backoff_succeeded(&backoff)
    backoff_failed(&backoff, &settings, 0, True)
    waits.append(backoff.not_before_ns)
    return waits


cdef int64_t (*plain_writev)(ByteStream* stream, iovec* parts, int count, bint more) noexcept nogil
cdef int64_t last_promised = 0


cdef int64_t noted_writev(ByteStream* stream, iovec* parts, int count, bint more) noexcept nogil:
    atomic_store_64(&last_promised, more)
    return plain_writev(stream, parts, count, more)


cdef class NotedStreams(StreamFactory):
    """Plaintext streams that note whether the last write promised that more would follow."""
    cdef StreamFactory plain

    def __init__(self, StreamFactory plain):
        self.plain = plain

    cdef ByteStream* open(self, int socket) noexcept nogil:
        global plain_writev
        cdef ByteStream* stream = self.plain.open(socket)
        if stream != NULL:
            plain_writev = stream.writev
            stream.writev = noted_writev
        return stream

    @property
    def promises_more(self) -> bool:
        return atomic_load_64(&last_promised) != 0


cdef struct Caller:
    void* client
    int64_t attempts
    int64_t refusals
    int64_t is_ready


cdef int64_t call_until_ready(void* driver, int64_t now_ns) noexcept nogil:
    """Does what a driver does to whose partition no request can be sent yet: nothing but to say so."""
    cdef Caller* caller = <Caller*>driver
    if (<NetworkClient>caller.client).is_ready(0, now_ns):
        atomic_store_64(&caller.is_ready, 1)
    elif (<NetworkClient>caller.client).begin_connecting(0, now_ns):
        atomic_add_64(&caller.attempts, 1)
    else:
        atomic_add_64(&caller.refusals, 1)
    return INT64_MAX


def connect_by_driver(NetworkClient client, thread, listen) -> tuple[int, int]:
    """Has a driver connect to node 0, which listens only once a connection was refused; its attempts and refusals."""
    cdef Caller caller
    memset(&caller, 0, sizeof(caller))
    caller.client = <void*>client
    client.drive(call_until_ready, &caller)
    thread.start()
    with nogil:
        while atomic_load_64(&caller.refusals) < 3:
            usleep(1000)
    listen()
    with nogil:
        while not atomic_load_64(&caller.is_ready):
            usleep(1000)
    thread.close()
    client.drive(NULL, NULL)
    return caller.attempts, caller.refusals


cdef struct Throttled:
    void* client
    int64_t throttled_ns         # when
    int64_t early_turns          # before the time was over: not ready
    int64_t ready_after_ns


cdef int64_t throttle_once(void* driver, int64_t now_ns) noexcept nogil:
    cdef Throttled* throttled = <Throttled*>driver
    if throttled.throttled_ns == 0:
        if (<NetworkClient>throttled.client).is_ready(0, now_ns):
            throttled.throttled_ns = now_ns
            (<NetworkClient>throttled.client).throttle(0, now_ns, 30)
            (<NetworkClient>throttled.client).throttle(0, now_ns, 10)
        else:
            (<NetworkClient>throttled.client).begin_connecting(0, now_ns)
    if throttled.throttled_ns and throttled.ready_after_ns == 0:
        if (<NetworkClient>throttled.client).is_ready(0, now_ns):
            atomic_store_64(&throttled.ready_after_ns, now_ns - throttled.throttled_ns)
        else:
            throttled.early_turns += 1
    return INT64_MAX


def throttle_by_driver(NetworkClient client, thread) -> tuple[int, int]:
    """A driver is told by node 0 to wait for 30 ms: its turns before that, and after how many ns it found it ready."""
    cdef Throttled throttled
    memset(&throttled, 0, sizeof(throttled))
    throttled.client = <void*>client
    client.drive(throttle_once, &throttled)
    thread.start()
    with nogil:
        while atomic_load_64(&throttled.ready_after_ns) == 0:
            usleep(1000)
    thread.close()
    client.drive(NULL, NULL)
    return throttled.early_turns, throttled.ready_after_ns


def read_versions(data, int version) -> tuple[int, dict[int, tuple[int, int]]]:
    """An ApiVersions response behind its header, where it lies: its error code, and the ranges that are not empty."""
    cdef Py_buffer view
    cdef VersionTable table
    cdef int error
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        error = versions_read(&table, <uint8_t*>view.buf, <size_t>view.len, <short>version)
    finally:
        PyBuffer_Release(&view)
    ranges = {key: (table.lowest[key], table.highest[key]) for key in range(MAX_APIS)}
    return error, {key: found for key, found in ranges.items() if found[0] <= found[1]}


def body_of(data, int api_key, int version) -> int:
    """Where the response begins in a frame; 0 when its header cannot be read."""
    cdef Py_buffer view
    cdef ReceivedFrame frame
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        frame.data = <uint8_t*>view.buf
        frame.size = <size_t>view.len
        return response_body(&frame, <short>api_key, <short>version)
    finally:
        PyBuffer_Release(&view)
