"""BrokerConnection: sends requests in order, and matches responses to them in the same order.

    DISCONNECTED -> RESOLVING -> CONNECTING -> HANDSHAKING -> NEGOTIATING -> READY      (connection_setup.pyx)
         ^______________|_____________|_____________|_______________|____________|       (connection_end)

When a connection ends, all its requests are finished in order. Those in flight finish as disconnected, because the
broker may have executed them, the others as unsent. Nothing is sent twice; the requester decides about retries. A
response that does not match the oldest request, or that is too large, ends the connection, because the rest of the
stream cannot be trusted.

`finish` of a request may submit others. They go to the client's inbox, so no loop here is affected.
Concurrency: used by the polling thread only.
"""

from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove, memset
from kcore.client.network.api_versions cimport (
    API_VERSIONS, ASKED_VERSION, FALLBACK_VERSION, UNSUPPORTED_VERSION_ERROR, has_tagged_header, versions_include,
    versions_read,
)
from kcore.client.network.client_request cimport (
    NO_API, REPLY_CLOSED, REPLY_DISCONNECTED, REPLY_OK, REPLY_TIMED_OUT, REPLY_UNREADABLE, REPLY_UNSENT, REPLY_UNSUPPORTED_VERSION,
    REQUEST_HEAD_BYTES, ClientRequest, ReceivedFrame, ReplyStatus, RequestQueue, frame_new, frame_release, queue_pop, queue_push, queue_take,
)
from kcore.client.network.connection cimport (
    CONNECTION_DISCONNECTED, CONNECTION_NEGOTIATING, CONNECTION_READY, FAILURE_CORRELATION, FAILURE_END, FAILURE_ERRNO,
    FAILURE_HEADER, FAILURE_MEMORY, FAILURE_NONE, FAILURE_REQUEST_TIMEOUT, FAILURE_SIZE, FAILURE_UNASKED, FAILURE_VERSIONS,
    RECEIVE_BUFFER_BYTES, BrokerConnection, ConnectionCounters, ConnectionSettings, Failure, FailureKind, failure_of,
    is_in_setup,
)
from kcore.client.network.name_resolution cimport lookup_release
from kcore.client.network.reconnect_backoff cimport backoff_failed, backoff_succeeded
from kcore.cursor cimport Cursor, cursor_over, read_int32, read_unsigned_varint, take
from kcore.platform.disk cimport iovec
from kcore.platform.epoll cimport (
    EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, EPOLLIN, EPOLLOUT, epoll_ctl, epoll_event,
)
from kcore.platform.sync cimport (
    atomic_load_32, atomic_store_64, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock,
)
from kcore.transport.byte_stream cimport STREAM_WANT_READ, STREAM_WANT_WRITE

cdef extern from "<endian.h>" nogil:
    uint16_t htobe16(uint16_t)
    uint32_t htobe32(uint32_t)

cdef enum:
    GATHERED_PARTS = 64          # parts per writev
    RECEIVED_A_TURN = 4 * 1024 * 1024
    SPARE_BYTES = 4096           # minimum size of a spare frame


cdef inline void count(int64_t* counter, int64_t number) noexcept nogil:
    """Add to a counter. There is only one writer; the store is atomic for readers on other threads."""
    atomic_store_64(counter, counter[0] + number)


cdef BrokerConnection* connection_new(int32_t slot, int epoll, const ConnectionSettings* settings,
                                      ConnectionCounters* counters, pthread_mutex_t* lock) noexcept nogil:
    cdef BrokerConnection* connection = <BrokerConnection*>calloc(1, sizeof(BrokerConnection))
    if connection != NULL:
        connection.slot = slot
        connection.epoll = epoll
        connection.settings = settings
        connection.counters = counters
        connection.lock = lock
        connection.next_deadline_ns = INT64_MAX
        connection.backoff.chance = <uint64_t>connection
    return connection


cdef void let_go_of_spare(BrokerConnection* connection) noexcept nogil:
    if connection.spare != NULL:
        frame_release(connection.spare)
        connection.spare = NULL


cdef void connection_free(BrokerConnection* connection) noexcept nogil:
    connection_drop(connection)
    let_go_of_spare(connection)
    free(connection.buffer)
    free(connection)


cdef void connection_watch(BrokerConnection* connection, uint32_t interest) noexcept nogil:
    cdef epoll_event event
    if connection.interest == interest:
        return
    memset(&event, 0, sizeof(event))
    event.events = interest
    event.data.u64 = (<uint64_t>connection.generation << 32) | <uint32_t>connection.slot
    epoll_ctl(connection.epoll, EPOLL_CTL_MOD if connection.interest else EPOLL_CTL_ADD, connection.stream.socket, &event)
    connection.interest = interest


# --- requests ------------------------------------------------------------------------------------------------------

cdef void write_head(BrokerConnection* connection, ClientRequest* request) noexcept nogil:
    cdef uint8_t* head = <uint8_t*>request.parts[0].iov_base
    cdef size_t size = 0
    cdef uint32_t word
    cdef uint16_t half
    cdef int32_t i
    for i in range(request.part_count):
        size += request.parts[i].iov_len
    connection.last_correlation_id = (connection.last_correlation_id + 1) & 0x7FFFFFFF
    request.correlation_id = connection.last_correlation_id
    word = htobe32(<uint32_t>(size - 4))
    memcpy(head, &word, 4)
    half = htobe16(<uint16_t>request.api_key)
    memcpy(head + 4, &half, 2)
    half = htobe16(<uint16_t>request.api_version)
    memcpy(head + 6, &half, 2)
    word = htobe32(<uint32_t>request.correlation_id)
    memcpy(head + 8, &word, 4)


cdef void admit(BrokerConnection* connection, ClientRequest* request) noexcept nogil:
    """Queue a request on a ready connection, or finish it at once."""
    request.node = connection.slot
    if request.api_key == NO_API:
        request.finish(request, REPLY_OK, NULL, 0)
    elif not versions_include(&connection.versions, request.api_key, request.api_version):
        request.finish(request, REPLY_UNSUPPORTED_VERSION, NULL, 0)
    else:
        write_head(connection, request)
        queue_push(&connection.unsent, request)


cdef void connection_submit(BrokerConnection* connection, ClientRequest* request) noexcept nogil:
    connection.next_deadline_ns = min(connection.next_deadline_ns, request.deadline_ns)
    if connection.state == CONNECTION_READY:
        admit(connection, request)
    else:
        queue_push(&connection.waiting, request)


cdef void connection_admit_waiting(BrokerConnection* connection) noexcept nogil:
    cdef RequestQueue waiting = queue_take(&connection.waiting)
    cdef ClientRequest* request = queue_pop(&waiting)
    while request != NULL:
        admit(connection, request)
        request = queue_pop(&waiting)


# --- ends ----------------------------------------------------------------------------------------------------------

cdef void connection_drop(BrokerConnection* connection) noexcept nogil:
    if connection.lookup != NULL:
        # Its thread may keep the descriptor open for longer, and epoll drops only closed ones by itself.
        epoll_ctl(connection.epoll, EPOLL_CTL_DEL, connection.lookup.wakeup, NULL)
        lookup_release(connection.lookup)
        connection.lookup = NULL
    if connection.stream != NULL:
        connection.stream.close(connection.stream)
        connection.stream = NULL
    connection.generation += 1
    connection.interest = 0
    if connection.frame != NULL:
        frame_release(connection.frame)
        connection.frame = NULL
    connection.start = connection.end = connection.filled = 0


cdef void finish_all(BrokerConnection* connection, RequestQueue queue, ReplyStatus status,
                     int64_t now_ns) noexcept nogil:
    cdef ClientRequest* request = queue_pop(&queue)
    while request != NULL:
        if request != &connection.negotiation:
            request.node = connection.slot
            if status == REPLY_DISCONNECTED and request.deadline_ns <= now_ns:
                request.finish(request, REPLY_TIMED_OUT, NULL, 0)
            else:
                request.finish(request, status, NULL, 0)
        request = queue_pop(&queue)


cdef void connection_end(BrokerConnection* connection, Failure failure, int64_t now_ns) noexcept nogil:
    backoff_failed(&connection.backoff, &connection.settings.backoff, now_ns, is_in_setup(connection))
    end(connection, failure, REPLY_DISCONNECTED, REPLY_UNSENT, now_ns)


cdef void connection_close(BrokerConnection* connection, FailureKind reason) noexcept nogil:
    end(connection, failure_of(reason, 0), REPLY_CLOSED, REPLY_CLOSED, 0)
    let_go_of_spare(connection)


cdef void end(BrokerConnection* connection, Failure failure, ReplyStatus in_flight_status, ReplyStatus unsent_status,
              int64_t now_ns) noexcept nogil:
    cdef RequestQueue in_flight = queue_take(&connection.in_flight)
    cdef RequestQueue unsent = queue_take(&connection.unsent)
    cdef RequestQueue waiting = queue_take(&connection.waiting)
    if connection.sent_parts or connection.sent_offset:
        queue_push(&in_flight, queue_pop(&unsent))
    connection.sent_parts = 0
    connection.sent_offset = 0
    connection_drop(connection)
    connection.failure = failure
    pthread_mutex_lock(connection.lock)
    connection.known_failure = failure
    connection.is_known_ready = False
    connection.known_refusals = connection.backoff.setup_failures
    pthread_mutex_unlock(connection.lock)
    # The next attempt resolves the name again, because the broker may have moved (Kafka's ClusterConnectionStates).
    connection.addresses.count = connection.addresses.next_index = 0
    connection.state = CONNECTION_DISCONNECTED
    connection.next_deadline_ns = INT64_MAX
    finish_all(connection, in_flight, in_flight_status, now_ns)
    finish_all(connection, unsent, unsent_status, now_ns)
    finish_all(connection, waiting, unsent_status, now_ns)


cdef bint fail(BrokerConnection* connection, FailureKind kind, int64_t detail) noexcept nogil:
    connection.failure = failure_of(kind, detail)
    return False


# --- sending -------------------------------------------------------------------------------------------------------

cdef int gather(BrokerConnection* connection, iovec* runs, bint* is_all) noexcept nogil:
    """Collect the parts for one writev. `is_all`: nothing is left after it, so the packet should be sent at once."""
    cdef ClientRequest* request = connection.unsent.first
    cdef int32_t part = connection.sent_parts
    cdef size_t skipped = connection.sent_offset
    cdef int gathered = 0
    is_all[0] = False
    while request != NULL:
        while part < request.part_count:
            if gathered == GATHERED_PARTS:
                return gathered
            runs[gathered].iov_base = <uint8_t*>request.parts[part].iov_base + skipped
            runs[gathered].iov_len = request.parts[part].iov_len - skipped
            skipped = 0
            gathered += 1
            part += 1
        part = 0
        request = request.next
    is_all[0] = True
    return gathered


cdef void wholly_sent(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef ClientRequest* request = queue_pop(&connection.unsent)
    connection.sent_parts = 0
    connection.sent_offset = 0
    count(&connection.counters.requests, 1)
    request.sent_ns = now_ns
    if request.expects_reply:
        queue_push(&connection.in_flight, request)
    else:
        connection.has_finished_unanswered = True
        request.finish(request, REPLY_OK, NULL, 0)


cdef void bytes_sent(BrokerConnection* connection, size_t size, int64_t now_ns) noexcept nogil:
    cdef ClientRequest* request
    cdef size_t left
    while connection.unsent.first != NULL:
        request = connection.unsent.first
        while connection.sent_parts < request.part_count:
            left = request.parts[connection.sent_parts].iov_len - connection.sent_offset
            if size < left:
                connection.sent_offset += size
                return
            size -= left
            connection.sent_parts += 1
            connection.sent_offset = 0
        wholly_sent(connection, now_ns)


cdef bint connection_flush(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef iovec[64] runs
    cdef bint is_all
    cdef int gathered
    cdef int64_t sent
    while connection.unsent.first != NULL:
        gathered = gather(connection, runs, &is_all)
        sent = connection.stream.writev(connection.stream, runs, gathered, not is_all)
        count(&connection.counters.writes, 1)
        if sent == STREAM_WANT_WRITE or sent == STREAM_WANT_READ:
            connection_watch(connection, EPOLLIN | EPOLLOUT if sent == STREAM_WANT_WRITE else EPOLLIN)
            return True
        if sent < 0:
            return fail(connection, FAILURE_ERRNO, -sent)
        connection.last_active_ns = now_ns
        count(&connection.counters.bytes_out, sent)
        bytes_sent(connection, <size_t>sent, now_ns)
    connection_watch(connection, EPOLLIN)
    return True


# --- receiving -----------------------------------------------------------------------------------------------------

cdef size_t response_body(const ReceivedFrame* frame, int16_t api_key, int16_t version) noexcept nogil:
    cdef Cursor cursor = cursor_over(frame.data, frame.size)
    cdef uint32_t tags
    read_int32(&cursor)
    if has_tagged_header(api_key, version):
        tags = read_unsigned_varint(&cursor)
        while tags > 0 and not cursor.failed:
            read_unsigned_varint(&cursor)
            take(&cursor, read_unsigned_varint(&cursor))
            tags -= 1
    return 0 if cursor.failed else <size_t>(cursor.position - frame.data)


cdef bint negotiated(BrokerConnection* connection, const ReceivedFrame* frame) noexcept nogil:
    """Apply the response to ApiVersions. If the broker does not support our version, send the request again."""
    cdef int16_t version = connection.negotiation.api_version
    cdef int error = versions_read(&connection.versions, frame.data + 4, frame.size - 4, version)
    if error == UNSUPPORTED_VERSION_ERROR and version != FALLBACK_VERSION:
        connection_negotiate(connection, FALLBACK_VERSION)
        return True
    if error != 0:
        return fail(connection, FAILURE_VERSIONS, error)
    connection.state = CONNECTION_READY
    connection.failure.kind = FAILURE_NONE
    pthread_mutex_lock(connection.lock)
    connection.known_versions = connection.versions
    connection.has_versions = True
    connection.known_failure = connection.failure
    connection.is_known_ready = True
    connection.known_refusals = 0
    pthread_mutex_unlock(connection.lock)
    backoff_succeeded(&connection.backoff)
    count(&connection.counters.connections, 1)
    connection_admit_waiting(connection)
    return True


cdef void connection_negotiate(BrokerConnection* connection, int16_t version) noexcept nogil:
    cdef ClientRequest* request = &connection.negotiation
    cdef bint is_first = version == ASKED_VERSION
    cdef const ConnectionSettings* settings = connection.settings
    memset(request, 0, sizeof(ClientRequest))
    connection.state = CONNECTION_NEGOTIATING
    connection.negotiation_parts[0].iov_base = connection.negotiation_head
    connection.negotiation_parts[0].iov_len = REQUEST_HEAD_BYTES
    connection.negotiation_parts[1].iov_base = (
        <void*>settings.versions_request if is_first else <void*>settings.fallback_request)
    connection.negotiation_parts[1].iov_len = (
        settings.versions_request_bytes if is_first else settings.fallback_request_bytes)
    request.api_key = API_VERSIONS
    request.api_version = version
    request.expects_reply = True
    request.deadline_ns = INT64_MAX          # limited by the setup timeout
    request.parts = connection.negotiation_parts
    request.part_count = 2
    write_head(connection, request)
    queue_push(&connection.unsent, request)


cdef bint deliver(BrokerConnection* connection, ReceivedFrame* frame) noexcept nogil:
    """Finish the request that a frame answers. Returns False if there is none, or the frame is invalid."""
    cdef ClientRequest* request = connection.in_flight.first
    cdef Cursor cursor = cursor_over(frame.data, frame.size)
    cdef int32_t correlation_id = read_int32(&cursor)
    cdef size_t body
    if request == NULL:
        return fail(connection, FAILURE_UNASKED, 0)
    body = response_body(frame, request.api_key, request.api_version)
    if body == 0:
        return unreadable(connection, FAILURE_HEADER, request.api_key, 0)
    if correlation_id != request.correlation_id:
        return unreadable(connection, FAILURE_CORRELATION, correlation_id, request.correlation_id)
    count(&connection.counters.responses, 1)
    queue_pop(&connection.in_flight)
    if request == &connection.negotiation:
        return negotiated(connection, frame)
    request.finish(request, REPLY_OK, frame, body)
    return True


cdef bint unreadable(BrokerConnection* connection, FailureKind kind, int64_t detail, int64_t due) noexcept nogil:
    """Finish the oldest request after an invalid response."""
    cdef ClientRequest* request = queue_pop(&connection.in_flight)
    connection.failure = failure_of(kind, detail)
    connection.failure.due = due
    if request != &connection.negotiation:
        request.finish(request, REPLY_UNREADABLE, NULL, 0)
    return False


cdef bint deliver_copy(BrokerConnection* connection, const uint8_t* data, size_t size) noexcept nogil:
    """Deliver a small response in a frame of its own, which is reused if nothing holds it."""
    cdef ReceivedFrame* frame = connection.spare
    if frame != NULL and (frame.capacity < size or atomic_load_32(&frame.holders) > 1):
        frame_release(frame)
        frame = NULL
    if frame == NULL:
        frame = frame_new(max(size, <size_t>SPARE_BYTES))
    connection.spare = frame
    if frame == NULL:
        return fail(connection, FAILURE_MEMORY, 0)
    frame.size = size
    memcpy(frame.data, data, size)
    return deliver(connection, frame)


cdef bint begin_large_frame(BrokerConnection* connection, size_t size) noexcept nogil:
    connection.frame = frame_new(size)
    if connection.frame == NULL:
        return fail(connection, FAILURE_MEMORY, 0)
    connection.filled = connection.end - connection.start
    memcpy(connection.frame.data, connection.buffer + connection.start, connection.filled)
    connection.start = connection.end = 0
    return True


cdef bint take_frames(BrokerConnection* connection) noexcept nogil:
    """Deliver the complete responses in the buffer."""
    cdef Cursor cursor
    cdef int32_t size
    while connection.end - connection.start >= 4:
        cursor = cursor_over(connection.buffer + connection.start, 4)
        size = read_int32(&cursor)
        if size < 0 or size > connection.settings.max_response_bytes:
            return fail(connection, FAILURE_SIZE, size)
        if connection.end - connection.start - 4 >= <size_t>size:
            connection.start += 4 + <size_t>size
            if not deliver_copy(connection, connection.buffer + connection.start - <size_t>size, <size_t>size):
                return False
        elif 4 + <size_t>size > RECEIVE_BUFFER_BYTES:
            connection.start += 4
            return begin_large_frame(connection, <size_t>size)
        else:
            break
    if connection.start == connection.end:
        connection.start = connection.end = 0
    elif connection.start:
        memmove(connection.buffer, connection.buffer + connection.start, connection.end - connection.start)
        connection.end -= connection.start
        connection.start = 0
    return True


cdef bint take_received(BrokerConnection* connection, size_t size) noexcept nogil:
    cdef ReceivedFrame* frame = connection.frame
    cdef bint delivered
    if frame == NULL:
        connection.end += size
        return take_frames(connection)
    connection.filled += size
    if connection.filled < frame.size:
        return True
    connection.frame = NULL
    connection.filled = 0
    delivered = deliver(connection, frame)
    frame_release(frame)
    return delivered


cdef bint connection_receive(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef int64_t received
    cdef int64_t total = 0
    cdef size_t room
    cdef uint8_t* target
    if connection.buffer == NULL:
        connection.buffer = <uint8_t*>malloc(RECEIVE_BUFFER_BYTES)
        if connection.buffer == NULL:
            return fail(connection, FAILURE_MEMORY, 0)
    while total < RECEIVED_A_TURN:
        if connection.frame != NULL:
            target = connection.frame.data + connection.filled
            room = connection.frame.size - connection.filled
        else:
            target = connection.buffer + connection.end
            room = RECEIVE_BUFFER_BYTES - connection.end
        received = connection.stream.recv(connection.stream, target, room)
        count(&connection.counters.reads, 1)
        if received == STREAM_WANT_READ or received == STREAM_WANT_WRITE:
            return True
        if received <= 0:
            return fail(connection, FAILURE_ERRNO if received < 0 else FAILURE_END, -received)
        connection.last_active_ns = now_ns
        total += received
        count(&connection.counters.bytes_in, received)
        if not take_received(connection, <size_t>received):
            return False
        if <size_t>received < room and not connection.stream.has_buffered(connection.stream):
            return True
    return True


# --- time ----------------------------------------------------------------------------------------------------------

cdef RequestQueue take_expired(RequestQueue* queue, int64_t now_ns, int64_t* next_ns) noexcept nogil:
    """Remove and return the expired requests of a queue. None of their bytes were sent."""
    cdef RequestQueue all_requests = queue_take(queue)
    cdef RequestQueue expired
    cdef ClientRequest* request = queue_pop(&all_requests)
    memset(&expired, 0, sizeof(expired))
    while request != NULL:
        if request.deadline_ns <= now_ns:
            queue_push(&expired, request)
        else:
            next_ns[0] = min(next_ns[0], request.deadline_ns)
            queue_push(queue, request)
        request = queue_pop(&all_requests)
    return expired


cdef ClientRequest* overdue(BrokerConnection* connection, int64_t now_ns, int64_t* next_ns) noexcept nogil:
    """Return an expired request that was sent, at least in part; NULL if there is none."""
    cdef ClientRequest* request = connection.in_flight.first
    while request != NULL:
        if request.deadline_ns <= now_ns:
            return request
        next_ns[0] = min(next_ns[0], request.deadline_ns)
        request = request.next
    request = connection.unsent.first
    if (connection.sent_parts or connection.sent_offset) and request.deadline_ns <= now_ns:
        return request
    return NULL


cdef int64_t connection_expire(BrokerConnection* connection, int64_t now_ns) noexcept nogil:
    cdef int64_t next_ns = INT64_MAX
    cdef ClientRequest* late
    if connection.next_deadline_ns > now_ns:
        return connection.next_deadline_ns
    late = overdue(connection, now_ns, &next_ns)
    if late != NULL:
        connection_end(connection, failure_of(FAILURE_REQUEST_TIMEOUT, late.api_key), now_ns)
        return INT64_MAX
    finish_all(connection, take_expired(&connection.waiting, now_ns, &next_ns), REPLY_UNSENT, now_ns)
    finish_all(connection, take_expired(&connection.unsent, now_ns, &next_ns), REPLY_UNSENT, now_ns)
    connection.next_deadline_ns = next_ns
    return next_ns
