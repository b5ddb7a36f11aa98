"""Implementation of RecordAccumulator; see record_accumulator.pxd for its contract."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy
from kcore.client.network.client_request cimport NO_NODE
from kcore.client.producer.buffer_pool cimport BufferPool
from kcore.client.producer.partition_queue cimport (
    PartitionQueue, TopicQueues, partition_count_of, queue_insert_before, queue_push_last, queue_remove,
)
from kcore.client.producer.partition_sequences cimport sequences_reset
from kcore.client.producer.partitioner cimport (
    PARTITION_BUILT_IN, PARTITION_NOT_CHOSEN, PartitionerKind, choose_partition, next_random,
    partition_of_new_batch, partition_was_used,
)
from kcore.client.producer.producer_batch cimport (
    NO_OFFSET, NO_PRODUCER, OUTCOME_FAILED, OUTCOME_SPLIT, BatchOutcome, ProducerBatch,
    batch_append, batch_free_bytes, batch_hold, batch_new, batch_release, batch_split,
)
from kcore.client.producer.waiter cimport Waiter, waiter_tell
from kcore.platform.sync cimport (
    atomic_store_32, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_trylock,
    pthread_mutex_unlock,
)
from kcore.record.batch cimport BATCH_HEADER_SIZE
from kcore.record.compression cimport free_bytes
from kcore.record.record cimport RecordView

cdef enum:
    # Maximum size of the lengths, deltas, attributes and header count of a record.
    RECORD_OVERHEAD_BYTES = 36

cdef int64_t NS_PER_MS = 1_000_000


@cython.final
cdef class RecordAccumulator:
    """`linger_ms` None: linger until the batch in flight is answered. Times are in milliseconds, sizes in bytes."""

    def __cinit__(self, *, size_t batch_size=16_384, size_t buffer_memory=33_554_432, linger_ms=None,
                  int64_t delivery_timeout_ms=120_000, int64_t retry_backoff_ms=100,
                  int64_t retry_backoff_max_ms=1_000, int partitioner=PARTITION_BUILT_IN, bint ignore_keys=False,
                  bint adaptive=True, uint64_t seed=1):
        pthread_mutex_init(&self.mutex, NULL)
        # Batches grow to the size of a large record. With batch.size 0 every batch has one record.
        self.batch_bytes = max(batch_size, <size_t>BATCH_HEADER_SIZE)
        self.pool = BufferPool(buffer_memory, self.batch_bytes)
        self.linger_ns = LINGER_UNTIL_ANSWERED if linger_ms is None else <int64_t>(linger_ms * NS_PER_MS)
        self.delivery_timeout_ns = delivery_timeout_ms * NS_PER_MS
        self.backoff_ns = retry_backoff_ms * NS_PER_MS
        self.backoff_max_ns = retry_backoff_max_ms * NS_PER_MS
        self.partitioner.kind = <PartitionerKind>partitioner
        self.partitioner.ignores_keys = ignore_keys
        self.partitioner.is_adaptive = adaptive
        self.partitioner.sticky_bytes_max = <int64_t>max(batch_size, <size_t>1)
        self.partitioner.random = seed or 1
        self.sender_sleeps = True
        self.delivering = INT64_MAX
        self.topics = []

    def __dealloc__(self):
        cdef ProducerBatch* batch = self.first_incomplete
        cdef ProducerBatch* following
        cdef int32_t i
        while batch != NULL:
            following = batch.next_incomplete
            drop_callbacks(batch)
            batch_free_bytes(batch)
            batch_release(batch)
            batch = following
        batch = self.first_done
        while batch != NULL:
            following = batch.next_done
            drop_callbacks(batch)
            batch_release(batch)
            batch = following
        free(self.partitioner.node_is_unavailable)
        pthread_mutex_destroy(&self.mutex)

    def add_topic(self, str name not None, int32_t partition_count):
        """Create a topic's queues."""
        cdef Topic topic = Topic(self, name)
        topic.set_partition_count(partition_count)
        self.topics.append(topic)
        return topic

    cdef str topic_name(self, const ProducerBatch* batch):
        return (<Topic>(<PartitionQueue*>batch.queue).topic.owner).name

    @property
    def live_buffers(self):
        """Number of buffers that are not returned to the pool."""
        return self.live_batches

    cdef void lock(self) noexcept nogil:
        pthread_mutex_lock(&self.mutex)

    cdef bint try_lock(self) noexcept nogil:
        return pthread_mutex_trylock(&self.mutex) == 0

    cdef void unlock(self) noexcept nogil:
        pthread_mutex_unlock(&self.mutex)

    cdef bint wake_sender(self) noexcept nogil:
        """Return whether the sender must be woken: at most once per sleep."""
        cdef bint wake = self.sender_sleeps
        self.sender_sleeps = False
        return wake

    # --- Appending ---------------------------------------------------------------------------------------------------

    cdef AppendStatus append(self, TopicQueues* topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                             int64_t now_ns, size_t large_bytes, Waiter* waiter, Placement* out) noexcept nogil:
        cdef bint is_chosen = partition == PARTITION_NOT_CHOSEN
        cdef PartitionQueue* queue
        cdef ProducerBatch* batch
        cdef AppendStatus status
        cdef bint is_full = False
        cdef size_t size_before = BATCH_HEADER_SIZE
        out.wake = False
        if self.is_closing:
            return APPEND_CLOSED
        if is_chosen:
            partition = choose_partition(&self.partitioner, topic, record.key, record.key_size)
        if partition >= topic.partition_count:
            return APPEND_NO_PARTITION
        queue = topic.queues[partition]
        batch = queue.last
        if batch != NULL:
            size_before = batch.size
        if batch == NULL or not batch.is_open or not batch_append(batch, record, timestamp_ms):
            size_before = BATCH_HEADER_SIZE
            if is_chosen:
                queue = topic.queues[partition_of_new_batch(&self.partitioner, topic, partition)]
                batch = queue.last
            if batch == NULL or not batch.is_open or not batch_append(batch, record, timestamp_ms):
                status = self.append_to_new(queue, record, timestamp_ms, now_ns, large_bytes, waiter, &batch)
                if status != APPENDED:
                    return status
                # The previous batch is full, or this is the first one: there may be something to send.
                out.wake = self.wake_sender()
        if batch.capacity - batch.size < RECORD_OVERHEAD_BYTES:
            batch.is_open = False
            is_full = True
            out.wake |= self.wake_sender()
        if is_chosen:
            partition_was_used(&self.partitioner, topic, <int64_t>(batch.size - size_before), is_full)
        out.batch = batch
        out.index = batch.record_count - 1
        return APPENDED

    cdef AppendStatus append_to_new(self, PartitionQueue* queue, RecordView* record, int64_t timestamp_ms,
                                    int64_t now_ns, size_t large_bytes, Waiter* waiter,
                                    ProducerBatch** out) noexcept nogil:
        cdef size_t size = BATCH_HEADER_SIZE + RECORD_OVERHEAD_BYTES + record.headers_size
        cdef uint8_t* buffer
        cdef ProducerBatch* batch
        if record.key_size > 0:
            size += <size_t>record.key_size
        if record.value_size > 0:
            size += <size_t>record.value_size
        if now_ns == 0:
            return APPEND_NEEDS_CLOCK
        size = max(size, max(self.batch_bytes, large_bytes))
        self.close_open_batch(queue)
        buffer = self.pool.take(size, waiter)
        if buffer == NULL:
            return APPEND_NO_ROOM
        batch = batch_new(buffer, size, now_ns)
        if batch == NULL:
            self.pool.give(buffer, size)
            return APPEND_NO_MEMORY
        self.live_batches += 1
        self.last_number += 1
        batch.number = self.last_number
        batch.queue = queue
        batch.partition = queue.partition
        batch_append(batch, record, timestamp_ms)
        queue_push_last(queue, batch)
        self.list_incomplete(batch, NULL)
        self.activate(queue)
        out[0] = batch
        return APPENDED

    cdef void close_open_batch(self, PartitionQueue* queue) noexcept nogil:
        if queue.last != NULL:
            queue.last.is_open = False

    # --- Draining ----------------------------------------------------------------------------------------------------

    cdef void activate(self, PartitionQueue* queue) noexcept nogil:
        if queue.is_active or queue.first == NULL:
            return
        queue.is_active = True
        queue.next_active = NULL
        if self.last_active == NULL:
            self.first_active = queue
        else:
            self.last_active.next_active = queue
        self.last_active = queue

    cdef PartitionQueue* next_active_queue(self) noexcept nogil:
        """Remove and return the first partition of the queue. It is added at the end again if it still has batches."""
        cdef PartitionQueue* queue = self.first_active
        if queue == NULL:
            return NULL
        self.first_active = queue.next_active
        if self.first_active == NULL:
            self.last_active = NULL
        queue.is_active = False
        queue.next_active = NULL
        return queue

    cdef bint is_ready(self, PartitionQueue* queue, int64_t now_ns, int64_t* next_ns) noexcept nogil:
        cdef ProducerBatch* batch = queue.first
        if batch == NULL:
            return False
        if batch.retry_pause_ns != 0:
            # Responses arrive between two turns, where the current time is not known.
            batch.retry_at_ns = now_ns + batch.retry_pause_ns
            batch.retry_pause_ns = 0
        if batch.retry_at_ns > now_ns:
            next_ns[0] = min(next_ns[0], batch.retry_at_ns)
            return False
        if not batch.is_open or self.flush_count > 0 or self.is_closing or self.is_completing:
            return True
        if self.pool.is_exhausted():
            return True
        if self.linger_ns == LINGER_UNTIL_ANSWERED:
            return queue.in_flight == 0
        if now_ns - batch.created_ns >= self.linger_ns:
            return True
        next_ns[0] = min(next_ns[0], batch.created_ns + self.linger_ns)
        return False

    cdef ProducerBatch* take_first(self, PartitionQueue* queue) noexcept nogil:
        cdef ProducerBatch* batch = queue.first
        batch.is_open = False
        queue_remove(queue, batch)
        return batch

    cdef void put_back(self, ProducerBatch* batch) noexcept nogil:
        """Put a batch back before all batches with higher numbers."""
        cdef PartitionQueue* queue = <PartitionQueue*>batch.queue
        cdef ProducerBatch* place = queue.first
        while place != NULL and is_before(place, batch):
            place = place.next
        queue_insert_before(queue, batch, place)
        self.activate(queue)

    cdef void put_back_later(self, ProducerBatch* batch) noexcept nogil:
        """Put a batch back with a pause that doubles with each attempt, with a jitter of 20 %."""
        cdef int64_t pause_ns = self.backoff_ns
        cdef int32_t i
        for i in range(min(batch.attempts - 1, 30)):
            pause_ns = min(pause_ns * 2, self.backoff_max_ns)
        pause_ns = pause_ns * (800 + <int64_t>(next_random(&self.partitioner) % 401)) // 1000
        batch.retry_pause_ns = pause_ns
        self.put_back(batch)

    cdef bint split(self, ProducerBatch* batch) noexcept nogil:
        cdef int32_t i
        cdef ProducerBatch* child
        cdef ProducerBatch* behind = batch.next_incomplete
        if batch.record_count < 2:
            return False
        if batch_split(batch, max((batch.size - BATCH_HEADER_SIZE) // 2, <size_t>batch.largest_record_bytes)) == 0:
            return False
        for i in range(batch.children_count):
            child = batch.children[i]
            self.pool.charge(child.capacity)
            self.live_batches += 1
            # The parent holds each child once, for futures. The accumulator holds it once.
            batch_hold(child)
            self.list_incomplete(child, behind)
            self.put_back(child)
        self.finish(batch, OUTCOME_SPLIT)
        return True

    # --- The end of batches ------------------------------------------------------------------------------------------

    cdef void list_incomplete(self, ProducerBatch* batch, ProducerBatch* before) noexcept nogil:
        batch.next_incomplete = before
        batch.previous_incomplete = self.last_incomplete if before == NULL else before.previous_incomplete
        if batch.previous_incomplete == NULL:
            self.first_incomplete = batch
        else:
            batch.previous_incomplete.next_incomplete = batch
        if before == NULL:
            self.last_incomplete = batch
        else:
            before.previous_incomplete = batch
        batch.is_listed = True
        self.incomplete_count += 1

    cdef void unlist_incomplete(self, ProducerBatch* batch) noexcept nogil:
        if batch.previous_incomplete == NULL:
            self.first_incomplete = batch.next_incomplete
        else:
            batch.previous_incomplete.next_incomplete = batch.next_incomplete
        if batch.next_incomplete == NULL:
            self.last_incomplete = batch.previous_incomplete
        else:
            batch.next_incomplete.previous_incomplete = batch.previous_incomplete
        batch.is_listed = False
        self.incomplete_count -= 1

    cdef void free_buffer(self, ProducerBatch* batch) noexcept nogil:
        if batch.data == NULL:
            return
        self.pool.give(batch.data, batch.capacity)
        batch.data = NULL
        free_bytes(&batch.compressed)
        self.live_batches -= 1

    cdef void tell_waiters(self, ProducerBatch* batch) noexcept nogil:
        cdef Waiter* waiter = self.result_waiters.first
        while waiter != NULL:
            if waiter.subject == batch:
                waiter_tell(waiter)
            waiter = waiter.next
        self.tell_flushed()

    cdef void tell_flushed(self) noexcept nogil:
        cdef Waiter* waiter = self.flush_waiters.first
        while waiter != NULL:
            if self.is_flushed(waiter.wanted):
                waiter_tell(waiter)
            waiter = waiter.next

    cdef bint is_flushed(self, int64_t number) noexcept nogil:
        cdef ProducerBatch* batch = self.first_done
        if self.delivering <= number or (self.first_incomplete != NULL and self.first_incomplete.number <= number):
            return False
        # The list is in the order of completion, which may differ from that of the numbers.
        while batch != NULL:
            if batch.number <= number:
                return False
            batch = batch.next_done
        return True

    cdef void finish(self, ProducerBatch* batch, BatchOutcome outcome) noexcept nogil:
        if not batch.is_in_request:
            self.free_buffer(batch)
        self.unlist_incomplete(batch)
        atomic_store_32(&batch.outcome, outcome)
        if batch.callback_count > 0:
            batch.next_done = NULL
            if self.last_done == NULL:
                self.first_done = batch
            else:
                self.last_done.next_done = batch
            self.last_done = batch
            self.has_done = True
        self.tell_waiters(batch)
        if batch.callback_count == 0:
            # A request that still needs the bytes holds the batch, too.
            batch_release(batch)

    cdef void fail(self, ProducerBatch* batch, int16_t error_code) noexcept nogil:
        batch.error_code = error_code
        self.finish(batch, OUTCOME_FAILED)

    cdef ProducerBatch* take_done(self) noexcept nogil:
        cdef ProducerBatch* batch = self.first_done
        if batch != NULL:
            self.first_done = batch.next_done
            if self.first_done == NULL:
                self.last_done = NULL
            self.delivering = batch.number
        else:
            self.has_done = False
        return batch

    cdef void delivered(self, ProducerBatch* batch) noexcept nogil:
        self.delivering = INT64_MAX
        self.tell_flushed()

    cdef int64_t next_expiry_ns(self) noexcept nogil:
        if self.first_incomplete == NULL:
            return INT64_MAX
        return self.first_incomplete.created_ns + self.delivery_timeout_ns

    cdef ProducerBatch* next_expired(self, int64_t now_ns) noexcept nogil:
        cdef ProducerBatch* batch = self.first_incomplete
        if batch == NULL or now_ns - batch.created_ns < self.delivery_timeout_ns:
            return NULL
        if not batch.is_in_request:
            queue_remove(<PartitionQueue*>batch.queue, batch)
        return batch


cdef inline bint is_before(const ProducerBatch* a, const ProducerBatch* b) noexcept nogil:
    return a.number < b.number or (a.number == b.number and a.first_record < b.first_record)


cdef void drop_callbacks(ProducerBatch* batch):
    cdef int32_t i
    for i in range(batch.callback_count):
        Py_DECREF(<object>batch.callbacks[i].target)
    batch.callback_count = 0


@cython.final
cdef class Topic:
    def __cinit__(self, RecordAccumulator accumulator not None, str name not None):
        self.accumulator = accumulator
        self.name = name
        self.encoded = name.encode()
        self.queues.name = <const uint8_t*>PyBytes_AS_STRING(self.encoded)
        self.queues.name_size = <int32_t>PyBytes_GET_SIZE(self.encoded)
        self.queues.sticky_partition = PARTITION_NOT_CHOSEN
        self.queues.owner = <void*>self

    def __dealloc__(self):
        cdef int32_t i
        for i in range(self.queues.queue_count):
            free(self.queues.queues[i])
        free(self.queues.queues)

    @property
    def partition_count(self):
        return partition_count_of(&self.queues)

    cdef int set_leaders(self, bytes id, list leaders) except -1:
        cdef PartitionQueue* queue
        cdef ProducerBatch* batch
        cdef const uint8_t* id_bytes = <const uint8_t*>PyBytes_AS_STRING(id)
        cdef bint has_id = PyBytes_GET_SIZE(id) == sizeof(self.queues.id) and id.count(0) != len(id)
        cdef int32_t node, epoch, i
        # A response may be older than the one before. Only a re-created topic can have fewer partitions than before.
        cdef bint is_made_anew = (
            has_id and self.queues.has_id and memcmp(self.queues.id, id_bytes, sizeof(self.queues.id)) != 0
        )
        cdef int32_t count = <int32_t>len(leaders)
        self.set_partition_count(count if is_made_anew else max(count, self.queues.partition_count))
        for index, (node, epoch) in enumerate(leaders):
            queue = self.queues.queues[<int32_t>index]
            with nogil:
                self.accumulator.lock()
                if queue.node != node:
                    # Do not delay retries to a new leader because of the former one's errors (KIP-951).
                    batch = queue.first if node != NO_NODE else NULL
                    while batch != NULL:
                        batch.retry_at_ns = batch.retry_pause_ns = 0
                        batch = batch.next
                    queue.node = node
                queue.leader_epoch = epoch
                self.accumulator.unlock()
        with nogil:
            self.accumulator.lock()
            for i in range(self.queues.partition_count, self.queues.queue_count):
                # Batches of a partition that no longer exists wait until it returns or their time is up.
                self.queues.queues[i].node = NO_NODE
                self.queues.queues[i].leader_epoch = -1
            self.queues.has_id = has_id
            if has_id:
                memcpy(self.queues.id, id_bytes, sizeof(self.queues.id))
            self.accumulator.unlock()
        return 0

    cdef int set_partition_count(self, int32_t count) except -1:
        cdef bint enough
        with nogil:
            self.accumulator.lock()
            enough = grow(&self.queues, count)
            self.accumulator.unlock()
        if not enough:
            raise MemoryError
        return 0


cdef bint grow(TopicQueues* topic, int32_t count) noexcept nogil:
    cdef PartitionQueue** queues
    cdef PartitionQueue* queue
    if count > topic.queue_count:
        queues = <PartitionQueue**>realloc(topic.queues, <size_t>count * sizeof(PartitionQueue*))
        if queues == NULL:
            return False
        topic.queues = queues
    while topic.queue_count < count:
        queue = <PartitionQueue*>calloc(1, sizeof(PartitionQueue))
        if queue == NULL:
            return False
        queue.topic = topic
        queue.partition = topic.queue_count
        queue.node = NO_NODE
        queue.leader_epoch = queue.named_leader = -1
        queue.sequences.last_acked_offset = NO_OFFSET
        sequences_reset(&queue.sequences, NO_PRODUCER, NO_PRODUCER)
        topic.queues[topic.queue_count] = queue
        topic.queue_count += 1
    atomic_store_32(&topic.partition_count, count)
    return True
