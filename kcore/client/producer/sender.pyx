"""Implementation of Sender; see sender.pxd for its contract."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport INT16_MAX, INT32_MIN, INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcmp, memcpy, memset
from kcore.client.network.client_request cimport (
    NO_NODE, REPLY_CLOSED, REPLY_OK, REPLY_TIMED_OUT, REPLY_UNSUPPORTED_VERSION, ClientRequest, ReceivedFrame,
    ReplyStatus,
)
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.network.wakeup cimport Wakeup
from kcore.client.producer.partition_queue cimport PART_ADDED, PartitionQueue, TopicQueues, queue_remove
from kcore.client.producer.partition_sequences cimport (
    DO_NOT_RETRY, RETRY_AFTER_RESTART, RetryDecision, sequences_acked, sequences_are_complete, sequences_await_first,
    sequences_close_gap, sequences_mark_unresolved, sequences_may_retry, sequences_number, sequences_remove, sequences_reset,
    sequences_restart, sequences_split,
)
from kcore.client.producer.produce_request cimport (
    BATCHES_PER_REQUEST, FIRST_VERSION_BY_ID, HIGHEST_PRODUCE_VERSION, LOWEST_PRODUCE_VERSION, PartitionAnswer,
    ProduceRequest, TopicAnswer, answer_begin, answer_end, answer_end_topic, answer_next_partition,
    answer_next_topic, next_refused, produce_request_add, produce_request_free, produce_request_new,
    produce_request_write,
)
from kcore.client.producer.producer_batch cimport (
    ERROR_ABORTED, ERROR_CLOSED, ERROR_DELIVERY_TIMEOUT, ERROR_NO_MEMORY, ERROR_UNREADABLE_ANSWER, NO_OFFSET, NO_PRODUCER,
    NO_SEQUENCE, NO_TIMESTAMP, OUTCOME_ACKNOWLEDGED, OUTCOME_PENDING, ProducerBatch, RefusedRecord, batch_hold,
    batch_release, batch_seal,
)
from kcore.client.producer.record_accumulator cimport RecordAccumulator
from kcore.cursor cimport Cursor, cursor_over
from kcore.errors cimport (
    CLUSTER_AUTHORIZATION_FAILED, CORRUPT_MESSAGE, DUPLICATE_SEQUENCE_NUMBER, FENCED_LEADER_EPOCH, INVALID_PRODUCER_EPOCH,
    INCONSISTENT_TOPIC_ID, KAFKA_STORAGE_ERROR, LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND, MESSAGE_TOO_LARGE,
    NETWORK_EXCEPTION, NONE, NOT_LEADER_OR_FOLLOWER, OUT_OF_ORDER_SEQUENCE_NUMBER, PRODUCER_FENCED,
    REPLICA_NOT_AVAILABLE, REQUEST_TIMED_OUT, TRANSACTIONAL_ID_AUTHORIZATION_FAILED, UNKNOWN_PRODUCER_ID,
    UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_COMPRESSION_TYPE, UNSUPPORTED_VERSION,
)
from kcore.record.compression cimport CODEC_OK, CODEC_ZSTD, codec_is_available

from kcore import errors

cdef int64_t NS_PER_MS = 1_000_000

cdef enum:
    PRODUCE_KEY = 0
    FIRST_VERSION_WITH_ZSTD = 7
    LAST_VERSION_BEFORE_TRANSACTIONS_V2 = 11
    # How soon to try a node again that is connecting, or that is in backoff after a failure.
    NODE_RETRY_NS = 10_000_000


cdef inline bint is_of_metadata(int16_t code) noexcept nogil:
    """Return whether the leader may have changed (InvalidMetadataException)."""
    return (code == UNKNOWN_TOPIC_OR_PARTITION or code == LEADER_NOT_AVAILABLE or code == NOT_LEADER_OR_FOLLOWER
            or code == REPLICA_NOT_AVAILABLE or code == NETWORK_EXCEPTION or code == KAFKA_STORAGE_ERROR
            or code == LISTENER_NOT_FOUND or code == FENCED_LEADER_EPOCH or code == UNKNOWN_TOPIC_ID
            or code == INCONSISTENT_TOPIC_ID or code == REQUEST_TIMED_OUT)


cdef inline bint is_fatal(int16_t code) noexcept nogil:
    """Return whether all later attempts would fail as well (TransactionManager.maybeTransitionToErrorState)."""
    return (code == CLUSTER_AUTHORIZATION_FAILED or code == TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            or code == PRODUCER_FENCED or code == UNSUPPORTED_VERSION)


cdef void on_finish(ClientRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil:
    cdef ProduceRequest* produce = <ProduceRequest*>request.context
    (<Sender>produce.sender).finished(produce, status, frame, body)


cdef int64_t sender_turn(void* sender, int64_t now_ns) noexcept nogil:
    return (<Sender>sender).turn(now_ns)


cdef int by_topic(const void* left, const void* right) noexcept nogil:
    cdef PartitionQueue* a = <PartitionQueue*>(<ProducerBatch**>left)[0].queue
    cdef PartitionQueue* b = <PartitionQueue*>(<ProducerBatch**>right)[0].queue
    if a.topic != b.topic:
        return -1 if a.topic < b.topic else 1
    return -1 if a.partition < b.partition else 1


@cython.final
cdef class Sender:
    """Sends the batches of one accumulator through one NetworkClient. `start` makes it the driver."""

    def __cinit__(self, NetworkClient network not None, RecordAccumulator accumulator not None, *,
                  str client_id="", transactional_id=None, int16_t acks=-1, int codec=0, level=None,
                  int64_t request_timeout_ms=30_000, int32_t max_in_flight=5, int32_t retries=2_147_483_647,
                  size_t max_request_size=1_048_576, bint idempotent=True, int64_t availability_timeout_ms=0):
        self.network = network
        self.accumulator = accumulator
        self.client_id = client_id.encode()
        self.settings.client_id = <const uint8_t*>PyBytes_AS_STRING(self.client_id)
        self.settings.client_id_size = <int32_t>PyBytes_GET_SIZE(self.client_id)
        self.settings.transactional_id_size = -1
        if transactional_id is not None:
            self.transactional_id = transactional_id.encode()
            self.settings.transactional_id = <const uint8_t*>PyBytes_AS_STRING(self.transactional_id)
            self.settings.transactional_id_size = <int32_t>PyBytes_GET_SIZE(self.transactional_id)
            self.is_transactional = True
        self.settings.acks = acks
        self.settings.timeout_ms = <int32_t>request_timeout_ms
        if not codec_is_available(codec):
            raise errors.UnsupportedCompressionTypeError(
                f"compression.type {COMPRESSION_TYPES[codec]}: this system has no library for it (libz, libzstd or liblz4)"
            )
        self.codec = codec
        self.level = INT32_MIN if level is None else level
        self.request_timeout_ns = request_timeout_ms * NS_PER_MS
        self.availability_timeout_ns = availability_timeout_ms * NS_PER_MS
        self.max_in_flight = max_in_flight
        self.is_in_order = max_in_flight == 1
        self.retries = retries
        self.max_request_bytes = max_request_size
        self.is_idempotent = idempotent
        self.producer_id = NO_PRODUCER
        self.producer_epoch = NO_PRODUCER
        for code, _, retriable, _ in errors.TABLE:
            if 0 <= code < 256:
                self.is_retriable[code] = retriable
        self.background = Wakeup()

    def __dealloc__(self):
        cdef ProduceRequest* request
        while self.spare != NULL:
            request = self.spare
            self.spare = request.next
            produce_request_free(request)
        free(self.nodes)

    def start(self):
        """Make this the driver of its network client."""
        self.network.drive(sender_turn, <void*>self)

    @property
    def requests_in_flight(self):
        return self.request_count

    # --- For the background thread, with the mutex held --------------------------------------------------------------

    cdef void tell_background(self, uint32_t events) noexcept nogil:
        if self.events & events == events:
            return
        self.events |= events
        self.background.set()

    cdef void set_producer_id(self, int64_t producer_id, int16_t producer_epoch) noexcept nogil:
        cdef PartitionQueue* queue = self.first_troubled
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.epoch_must_rise = False
        if producer_id != NO_PRODUCER:
            # A turn may have requested an id while this one was in flight. Another id would restart all sequences.
            self.events &= ~EVENT_PRODUCER_ID
        while queue != NULL:
            if queue.sequences.must_restart:
                sequences_restart(&queue.sequences, producer_id, producer_epoch)
            queue = queue.next_troubled

    cdef void fail_undrained(self, int16_t error_code) noexcept nogil:
        cdef ProducerBatch* batch = self.accumulator.first_incomplete
        cdef ProducerBatch* following
        while batch != NULL:
            following = batch.next_incomplete
            # When a transaction aborts, a batch with a sequence number may have been written. So it is still sent.
            if not batch.is_in_request and (error_code != ERROR_ABORTED or batch.base_sequence == NO_SEQUENCE):
                queue_remove(<PartitionQueue*>batch.queue, batch)
                sequences_remove(&(<PartitionQueue*>batch.queue).sequences, batch)
                self.accumulator.fail(batch, error_code)
            batch = following

    cdef void fail_all(self, int16_t error_code) noexcept nogil:
        """Fail all batches, also those in requests. The requests keep the bytes until they finish."""
        cdef ProducerBatch* batch
        self.fail_undrained(error_code)
        while self.accumulator.first_incomplete != NULL:
            batch = self.accumulator.first_incomplete
            sequences_remove(&(<PartitionQueue*>batch.queue).sequences, batch)
            self.accumulator.fail(batch, error_code)

    # --- A turn ------------------------------------------------------------------------------------------------------

    cdef int64_t turn(self, int64_t now_ns) noexcept nogil:
        cdef ProduceRequest* request
        cdef ProduceRequest* following
        cdef int64_t next_ns = INT64_MAX
        self.accumulator.lock()
        self.expire(now_ns)
        if self.first_troubled != NULL:
            self.mend_troubled()
        if self.may_drain():
            next_ns = self.drain(now_ns)
        next_ns = min(next_ns, self.accumulator.next_expiry_ns())
        self.accumulator.sender_sleeps = True
        if self.accumulator.has_done:
            self.tell_background(EVENT_DONE)
        request = self.built
        self.built = self.last_built = NULL
        self.accumulator.unlock()
        while request != NULL:
            # A request that cannot be sent finishes at once, and its struct may be reused.
            following = request.next
            self.send(request, now_ns)
            request = following
        return next_ns

    cdef void expire(self, int64_t now_ns) noexcept nogil:
        cdef ProducerBatch* batch = self.accumulator.next_expired(now_ns)
        cdef PartitionQueue* queue
        while batch != NULL:
            queue = <PartitionQueue*>batch.queue
            if batch.base_sequence != NO_SEQUENCE:
                # The batch may have been written. Later batches wait until that is known.
                sequences_mark_unresolved(&queue.sequences, batch)
                sequences_remove(&queue.sequences, batch)
                self.note_trouble(queue)
            self.accumulator.fail(batch, ERROR_DELIVERY_TIMEOUT)
            if self.is_transactional:
                self.error_code = REQUEST_TIMED_OUT
                self.tell_background(EVENT_ERROR)
            batch = self.accumulator.next_expired(now_ns)

    cdef void note_trouble(self, PartitionQueue* queue) noexcept nogil:
        if not queue.is_troubled:
            queue.is_troubled = True
            queue.next_troubled = self.first_troubled
            self.first_troubled = queue

    cdef void mend_troubled(self) noexcept nogil:
        """Resolve the state of timed-out batches, once nothing of their partition is in flight."""
        cdef PartitionQueue** place = &self.first_troubled
        cdef PartitionQueue* queue
        while place[0] != NULL:
            queue = place[0]
            if queue.sequences.is_unresolved and queue.sequences.first_numbered == NULL and queue.in_flight == 0:
                queue.sequences.is_unresolved = False
                if not sequences_are_complete(&queue.sequences):
                    if self.is_transactional:
                        self.error_code = OUT_OF_ORDER_SEQUENCE_NUMBER
                        self.tell_background(EVENT_ERROR)
                    else:
                        queue.sequences.must_restart = True
                        self.epoch_must_rise = True
            if queue.sequences.is_unresolved or queue.sequences.must_restart:
                place = &queue.next_troubled
            else:
                queue.is_troubled = False
                place[0] = queue.next_troubled
        if self.epoch_must_rise and not self.is_transactional:
            self.raise_epoch()

    cdef void raise_epoch(self) noexcept nogil:
        """Use the next epoch without a request (KIP-360). If the epochs are used up, request a new producer id."""
        if self.producer_id == NO_PRODUCER:
            return
        if self.producer_epoch == INT16_MAX:
            self.producer_id = NO_PRODUCER
            self.producer_epoch = NO_PRODUCER
            self.tell_background(EVENT_PRODUCER_ID)
            return
        self.set_producer_id(self.producer_id, self.producer_epoch + 1)

    cdef bint may_drain(self) noexcept nogil:
        if self.fatal_error != NONE:
            self.fail_undrained(self.fatal_error)
            return False
        if self.is_idempotent and self.producer_id == NO_PRODUCER:
            if self.accumulator.first_incomplete != NULL:
                self.tell_background(EVENT_PRODUCER_ID)
            return False
        return True

    cdef int64_t drain(self, int64_t now_ns) noexcept nogil:
        cdef int64_t next_ns = INT64_MAX
        cdef int32_t i
        for i in range(self.node_count):
            self.nodes[i].may_take = 0
        while self.drain_pass(now_ns, &next_ns):
            pass
        return next_ns

    cdef bint drain_pass(self, int64_t now_ns, int64_t* next_ns) noexcept nogil:
        """Visit every partition with batches once, creating at most one request per node.

        Returns whether any batch was drained.
        """
        cdef PartitionQueue* last = self.accumulator.last_active
        cdef PartitionQueue* queue = NULL
        cdef bint drained = False
        cdef int32_t i
        for i in range(self.node_count):
            self.nodes[i].building = NULL
        while last != NULL and queue != last:
            queue = self.accumulator.next_active_queue()
            drained |= self.drain_queue(queue, now_ns, next_ns)
            self.accumulator.activate(queue)
        return drained

    cdef bint drain_queue(self, PartitionQueue* queue, int64_t now_ns, int64_t* next_ns) noexcept nogil:
        cdef ProducerBatch* batch
        cdef ProduceRequest* request
        if queue.is_muted or not self.accumulator.is_ready(queue, now_ns, next_ns):
            return False
        if self.is_transactional and not self.uses_transactions_v2 and queue.transaction_part != PART_ADDED:
            self.tell_background(EVENT_PARTITIONS)
            return False
        batch = queue.first
        if self.is_idempotent and not self.sequence_allows(queue, batch):
            return False
        if queue.node == NO_NODE:
            self.tell_background(EVENT_METADATA)
            return False
        if not self.node_may_take(queue.node, now_ns, next_ns):
            return False
        request = self.request_for(queue.node, batch.size)
        if request == NULL or not produce_request_add(request, batch):
            return False
        self.accumulator.take_first(queue)
        if self.is_idempotent and batch.base_sequence == NO_SEQUENCE:
            sequences_number(&queue.sequences, batch)
        batch.is_transactional = self.is_transactional
        batch.is_in_request = True
        batch.attempts += 1
        batch_hold(batch)
        queue.in_flight += 1
        queue.is_muted = self.is_in_order
        return True

    cdef bint sequence_allows(self, PartitionQueue* queue, ProducerBatch* batch) noexcept nogil:
        if batch.base_sequence != NO_SEQUENCE:
            # A retry. It must be the first unanswered batch of the partition, so that the order is kept.
            return queue.sequences.first_numbered == batch and not queue.sequences.must_restart
        if queue.sequences.is_unresolved or queue.sequences.must_restart:
            return False
        if queue.sequences.producer_id != self.producer_id or queue.sequences.producer_epoch != self.producer_epoch:
            if queue.sequences.first_numbered != NULL:
                return False
            sequences_reset(&queue.sequences, self.producer_id, self.producer_epoch)
        return not sequences_await_first(&queue.sequences)

    cdef bint reserve_node(self, int32_t node) noexcept nogil:
        cdef SenderNode* nodes
        cdef uint8_t* flags
        cdef int32_t count = max(node + 1, self.node_count * 2)
        if node < self.node_count:
            return True
        nodes = <SenderNode*>realloc(self.nodes, <size_t>count * sizeof(SenderNode))
        if nodes == NULL:
            return False
        self.nodes = nodes
        flags = <uint8_t*>realloc(self.accumulator.partitioner.node_is_unavailable, <size_t>count)
        if flags == NULL:
            return False
        self.accumulator.partitioner.node_is_unavailable = flags
        memset(nodes + self.node_count, 0, <size_t>(count - self.node_count) * sizeof(SenderNode))
        memset(flags + self.node_count, 0, <size_t>(count - self.node_count))
        self.node_count = self.accumulator.partitioner.node_count = count
        return True

    cdef bint node_may_take(self, int32_t slot, int64_t now_ns, int64_t* next_ns) noexcept nogil:
        cdef SenderNode* node
        if not self.reserve_node(slot):
            return False
        node = &self.nodes[slot]
        if node.may_take == 0:
            node.may_take = -1
            if node.throttle_ms > 0:
                node.throttled_until_ns = now_ns + node.throttle_ms * NS_PER_MS
                node.throttle_ms = 0
            if node.throttled_until_ns > now_ns:
                # The broker does not read requests before that time.
                pass
            elif self.network.is_ready(slot, now_ns):
                node.may_take = 1
            elif not self.network.begin_connecting(slot, now_ns) and node.doubted_ns <= now_ns:
                # Other nodes may lead its partitions by now.
                node.doubted_ns = now_ns + self.accumulator.backoff_ns
                self.tell_background(EVENT_METADATA)
            if self.availability_timeout_ns > 0:
                if node.may_take == 1 or node.drained_ns == 0:
                    node.drained_ns = now_ns
                node.ready_ns = now_ns
                self.accumulator.partitioner.node_is_unavailable[slot] = (
                    node.ready_ns - node.drained_ns > self.availability_timeout_ns)
        if node.may_take == -1:
            next_ns[0] = min(next_ns[0], max(now_ns + NODE_RETRY_NS, node.throttled_until_ns))
            return False
        return node.building != NULL or node.in_flight < self.max_in_flight

    cdef ProduceRequest* request_for(self, int32_t slot, size_t size) noexcept nogil:
        """Return the node's request of this pass; NULL if the batch does not fit into it, or without memory."""
        cdef SenderNode* node = &self.nodes[slot]
        cdef ProduceRequest* request = node.building
        if request != NULL:
            if request.size_bytes + size > self.max_request_bytes or request.batch_count == BATCHES_PER_REQUEST:
                return NULL
            return request
        request = self.spare
        if request != NULL:
            self.spare = request.next
        else:
            request = produce_request_new()
            if request == NULL:
                return NULL
        request.sender = <void*>self
        request.next = NULL
        request.batch_count = 0
        request.size_bytes = 0
        request.request.node = slot
        request.request.finish = on_finish
        if self.last_built == NULL:
            self.built = request
        else:
            self.last_built.next = request
        self.last_built = request
        node.building = request
        node.in_flight += 1
        self.request_count += 1
        return request

    # --- Requests, without the mutex ---------------------------------------------------------------------------------

    cdef void send(self, ProduceRequest* request, int64_t now_ns) noexcept nogil:
        cdef int16_t highest = HIGHEST_PRODUCE_VERSION
        cdef int16_t version
        cdef ReplyStatus failure = REPLY_OK
        cdef int32_t i
        qsort(request.batches, <size_t>request.batch_count, sizeof(ProducerBatch*), by_topic)
        for i in range(request.batch_count):
            if not request.batches[i].has_topic_id:
                highest = FIRST_VERSION_BY_ID - 1
            if batch_seal(request.batches[i], self.codec, self.level) != CODEC_OK:
                failure = REPLY_CLOSED
        if self.is_transactional and not self.uses_transactions_v2:
            highest = LAST_VERSION_BEFORE_TRANSACTIONS_V2
        version = self.network.version_of(request.request.node, PRODUCE_KEY, LOWEST_PRODUCE_VERSION, highest)
        request.version = version
        if version < 0 or (self.codec == CODEC_ZSTD and version < FIRST_VERSION_WITH_ZSTD):
            self.finished(request, REPLY_UNSUPPORTED_VERSION, NULL, 0)
        elif failure != REPLY_OK or not produce_request_write(request, version, &self.settings):
            self.finished(request, REPLY_OK, NULL, NO_MEMORY_BODY)
        else:
            request.request.deadline_ns = now_ns + self.request_timeout_ns
            self.network.submit(&request.request)

    # --- Responses ---------------------------------------------------------------------------------------------------

    cdef void finished(self, ProduceRequest* request, ReplyStatus status, ReceivedFrame* frame, size_t body) noexcept nogil:
        cdef PartitionAnswer answer
        cdef int32_t i
        memset(&answer, 0, sizeof(answer))
        answer.base_offset = answer.log_start_offset = NO_OFFSET
        answer.log_append_time_ms = NO_TIMESTAMP
        answer.error_text_size = answer.leader_id = answer.leader_epoch = -1
        self.accumulator.lock()
        self.nodes[request.request.node].in_flight -= 1
        self.request_count -= 1
        if status == REPLY_OK and frame != NULL:
            self.take_answers(request, frame, body)
            # Batches that the response does not mention, or that could not be parsed, may have been written.
            answer.error_code = NETWORK_EXCEPTION
        elif status == REPLY_OK:
            answer.error_code = <int16_t>ERROR_NO_MEMORY if body == NO_MEMORY_BODY else <int16_t>NONE
        elif status == REPLY_TIMED_OUT:
            answer.error_code = REQUEST_TIMED_OUT
        elif status == REPLY_UNSUPPORTED_VERSION:
            answer.error_code = UNSUPPORTED_VERSION
        elif status == REPLY_CLOSED:
            answer.error_code = ERROR_CLOSED
        else:
            answer.error_code = NETWORK_EXCEPTION
        for i in range(request.batch_count):
            if request.batches[i] != NULL:
                self.take_answer(request.batches[i], &answer, request)
        request.next = self.spare
        self.spare = request
        if self.accumulator.has_done:
            self.tell_background(EVENT_DONE)
        self.accumulator.unlock()

    cdef void take_answers(self, ProduceRequest* request, ReceivedFrame* frame, size_t body) noexcept nogil:
        cdef Cursor cursor = cursor_over(frame.data + body, frame.size - body)
        cdef TopicAnswer topic
        cdef PartitionAnswer partition
        cdef int32_t topics = answer_begin(&cursor, request.version)
        cdef int32_t i, throttle_ms, at = 0
        while topics > 0 and not cursor.failed:
            answer_next_topic(&cursor, request.version, &topic)
            i = topic.partition_count
            while i > 0 and not cursor.failed:
                answer_next_partition(&cursor, request.version, &partition)
                if cursor.failed:
                    return
                # Responses usually have the order of the request. `at` is the position of the last match.
                at = batch_of(request, &topic, partition.index, at)
                if at >= 0:
                    self.take_answer(request.batches[at], &partition, request)
                    request.batches[at] = NULL
                at = max(at, 0)
                i -= 1
            answer_end_topic(&cursor, request.version)
            topics -= 1
        throttle_ms = answer_end(&cursor, request.version)
        if not cursor.failed and throttle_ms > 0:
            self.nodes[request.request.node].throttle_ms = throttle_ms

    cdef void take_answer(self, ProducerBatch* batch, const PartitionAnswer* answer,
                          const ProduceRequest* request) noexcept nogil:
        """Take a batch out of its request and apply its part of the response."""
        cdef PartitionQueue* queue = <PartitionQueue*>batch.queue
        queue.in_flight -= 1
        queue.is_muted = False
        batch.is_in_request = False
        if batch.outcome != OUTCOME_PENDING:
            # The batch failed meanwhile. If it was written, the state of its partition may be resolved.
            if answer.error_code == NONE and batch.base_sequence != NO_SEQUENCE:
                if batch.producer_id == queue.sequences.producer_id and batch.producer_epoch == queue.sequences.producer_epoch:
                    sequences_acked(&queue.sequences, batch, answer.base_offset)
            self.accumulator.free_buffer(batch)
        elif answer.error_code == NONE or answer.error_code == DUPLICATE_SEQUENCE_NUMBER:
            # For a duplicate, the broker no longer knows the offset.
            if answer.error_code == NONE:
                batch.base_offset = answer.base_offset
                batch.log_append_time_ms = answer.log_append_time_ms
            if batch.base_sequence != NO_SEQUENCE:
                sequences_acked(&queue.sequences, batch, batch.base_offset)
            self.accumulator.finish(batch, OUTCOME_ACKNOWLEDGED)
        else:
            self.take_error(batch, answer, request)
        self.accumulator.activate(queue)
        batch_release(batch)

    cdef void take_error(self, ProducerBatch* batch, const PartitionAnswer* answer,
                         const ProduceRequest* request) noexcept nogil:
        cdef PartitionQueue* queue = <PartitionQueue*>batch.queue
        if is_of_metadata(answer.error_code):
            self.tell_background(EVENT_METADATA)
            self.note_leader(queue, answer)
        if answer.error_code == MESSAGE_TOO_LARGE and self.accumulator.split(batch):
            sequences_split(&queue.sequences, batch)
        elif self.may_retry(batch, answer):
            if queue.node != NO_NODE and queue.node != request.request.node:
                # Another node leads now. The former leader's error is no reason to delay the retry.
                self.accumulator.put_back(batch)
            else:
                self.accumulator.put_back_later(batch)
        else:
            copy_reasons(batch, answer, request.version)
            self.give_up(batch, answer.error_code, batch.attempts <= self.retries)

    cdef void note_leader(self, PartitionQueue* queue, const PartitionAnswer* answer) noexcept nogil:
        """Store the current leader that a former leader's response contains (KIP-951)."""
        if answer.error_code != NOT_LEADER_OR_FOLLOWER and answer.error_code != FENCED_LEADER_EPOCH:
            return
        if answer.leader_id < 0 or answer.leader_epoch <= queue.leader_epoch:
            return
        if queue.named_leader >= 0 and answer.leader_epoch <= queue.named_epoch:
            return
        queue.named_leader = answer.leader_id
        queue.named_epoch = answer.leader_epoch
        self.tell_background(EVENT_LEADERS)

    cdef bint may_retry(self, ProducerBatch* batch, const PartitionAnswer* answer) noexcept nogil:
        cdef PartitionQueue* queue = <PartitionQueue*>batch.queue
        cdef RetryDecision decision
        if batch.attempts > self.retries or self.fatal_error != NONE:
            return False
        if self.is_idempotent:
            decision = sequences_may_retry(&queue.sequences, batch, answer.error_code, answer.log_start_offset,
                                           self.is_transactional)
            if decision == RETRY_AFTER_RESTART:
                if self.is_transactional:
                    sequences_restart(&queue.sequences, self.producer_id, self.producer_epoch)
                elif (batch.producer_id == self.producer_id and batch.producer_epoch == self.producer_epoch):
                    queue.sequences.must_restart = True
                    self.epoch_must_rise = True
                    self.note_trouble(queue)
            if decision != DO_NOT_RETRY:
                return True
        return 0 <= answer.error_code < 256 and self.is_retriable[answer.error_code]

    cdef void give_up(self, ProducerBatch* batch, int16_t error_code, bint was_refused) noexcept nogil:
        """Fail a batch. `was_refused`: it was certainly not written, so its sequence numbers are free."""
        cdef PartitionQueue* queue = <PartitionQueue*>batch.queue
        if self.is_idempotent:
            if is_fatal(error_code) or self.is_transactional:
                if is_fatal(error_code):
                    self.fatal_error = error_code
                self.error_code = error_code
                self.tell_background(EVENT_ERROR)
            if batch.base_sequence != NO_SEQUENCE and self.fatal_error == NONE:
                if self.is_transactional and error_code == UNKNOWN_PRODUCER_ID:
                    sequences_reset(&queue.sequences, self.producer_id, self.producer_epoch)
                elif self.is_transactional and was_refused:
                    sequences_close_gap(&queue.sequences, batch)
                elif not self.is_transactional and (was_refused or error_code == OUT_OF_ORDER_SEQUENCE_NUMBER):
                    queue.sequences.must_restart = True
                    self.epoch_must_rise = True
                    self.note_trouble(queue)
            sequences_remove(&queue.sequences, batch)
        self.accumulator.fail(batch, error_code)


cdef enum:
    # `body` for `finished` if no request was sent, because memory could not be allocated.
    NO_MEMORY_BODY = 0x7FFFFFFF


cdef int32_t batch_of(const ProduceRequest* request, const TopicAnswer* topic, int32_t partition,
                      int32_t hint) noexcept nogil:
    """Return the index of a partition's batch in its request; -1 if the request has none."""
    cdef int32_t i, at
    cdef ProducerBatch* batch
    cdef TopicQueues* queues
    for i in range(request.batch_count):
        at = (hint + i) % request.batch_count
        batch = request.batches[at]
        if batch == NULL or batch.partition != partition:
            continue
        queues = (<PartitionQueue*>batch.queue).topic
        if request.version >= FIRST_VERSION_BY_ID:
            if memcmp(batch.topic_id, topic.name, 16) == 0:
                return at
        elif queues.name_size == topic.name_size and memcmp(queues.name, topic.name, <size_t>topic.name_size) == 0:
            return at
    return -1


cdef uint8_t* copied(const uint8_t* text, int32_t size) noexcept nogil:
    cdef uint8_t* copy
    if size < 0:
        return NULL
    copy = <uint8_t*>malloc(<size_t>size + 1)
    if copy != NULL:
        memcpy(copy, text, <size_t>size)
    return copy


cdef void copy_reasons(ProducerBatch* batch, const PartitionAnswer* answer, int16_t version) noexcept nogil:
    """Copy the broker's error messages out of the frame, which will be freed."""
    cdef Cursor cursor = answer.refused
    cdef const uint8_t* text = NULL
    cdef RefusedRecord* refused
    cdef int32_t i
    batch.error_text = copied(answer.error_text, answer.error_text_size)
    batch.error_text_size = answer.error_text_size if batch.error_text != NULL else -1
    if answer.refused_count == 0:
        return
    batch.refused = <RefusedRecord*>calloc(<size_t>answer.refused_count, sizeof(RefusedRecord))
    if batch.refused == NULL:
        return
    batch.refused_count = answer.refused_count
    for i in range(answer.refused_count):
        refused = &batch.refused[i]
        refused.index = next_refused(&cursor, version, &text, &refused.text_size)
        refused.text = copied(text, refused.text_size)
        if refused.text == NULL:
            refused.text_size = -1


COMPRESSION_TYPES = ("none", "gzip", "snappy", "lz4", "zstd")
