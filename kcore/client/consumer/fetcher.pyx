"""Fetcher: fetches from the leaders of the assigned partitions ahead of the reader, and queues the responses for it.

    assign, seek, pause ... -> targets --turn--> one request a node -> finished -> queue -> take_* (the reader)
                                                                                 -> events -> take_events (the background)

Each node has at most one request in flight. The next one is sent as soon as its response arrives, before it is read,
because the batch headers contain the next offset. In two cases a node gets no request until the reader has made room:
one of its partitions has more than `max.partition.fetch.bytes` buffered (a request without this partition could wait
long for the others, and would delay it), or the data that is buffered and in flight would exceed the memory limit.

Concurrency: the mutex of FetchTargets also guards the sessions. It is held briefly. Requests are submitted without it,
because a closed NetworkClient finishes them at once. Close the NetworkClient before you release its Fetcher.
Source: Fetcher, FetchCollector and AbstractFetch of Apache Kafka; KIP-227, KIP-392, KIP-320, KIP-951.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memset
from kcore.client.consumer.fetch_request cimport (
    HIGHEST_FETCH_VERSION, LAST_FETCH_VERSION_BY_NAME, LOWEST_FETCH_VERSION, UUID_SIZE, AnsweredPartition,
    AnsweredTopic, FetchAnswer, FetchTerms, end_answered_topic, end_fetch_answer, next_aborted,
    next_answered_partition, next_answered_topic, read_fetch_answer,
)
from kcore.client.consumer.fetch_session cimport (
    FetchSession, FetchTarget, FetchTopic, PendingEvent, SessionMember, free_fetch_session, member_of,
    new_fetch_session, restart_session, session_answered, want, write_session_request,
)
from kcore.client.consumer.fetched_partition cimport (
    AbortedTransaction, FetchedPartition, following_offset, new_fetched_partition,
)
from kcore.client.consumer.record_reader cimport RecordReader
from kcore.client.network.client_request cimport (
    REPLY_CLOSED, REPLY_OK, ClientRequest, ReceivedFrame, ReplyStatus,
)
from kcore.client.network.network_client cimport MAX_NODES, NetworkClient, monotonic_ns
from kcore.cursor cimport Cursor, cursor_over
from kcore.errors cimport FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, NONE, OFFSET_OUT_OF_RANGE
from kcore.platform.sync cimport pthread_mutex_lock, pthread_mutex_unlock

from kcore.client.consumer.fetch_event import EventKind, FetchEvent, kind_of
from kcore.client.consumer.fetch_settings import FetchSettings

cdef enum:
    FETCH_KEY = 1
    NOBODY = -1
    NS_PER_MS = 1000000
    # How soon to look again at a node that is connecting, or that is in backoff after a failure.
    NODE_RETRY_NS = 10000000
    LARGEST_BACKOFF_SHIFT = 16


cdef void on_finish(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil:
    cdef FetchSession* session = <FetchSession*>request.context
    (<Fetcher>session.fetcher).finished(session, status, frame, body, monotonic_ns())


cdef int64_t fetcher_turn(void* fetcher, int64_t now_ns) noexcept nogil:
    return (<Fetcher>fetcher).turn(now_ns)


@cython.final
cdef class Fetcher(RecordReader):
    """Fetches through one NetworkClient. `start` makes it the driver. A partition is a `(topic, index)` pair."""

    def __cinit__(self, NetworkClient network not None, settings=None):
        self.settings = settings = FetchSettings() if settings is None else settings
        self.client_id = settings.client_id.encode()
        self.rack = settings.client_rack.encode()
        self.terms.client_id = <const uint8_t*>PyBytes_AS_STRING(self.client_id)
        self.terms.client_id_size = <int32_t>PyBytes_GET_SIZE(self.client_id)
        self.terms.rack = <const uint8_t*>PyBytes_AS_STRING(self.rack)
        self.terms.rack_size = <int32_t>PyBytes_GET_SIZE(self.rack)
        self.terms.max_wait_ms = settings.fetch_max_wait_ms
        self.terms.min_bytes = settings.fetch_min_bytes
        self.terms.isolation_level = settings.isolation_level
        self.max_bytes = settings.fetch_max_bytes
        self.partition_max_bytes = settings.max_partition_fetch_bytes
        self.check_crcs = settings.check_crcs
        self.decompressed_limit_bytes = settings.kcli_fetch_decompressed_max_bytes
        self.buffer_bytes = settings.kcli_fetch_buffer_bytes
        self.request_timeout_ns = (settings.request_timeout_ms + settings.fetch_max_wait_ms) * NS_PER_MS
        self.backoff_ns = settings.retry_backoff_ms * NS_PER_MS
        self.backoff_max_ns = settings.retry_backoff_max_ms * NS_PER_MS

    def __dealloc__(self):
        cdef int32_t i
        if self.in_flight > 0:
            return
        for i in range(self.session_count):
            if self.sessions[i] != NULL:
                free_fetch_session(self.sessions[i])
        free(self.sessions)

    def start(self):
        """Make this the driver of its network client."""
        self.network.drive(fetcher_turn, <void*>self)

    # --- requests ---

    cdef int64_t turn(self, int64_t now_ns) noexcept nogil:
        """Send the requests that are due. Returns when to look again."""
        cdef FetchSession* session
        cdef int64_t look_ns
        cdef int32_t first, i
        pthread_mutex_lock(&self.lock)
        if not self.is_dirty and now_ns < self.look_ns:
            look_ns = self.look_ns
            pthread_mutex_unlock(&self.lock)
            return look_ns
        self.is_dirty = False
        self.is_starved = self.has_made_room = False
        look_ns = self.gather(now_ns)
        # Start after the node of the last request, so that scarce memory is shared in turn.
        first = self.first_session
        for i in range(self.session_count):
            session = self.sessions[(first + i) % self.session_count]
            if session == NULL or session.wanted_count == 0 or session.in_flight:
                continue
            if session.retry_ns > now_ns:
                look_ns = min(look_ns, session.retry_ns)
            elif session.is_blocked:
                self.is_starved = True
            elif not self.may_connect(session, now_ns):
                self.is_dirty = True      # the end of connecting raises no event here
                look_ns = min(look_ns, now_ns + NODE_RETRY_NS)
            elif self.prepare(session, now_ns):
                self.first_session = session.node + 1
                pthread_mutex_unlock(&self.lock)
                self.network.submit(&session.request)
                pthread_mutex_lock(&self.lock)
            elif session.retry_ns > now_ns:
                look_ns = min(look_ns, session.retry_ns)
        if self.takes_back_starvation():
            look_ns = now_ns              # the reader made room while a request was submitted
        self.look_ns = look_ns
        pthread_mutex_unlock(&self.lock)
        return look_ns

    cdef int64_t gather(self, int64_t now_ns) noexcept nogil:
        """Collect the targets of every session that may send a request, rotating the first one.

        Returns when to look again.
        """
        cdef FetchSession* session
        cdef FetchTarget* target
        cdef int64_t look_ns = INT64_MAX
        cdef int32_t node, i
        for i in range(self.session_count):
            if self.sessions[i] != NULL:
                self.sessions[i].wanted_count = 0
                self.sessions[i].is_blocked = False
        self.first_target = self.first_target + 1 if self.first_target + 1 < self.target_count else 0
        for i in range(self.target_count):
            target = self.targets[(self.first_target + i) % self.target_count]
            if not target.is_assigned or target.is_paused or target.is_blocked:
                continue
            if target.retry_ns > now_ns:
                look_ns = min(look_ns, target.retry_ns)
                continue
            node = self.node_of(target, now_ns)
            session = self.session_of(node) if node != NOBODY else NULL
            if session == NULL or session.in_flight:
                continue
            if target.buffered_bytes > <size_t>self.partition_max_bytes:
                session.is_blocked = True
            want(session, target)
        return look_ns

    cdef int32_t node_of(self, FetchTarget* target, int64_t now_ns) noexcept nogil:
        if target.read_replica != NOBODY and now_ns >= target.read_replica_until_ns:
            target.read_replica = NOBODY
        return target.leader if target.read_replica == NOBODY or target.leader == NOBODY else target.read_replica

    cdef FetchSession* session_of(self, int32_t node) noexcept nogil:
        """Return the session with a node, creating it on first use. NULL if memory cannot be allocated."""
        cdef FetchSession** sessions
        cdef FetchSession* session
        if not 0 <= node < MAX_NODES:
            return NULL
        if node >= self.session_count:
            sessions = <FetchSession**>realloc(self.sessions, <size_t>(node + 1) * sizeof(FetchSession*))
            if sessions == NULL:
                return NULL
            memset(sessions + self.session_count, 0, <size_t>(node + 1 - self.session_count) * sizeof(FetchSession*))
            self.sessions = sessions
            self.session_count = node + 1
        session = self.sessions[node]
        if session == NULL:
            session = new_fetch_session(node)
            if session != NULL:
                session.fetcher = <void*>self
                session.request.finish = on_finish
                self.sessions[node] = session
        return session

    cdef bint may_connect(self, FetchSession* session, int64_t now_ns) noexcept nogil:
        if self.network.is_ready(session.node, now_ns):
            return True
        if not self.network.begin_connecting(session.node, now_ns) and session.doubted_ns <= now_ns:
            # Another node may lead its partitions by now, and what it follows can be fetched from the leaders.
            session.doubted_ns = now_ns + self.backoff_ns
            self.tell_failure(session)
        return False

    cdef bint prepare(self, FetchSession* session, int64_t now_ns) noexcept nogil:
        """Write the session's request and count it as in flight, for submission."""
        cdef int32_t max_bytes = self.room_for(session)
        cdef int16_t version
        if max_bytes <= 0:
            self.is_starved = True
            return False
        if session.id_changes != self.id_changes:
            # The broker's session has the topics' former ids.
            session.id_changes = self.id_changes
            restart_session(session)
        version = self.version_for(session)
        if version < 0 or not write_session_request(session, version, &self.terms, max_bytes,
                                                    self.partition_max_bytes, &self.group):
            restart_session(session)
            self.node_failed(session, now_ns)
            return False
        session.reserved_bytes = <size_t>max_bytes
        session.request.deadline_ns = now_ns + self.request_timeout_ns
        session.in_flight = True
        self.reserved_bytes += session.reserved_bytes
        self.in_flight += 1
        return True

    cdef int16_t version_for(self, FetchSession* session) noexcept nogil:
        """Return the highest common version; one with topic names if a topic's id is not known."""
        cdef int16_t highest = HIGHEST_FETCH_VERSION
        cdef int32_t i
        for i in range(session.wanted_count):
            if not session.wanted[i].topic.has_id:
                highest = LAST_FETCH_VERSION_BY_NAME
                break
        return self.network.version_of(session.node, FETCH_KEY, LOWEST_FETCH_VERSION, highest)

    cdef int32_t room_for(self, FetchSession* session) noexcept nogil:
        """Return how many bytes the session may request; 0: the reader must make room first."""
        cdef int64_t wanted = min(<int64_t>session.wanted_count * self.partition_max_bytes, <int64_t>self.max_bytes)
        cdef int64_t room = <int64_t>self.buffer_bytes - <int64_t>(self.buffered_bytes + self.reserved_bytes)
        if wanted <= room or (self.buffered_bytes == 0 and self.in_flight == 0):
            return <int32_t>wanted
        return <int32_t>room if room >= self.partition_max_bytes else 0

    # --- responses ---

    cdef void finished(self, FetchSession* session, ReplyStatus status, ReceivedFrame* frame, size_t body,
                       int64_t now_ns) noexcept nogil:
        cdef bint has_records
        pthread_mutex_lock(&self.lock)
        session.in_flight = False
        self.in_flight -= 1
        self.reserved_bytes -= session.reserved_bytes
        session.reserved_bytes = 0
        if status != REPLY_OK or not self.take_answer(session, frame, body, now_ns):
            restart_session(session)
            if status != REPLY_CLOSED:
                self.node_failed(session, now_ns)
        self.is_dirty = True
        has_records = self.first != NULL
        pthread_mutex_unlock(&self.lock)
        if has_records or status == REPLY_CLOSED:
            self.wakeup.set()

    cdef bint take_answer(self, FetchSession* session, ReceivedFrame* frame, size_t body, int64_t now_ns) noexcept nogil:
        """Process a response. Returns False if it cannot be parsed to its end; what was parsed before that counts."""
        cdef Cursor cursor = cursor_over(frame.data + body, frame.size - body)
        cdef Cursor endpoints
        cdef int16_t version = session.version
        cdef FetchAnswer answer
        cdef AnsweredTopic topic
        cdef AnsweredPartition partition
        cdef FetchTopic* known = NULL
        cdef int32_t i, j
        read_fetch_answer(&cursor, version, &answer)
        if cursor.failed:
            return False
        session_answered(session, answer.error_code, answer.session_id)
        session.retry_ns = now_ns + <int64_t>max(0, answer.throttle_time_ms) * NS_PER_MS
        if answer.error_code != NONE:
            # A session that the broker no longer knows is re-created at once. Other errors cause a backoff.
            return (answer.error_code == FETCH_SESSION_ID_NOT_FOUND
                    or answer.error_code == INVALID_FETCH_SESSION_EPOCH)
        for i in range(answer.topic_count):
            next_answered_topic(&cursor, version, &topic)
            if cursor.failed:
                return False
            known = self.topic_named(topic.name, topic.name_size, version > LAST_FETCH_VERSION_BY_NAME, known)
            for j in range(topic.partition_count):
                next_answered_partition(&cursor, version, &partition)
                if cursor.failed:
                    return False
                if known != NULL:
                    self.take_partition(session, known, &partition, frame, now_ns)
            end_answered_topic(&cursor, version)
        end_fetch_answer(&cursor, version, &endpoints)
        return not cursor.failed

    cdef FetchTopic* topic_named(self, const uint8_t* name, int32_t size, bint by_id, FetchTopic* hint) noexcept nogil:
        """Find a topic, beginning after `hint`: responses mostly name topics in the order of requests."""
        cdef FetchTopic* topic
        cdef int32_t first = 0 if hint == NULL else hint.handle + 1
        cdef int32_t i
        for i in range(self.topic_count):
            topic = self.topics[(first + i) % self.topic_count]
            if by_id:
                if topic.has_id and memcmp(topic.id, name, UUID_SIZE) == 0:
                    return topic
            elif topic.name_size == size and memcmp(topic.name, name, <size_t>size) == 0:
                return topic
        return NULL

    cdef void take_partition(self, FetchSession* session, FetchTopic* topic, AnsweredPartition* answered,
                             ReceivedFrame* frame, int64_t now_ns) noexcept nogil:
        cdef FetchTarget* target = NULL
        cdef SessionMember* member
        if 0 <= answered.index < topic.target_count:
            target = topic.targets[answered.index]
        member = member_of(session, target) if target != NULL else NULL
        # A seek, or another node's response, has moved the position since the request.
        if member == NULL or member.offset != target.fetch_offset:
            return
        if answered.error_code != NONE or answered.diverging_epoch >= 0:
            self.take_error(session, target, answered, now_ns)
            return
        target.failures = 0
        target.high_watermark = answered.high_watermark
        target.last_stable_offset = answered.last_stable_offset
        target.log_start_offset = answered.log_start_offset
        if answered.records_size > 0:
            if not self.take_records_of(target, session.version, answered, frame):
                self.back_off(target, now_ns)
        elif answered.preferred_read_replica != NOBODY:
            # The leader is fetched from, with backoff, until `set_read_replica` is called.
            self.take_error(session, target, answered, now_ns)

    cdef bint take_records_of(self, FetchTarget* target, int16_t version, AnsweredPartition* answered,
                              ReceivedFrame* frame) noexcept nogil:
        """Queue the batches for the reader and advance the fetch offset. Returns False if allocation fails."""
        cdef size_t size = <size_t>answered.records_size
        cdef AbortedTransaction* aborted = NULL
        cdef FetchedPartition* fetched
        cdef int64_t following
        cdef int32_t i
        if answered.aborted_count > 0:
            aborted = <AbortedTransaction*>malloc(<size_t>answered.aborted_count * sizeof(AbortedTransaction))
            if aborted == NULL:
                return False
            for i in range(answered.aborted_count):
                next_aborted(&answered.aborted, version, &aborted[i])
        fetched = new_fetched_partition(frame, answered.records, size, target.fetch_offset, aborted,
                                        answered.aborted_count)
        free(aborted)
        if fetched == NULL:
            return False
        fetched.owner = target
        fetched.generation = target.generation
        fetched.check_crcs = self.check_crcs
        fetched.read_committed = self.terms.isolation_level != 0
        fetched.decompressed_limit_bytes = self.decompressed_limit_bytes
        self.enqueue(fetched)
        following = following_offset(answered.records, size, target.fetch_offset, &target.fetched_epoch)
        if following > target.fetch_offset:
            target.fetch_offset = following
        else:
            target.is_blocked = True      # no complete batch: neither the reader nor a fetch can go on before a `seek`
        return True

    cdef void take_error(self, FetchSession* session, FetchTarget* target, AnsweredPartition* answered,
                         int64_t now_ns) noexcept nogil:
        cdef PendingEvent event
        cdef FetchedPartition* place
        if session.node != target.leader:
            # A follower's state may be outdated: fetch from the leader.
            target.read_replica = NOBODY
            if answered.error_code == OFFSET_OUT_OF_RANGE:
                return
        self.back_off(target, now_ns)
        event.error_code = answered.error_code
        event.offset = target.fetch_offset
        event.diverging_epoch = answered.diverging_epoch
        event.diverging_end_offset = answered.diverging_end_offset
        event.leader_id = answered.leader_id
        event.leader_epoch = answered.leader_epoch
        event.preferred_read_replica = answered.preferred_read_replica
        target.event = event
        if answered.error_code == OFFSET_OUT_OF_RANGE or (answered.error_code == NONE and answered.diverging_epoch >= 0):
            target.is_blocked = True
            if target.queued > 0:
                # Queue the event after the records that were fetched before.
                place = new_fetched_partition(NULL, NULL, 0, target.fetch_offset, NULL, 0)
                if place != NULL:
                    place.owner = target
                    place.generation = target.generation
                    place.is_event = True
                    self.enqueue(place)
                    return
        self.post_event(target)

    cdef void back_off(self, FetchTarget* target, int64_t now_ns) noexcept nogil:
        cdef int64_t wait_ns = self.backoff_ns << min(target.failures, <int32_t>LARGEST_BACKOFF_SHIFT)
        target.failures += 1
        target.retry_ns = now_ns + min(wait_ns, self.backoff_max_ns)

    cdef void node_failed(self, FetchSession* session, int64_t now_ns) noexcept nogil:
        """Begin the backoff of a node."""
        session.retry_ns = now_ns + self.backoff_ns
        self.tell_failure(session)

    cdef void tell_failure(self, FetchSession* session) noexcept nogil:
        """Stop reading from this node as a follower, and post the event NODE_FAILED."""
        cdef int32_t i
        session.has_failed = True
        for i in range(self.target_count):
            if self.targets[i].read_replica == session.node:
                self.targets[i].read_replica = NOBODY
        self.tell_events()

    # --- events ---

    @property
    def requests_in_flight(self):
        return self.in_flight

    def take_events(self):
        """Return the events since the last call, at most one per partition."""
        cdef FetchTarget* target
        cdef PendingEvent event
        cdef list events = []
        cdef int32_t node = 0
        cdef bint is_found = True
        cdef bint is_assigned = False
        while is_found:
            with nogil:
                pthread_mutex_lock(&self.lock)
                target = self.first_event
                is_found = target != NULL
                if is_found:
                    self.first_event = target.next_with_event
                    target.has_event = False
                    event = target.event
                    is_assigned = target.is_assigned
                pthread_mutex_unlock(&self.lock)
            if is_found and is_assigned:
                events.append(self.event_from(target, &event))
        is_found = True
        while is_found:
            with nogil:
                pthread_mutex_lock(&self.lock)
                is_found = self.take_failed_node(&node)
                pthread_mutex_unlock(&self.lock)
            if is_found:
                events.append(FetchEvent(EventKind.NODE_FAILED, None, node=node))
                node += 1
        return events

    cdef bint take_failed_node(self, int32_t* node) noexcept nogil:
        """Advance `node` to the next node, from itself on, with an unreported failure."""
        while node[0] < self.session_count:
            if self.sessions[node[0]] != NULL and self.sessions[node[0]].has_failed:
                self.sessions[node[0]].has_failed = False
                return True
            node[0] += 1
        return False

    cdef object event_from(self, const FetchTarget* target, const PendingEvent* event):
        return FetchEvent(
            kind_of(event.error_code, event.diverging_epoch, event.preferred_read_replica),
            (self.names[target.topic.handle], target.index),
            event.error_code, event.offset, event.leader_id, event.leader_epoch, event.diverging_epoch,
            event.diverging_end_offset, event.preferred_read_replica,
        )
