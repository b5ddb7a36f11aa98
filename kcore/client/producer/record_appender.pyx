"""RecordAppender: encodes records into the accumulator's batches, and waits for room if there is none.

Concurrency: any number of threads may append at once. A call holds the GIL and the accumulator's mutex together only
while it encodes one record. It never waits for one of them while it holds the other (see record_accumulator.pxd).
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from kcore.client.network.network_client cimport NetworkClient, monotonic_ns
from kcore.client.producer.batch_future cimport BatchFuture
from kcore.client.producer.batch_input cimport (
    RECORD_IN_BATCH_OVERHEAD, BatchInput, append_rows, read_row, row_time,
)
from kcore.client.producer.columns cimport column_at
from kcore.client.producer.partition_queue cimport partition_count_of
from kcore.client.producer.partitioner cimport PARTITION_NOT_CHOSEN
from kcore.client.producer.producer_batch cimport CALLBACK_DELIVERY, batch_add_callback, batch_hold, batch_release
from kcore.client.producer.record_accumulator cimport (
    APPENDED, APPEND_CLOSED, APPEND_NEEDS_CLOCK, APPEND_NO_PARTITION, APPEND_NO_ROOM, APPEND_TOO_LARGE,
    AppendStatus, Placement, RecordAccumulator, Topic,
)
from kcore.client.producer.record_future cimport future_new
from kcore.client.producer.record_headers cimport header_pairs, put_headers
from kcore.client.producer.waiter cimport Waiter, deadline_after, wait_for, waiter_close, waiter_open
from kcore.record.record cimport RecordView

from kcore.client.errors import ClientTimeout, RecordTooLarge, UnknownPartition
from kcore.client.producer.delivery_errors import ProducerClosed

cdef enum:
    HEADERS_ON_STACK = 512
    BATCH_ROOM_FOR_HEAD = 128


@cython.final
cdef class RecordAppender:

    def __init__(self, RecordAccumulator accumulator not None, NetworkClient network not None, *,
                 size_t max_request_bytes, double max_block_ms, bint needs_clock, bint is_compressed):
        self.accumulator = accumulator
        self.network = network
        self.max_request_bytes = max_request_bytes
        self.max_block_ms = max_block_ms
        self.needs_clock = needs_clock
        self.is_compressed = is_compressed

    cdef object append(self, Topic topic, int32_t partition, bytes key, bytes value, headers, int64_t timestamp_ms,
                       on_delivery):
        """Append one record and return its future. Headers are encoded into a separate buffer first."""
        cdef RecordView record
        cdef uint8_t[HEADERS_ON_STACK] room
        cdef uint8_t* encoded = NULL
        cdef list pairs
        if timestamp_ms < 0:
            raise ValueError(f"Invalid timestamp: {timestamp_ms}. Timestamp should always be non-negative or null.")
        record.attributes = 0
        record.key = NULL
        record.key_size = -1
        record.value = NULL
        record.value_size = -1
        record.header_count = 0
        record.headers = NULL
        record.headers_size = 0
        if key is not None:
            record.key = <const uint8_t*>PyBytes_AS_STRING(key)
            record.key_size = <int32_t>min(PyBytes_GET_SIZE(key), <Py_ssize_t>INT32_MAX)
        if value is not None:
            record.value = <const uint8_t*>PyBytes_AS_STRING(value)
            record.value_size = <int32_t>min(PyBytes_GET_SIZE(value), <Py_ssize_t>INT32_MAX)
        if headers is None:
            return self.append_encoded(topic, partition, &record, timestamp_ms, on_delivery)
        pairs = header_pairs(headers, &record.headers_size)
        record.header_count = <int32_t>len(pairs)
        record.headers = room
        if record.headers_size > HEADERS_ON_STACK:
            encoded = <uint8_t*>malloc(record.headers_size)
            if encoded == NULL:
                raise MemoryError
            record.headers = encoded
        put_headers(<uint8_t*>record.headers, pairs)
        try:
            return self.append_encoded(topic, partition, &record, timestamp_ms, on_delivery)
        finally:
            free(encoded)

    cdef object append_encoded(self, Topic topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                               on_delivery):
        cdef RecordAccumulator accumulator = self.accumulator
        cdef Placement placement
        cdef AppendStatus status
        cdef int64_t clock_ns = 0
        cdef size_t size = RECORD_IN_BATCH_OVERHEAD + record.headers_size
        size += <size_t>max(record.key_size, 0) + <size_t>max(record.value_size, 0)
        if size > self.max_request_bytes or size > accumulator.pool.memory_bytes:
            raise too_large(topic.name, size, self.max_request_bytes, accumulator.pool.memory_bytes)
        if self.needs_clock:
            clock_ns = monotonic_ns()
        status = self.try_append(topic, partition, record, timestamp_ms, clock_ns, 0, NULL, &placement, on_delivery)
        if status == APPEND_NEEDS_CLOCK:
            clock_ns = monotonic_ns()
            status = self.try_append(topic, partition, record, timestamp_ms, clock_ns, 0, NULL, &placement, on_delivery)
        if status != APPENDED:
            self.append_slowly(topic, partition, record, timestamp_ms, 0, status, &placement, on_delivery)
        if placement.wake:
            self.network.wake()
        return future_new(placement.batch, placement.index, topic, timestamp_ms, record.key_size, record.value_size)

    cdef AppendStatus try_append(self, Topic topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                                 int64_t clock_ns, size_t large_bytes, Waiter* waiter, Placement* placement,
                                 on_delivery):
        """Try once to append: with the GIL if the mutex is free, else without it. So no thread waits for both."""
        cdef RecordAccumulator accumulator = self.accumulator
        cdef AppendStatus status
        cdef void* callback = NULL
        if on_delivery is not None:
            callback = <void*>on_delivery
            Py_INCREF(on_delivery)
        if accumulator.try_lock():
            status = append_locked(accumulator, topic, partition, record, timestamp_ms, clock_ns, large_bytes, waiter,
                                   placement, callback)
        else:
            with nogil:
                accumulator.lock()
                status = append_locked(accumulator, topic, partition, record, timestamp_ms, clock_ns, large_bytes,
                                       waiter, placement, callback)
        if callback != NULL and status != APPENDED:
            Py_DECREF(on_delivery)
        return status

    cdef int append_slowly(self, Topic topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                           size_t large_bytes, AppendStatus status, Placement* placement, on_delivery) except -1:
        """Wait for room, in the order of arrival, at most max.block.ms."""
        cdef RecordAccumulator accumulator = self.accumulator
        cdef int64_t deadline_ns = deadline_after(self.max_block_ms)
        cdef size_t size = accumulator.batch_bytes
        cdef Waiter waiter
        cdef bint wake
        size = max(size, max(large_bytes, RECORD_IN_BATCH_OVERHEAD + 16 + record.headers_size
                             + <size_t>max(record.key_size, 0) + <size_t>max(record.value_size, 0)))
        if status == APPEND_NO_ROOM and size > accumulator.pool.memory_bytes:
            raise too_large(topic.name, size, self.max_request_bytes, accumulator.pool.memory_bytes)
        waiter_open(&waiter)
        try:
            with nogil:
                accumulator.lock()
                accumulator.pool.join(&waiter, size)
                # Only sent batches make room, so half-full ones must be sent now.
                wake = accumulator.wake_sender()
                accumulator.unlock()
            if wake:
                self.network.wake()
            while status == APPEND_NO_ROOM:
                if not wait_for(&waiter, deadline_ns):
                    raise ClientTimeout(
                        f"topic {topic.name}: buffer.memory ({accumulator.pool.memory_bytes} bytes) stayed full for "
                        f"max.block.ms ({self.max_block_ms:.0f}): the brokers are slower than the application, or "
                        "unreachable. Send less, or raise buffer.memory"
                    )
                status = self.try_append(topic, partition, record, timestamp_ms, monotonic_ns(), large_bytes, &waiter,
                                         placement, on_delivery)
        finally:
            with nogil:
                accumulator.lock()
                accumulator.pool.leave(&waiter)
                accumulator.unlock()
            waiter_close(&waiter)
        if status == APPEND_CLOSED:
            raise ProducerClosed("the producer is closed. Create a new one")
        if status == APPEND_NO_PARTITION:
            raise UnknownPartition(topic.name, partition, partition_count_of(&topic.queues))
        if status != APPENDED:
            raise MemoryError
        return 0

    cdef int append_all(self, Topic topic, BatchInput* batch, BatchFuture future) except -1:
        """Append the rows without the GIL, several per lock of the mutex. Waits for room with the GIL."""
        cdef RecordAccumulator accumulator = self.accumulator
        cdef AppendStatus status = APPENDED
        cdef Placement placement
        cdef RecordView record
        cdef bint wake, is_added
        batch.row = 0
        batch.chosen = batch.partition
        batch.max_record_bytes = min(self.max_request_bytes, accumulator.pool.memory_bytes)
        batch.large_bytes = min(self.large_batch_bytes(topic, batch), batch.max_record_bytes)
        accumulator.last_call += 1
        batch.call = accumulator.last_call
        while batch.row < batch.count:
            with nogil:
                wake = False
                accumulator.lock()
                status = append_rows(accumulator, topic, batch, future, self.is_compressed, monotonic_ns(),
                                     &wake)
                accumulator.unlock()
                if wake:
                    self.network.wake()
            if status == APPEND_TOO_LARGE:
                raise too_large(topic.name, batch.refused_bytes, self.max_request_bytes, accumulator.pool.memory_bytes)
            if status != APPENDED:
                read_row(batch, &record)
                self.append_slowly(topic, batch.chosen, &record, row_time(batch), batch.large_bytes, status, &placement,
                                   None)
                with nogil:
                    accumulator.lock()
                    is_added = future.add(placement.batch, placement.index, batch.call)
                    accumulator.unlock()
                    batch_release(placement.batch)
                    if placement.wake:
                        self.network.wake()
                if not is_added:
                    raise MemoryError
                batch.row += 1
        return 0

    cdef size_t large_batch_bytes(self, Topic topic, const BatchInput* batch):
        """Return the capacity for new batches.

        Without keys: the maximum request size. With keys: a partition's estimated share of the call.
        """
        cdef int64_t total = 0
        cdef int64_t i
        cdef int32_t size
        cdef int64_t sampled = min(batch.count, <int64_t>64)
        for i in range(sampled):
            column_at(batch.values, i * batch.count // sampled, &size)
            total += max(size, 0) + 32
            if batch.keys != NULL:
                column_at(batch.keys, i * batch.count // sampled, &size)
                total += max(size, 0)
        if sampled > 0:
            total = total * batch.count // sampled
        if batch.keys != NULL and batch.partition == PARTITION_NOT_CHOSEN:
            total = total // max(partition_count_of(&topic.queues), 1)
        # At most a quarter of the buffer, so that a new batch need not wait for the previous one.
        return min(<size_t>max(total + BATCH_ROOM_FOR_HEAD, 0),
                   min(self.max_request_bytes, self.accumulator.pool.memory_bytes // 4))


cdef inline AppendStatus append_locked(RecordAccumulator accumulator, Topic topic, int32_t partition, RecordView* record,
                                       int64_t timestamp_ms, int64_t clock_ns, size_t large_bytes, Waiter* waiter,
                                       Placement* placement, void* callback) noexcept nogil:
    """Append with the mutex held and release the mutex. The caller gets a hold on the batch."""
    cdef AppendStatus status = accumulator.append(&topic.queues, partition, record, timestamp_ms, clock_ns, large_bytes,
                                                  waiter, placement)
    if status == APPENDED:
        batch_hold(placement.batch)
    if status == APPENDED and callback != NULL:
        batch_add_callback(placement.batch, callback, CALLBACK_DELIVERY, placement.index, timestamp_ms,
                           record.key_size, record.value_size)
    accumulator.unlock()
    return status


cdef object too_large(str topic, size_t size, size_t max_request_bytes, size_t memory_bytes):
    if size > max_request_bytes:
        return RecordTooLarge(
            f"topic {topic}: The message is {size} bytes when serialized which is larger than {max_request_bytes}, which "
            "is the value of the max.request.size configuration."
        )
    return RecordTooLarge(
        f"topic {topic}: The message is {size} bytes when serialized which is larger than the total memory buffer you "
        f"have configured with the buffer.memory configuration ({memory_bytes})."
    )
