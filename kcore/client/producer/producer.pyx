"""`Producer`: the way in. It puts records where the accumulator keeps them, and waits only when it has to.

What a call may wait for: a topic that nothing is known of yet and room in `buffer.memory`, together at most
`max.block.ms`. Everything else is the network thread's and the background thread's.

Concurrency: any number of threads may send at once. Calls hold the GIL and the accumulator's mutex together only while
one record is encoded, and never wait for either while they hold the other (see record_accumulator.pxd).
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItem
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT32_MAX, INT64_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from kcore.client.network.network_client cimport NetworkClient, monotonic_ns
from kcore.client.network.encoded_request cimport ReplyQueue
from kcore.client.producer.partition_queue cimport (
    PART_ADDED, PART_NOT_ADDED, PartitionQueue, partition_count_of,
)
from kcore.client.producer.batch_future cimport BatchFuture
from kcore.client.producer.columns cimport (
    BytesColumn, Column, HeadersColumn, LongColumn, bytes_column, column_at, headers_column, long_column,
)
from kcore.client.producer.partitioner cimport (
    PARTITION_BUILT_IN, PARTITION_NOT_CHOSEN, PARTITION_ROUND_ROBIN, choose_partition, partition_was_used,
)
from kcore.client.producer.producer_batch cimport (
    CALLBACK_DELIVERY, ERROR_ABORTED, ERROR_CLOSED, ProducerBatch, batch_add_callback, batch_hold, batch_release,
    batch_sum_ahead,
)
from kcore.client.producer.record_accumulator cimport (
    APPENDED, APPEND_CLOSED, APPEND_NEEDS_CLOCK, APPEND_NO_MEMORY, APPEND_NO_PARTITION, APPEND_NO_ROOM, APPEND_TOO_LARGE,
    AppendStatus, Placement,
    RecordAccumulator, Topic,
)
from kcore.client.producer.record_future cimport RecordFuture, deliver, future_new
from kcore.client.producer.sender cimport Sender
from kcore.client.producer.waiter cimport Waiter, wait_for, waiter_close, waiter_join, waiter_leave, waiter_open
from kcore.platform.sync cimport CLOCK_REALTIME, clock_gettime, timespec
from kcore.record.compression cimport CODEC_NONE
from kcore.record.record cimport RecordView, put_sized, varlong_size

from kcore.client.config.client_config import ProducerConfig
from kcore.client.errors import ClientTimeout, RecordTooLarge, UnknownPartition
from kcore.client.network.addresses import bootstrap_addresses
from kcore.client.network.network_thread import NetworkThread
from kcore.client.producer.background import Background
from kcore.client.producer.delivery_errors import ProducerClosed
from kcore.client.producer.interceptors import ProducerInterceptors, ProducerRecord
from kcore.client.producer.partitioners import partitioner_of
from kcore.client.producer.sender import COMPRESSION_TYPES
from kcore.client.producer.serializers import serializer_of
from kcore.client.producer.transaction_manager import InvalidTransactionState

cdef int64_t NS_PER_MS = 1_000_000
cdef double LONGEST_MS = 1e12
LEVELS = {"gzip": "compression.gzip.level", "lz4": "compression.lz4.level", "zstd": "compression.zstd.level"}

cdef enum:
    # Lengths, deltas, attributes and the batch's header: what a record takes beside its bytes, at most (Kafka's bound).
    RECORD_IN_BATCH_OVERHEAD = 61 + 21
    HEADERS_ON_STACK = 512
    BATCH_ROOM_FOR_HEAD = 128
    # How long `send_batch` keeps the mutex from the sender: some ten microseconds.
    ROWS_PER_SPELL = 256


# What `send_batch` appends, and how far it is.
cdef struct BatchInput:
    const Column* values
    const Column* keys
    const int64_t* timestamps
    int64_t timestamp_ms
    const uint8_t* header_bytes
    const int64_t* header_ends
    const int32_t* header_counts
    bint one_header_for_all
    int32_t partition          # PARTITION_NOT_CHOSEN: by key, or sticky
    int32_t chosen
    int64_t count
    int64_t row
    int64_t call
    size_t large_bytes
    size_t max_record_bytes
    size_t refused_bytes


cdef inline int64_t now_ms() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1_000_000


cdef inline int64_t deadline_after(timeout_ms) except -1:
    if timeout_ms is None:
        return INT64_MAX
    return monotonic_ns() + <int64_t>(min(max(timeout_ms, 0), LONGEST_MS) * NS_PER_MS)


cdef bytes as_bytes(object value, str what, str topic):
    """What has no serializer: bytes as they are, and what lays its bytes open."""
    if isinstance(value, str):
        raise TypeError(
            f"topic {topic}: the {what} is a str: encode it, or set {what}.serializer to 'string'"
        )
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise TypeError(
            f"topic {topic}: the {what} is a {type(value).__name__}, not bytes: serialize it, or set {what}.serializer"
        ) from None


cdef list header_pairs(object headers, size_t* size):
    """Headers as pairs of bytes, and how many bytes they take in a record."""
    cdef list pairs = []
    cdef bytes name, value
    size[0] = 0
    for header_name, header_value in headers.items() if isinstance(headers, dict) else headers:
        name = (<str>header_name).encode("utf-8", "surrogateescape") if type(header_name) is str else bytes(header_name)
        value = None if header_value is None else as_bytes(header_value, "header", "")
        size[0] += varlong_size(PyBytes_GET_SIZE(name)) + <size_t>PyBytes_GET_SIZE(name)
        if value is None:
            size[0] += 1
        else:
            size[0] += varlong_size(PyBytes_GET_SIZE(value)) + <size_t>PyBytes_GET_SIZE(value)
        pairs.append((name, value))
    return pairs


cdef void put_headers(uint8_t* target, list pairs):
    cdef bytes name, value
    for name, value in pairs:
        target = put_sized(target, <const uint8_t*>PyBytes_AS_STRING(name), <int32_t>PyBytes_GET_SIZE(name))
        if value is None:
            target = put_sized(target, NULL, -1)
        else:
            target = put_sized(target, <const uint8_t*>PyBytes_AS_STRING(value), <int32_t>PyBytes_GET_SIZE(value))


@cython.final
cdef class Producer:
    """Publishes records to the topics of a cluster.

    `config` has Kafka's names, `keywords` the same with underscores; both may be given. `close` it, or use it as a
    context manager: two threads work for it.
    """

    cdef readonly object config
    cdef RecordAccumulator accumulator
    cdef Sender sender
    cdef NetworkClient network
    cdef object thread
    cdef object background
    cdef object transactions             # the TransactionManager, or None
    cdef object key_serializer, value_serializer, interceptors, custom_partitioner
    cdef dict topics
    cdef str last_name
    cdef Topic last_topic
    cdef size_t max_request_bytes
    cdef double max_block_ms
    cdef bint is_plain                   # bytes in, and nobody between: the short way
    cdef bint is_closed
    cdef bint appends_need_clock

    def __init__(self, config=None, **keywords):
        cdef int codec
        self.config = config = ProducerConfig.of(config, keywords)
        codec = COMPRESSION_TYPES.index(config["compression.type"])
        level = LEVELS.get(config["compression.type"])
        kind, self.custom_partitioner = partitioner_of(config["partitioner.class"])
        self.key_serializer = serializer_of("key.serializer", config["key.serializer"])
        self.value_serializer = serializer_of("value.serializer", config["value.serializer"])
        self.interceptors = ProducerInterceptors(config.objects("interceptor.classes"))
        self.accumulator = RecordAccumulator(
            batch_size=config["batch.size"],
            buffer_memory=config["buffer.memory"],
            linger_ms=config["linger.ms"] if config.is_set("linger.ms") else None,
            delivery_timeout_ms=config["delivery.timeout.ms"],
            retry_backoff_ms=config["retry.backoff.ms"],
            retry_backoff_max_ms=config["retry.backoff.max.ms"],
            partitioner=kind,
            ignore_keys=config["partitioner.ignore.keys"],
            adaptive=config["partitioner.adaptive.partitioning.enable"],
            seed=monotonic_ns(),
        )
        self.network = NetworkClient(
            bootstrap_addresses(list(config["bootstrap.servers"]), config["client.dns.lookup"]),
            client_id=config["client.id"],
            reconnect_backoff_ms=config["reconnect.backoff.ms"],
            reconnect_backoff_max_ms=config["reconnect.backoff.max.ms"],
            socket_connection_setup_timeout_ms=config["socket.connection.setup.timeout.ms"],
            socket_connection_setup_timeout_max_ms=config["socket.connection.setup.timeout.max.ms"],
            connections_max_idle_ms=config["connections.max.idle.ms"],
            send_buffer_bytes=config["send.buffer.bytes"],
            receive_buffer_bytes=config["receive.buffer.bytes"],
        )
        self.sender = Sender(
            self.network,
            self.accumulator,
            client_id=config["client.id"],
            transactional_id=config["transactional.id"],
            acks=-1 if config["acks"] == "all" else int(config["acks"]),
            codec=codec,
            level=None if level is None else config[level],
            request_timeout_ms=config["request.timeout.ms"],
            max_in_flight=config["max.in.flight.requests.per.connection"],
            retries=config["retries"],
            max_request_size=config["max.request.size"],
            idempotent=config["enable.idempotence"],
            availability_timeout_ms=config["partitioner.availability.timeout.ms"],
        )
        self.topics = {}
        self.max_request_bytes = config["max.request.size"]
        self.max_block_ms = config["max.block.ms"]
        self.appends_need_clock = kind == PARTITION_ROUND_ROBIN
        self.background = Background(self, self.network, config)
        self.transactions = self.background.transactions
        self.is_plain = (self.key_serializer is None and self.value_serializer is None and not self.interceptors
                         and self.custom_partitioner is None and self.transactions is None)
        self.sender.background = (<ReplyQueue>self.background.replies).wakeup
        self.sender.start()
        self.thread = NetworkThread(self.network)
        self.thread.start()
        self.background.start()

    # --- Sending -----------------------------------------------------------------------------------------------------

    def send(self, str topic not None, value=None, *, key=None, headers=None, partition=None, timestamp=None,
             on_delivery=None):
        """Takes one record and returns its future at once, unless it has to wait for room or for a topic.

        `value` and `key` are bytes (or what their serializers take) or None; `headers` pairs of a name and bytes, or a
        dictionary; `timestamp` milliseconds, by default now. `on_delivery(metadata, error)` is called on the
        background thread. Raises RecordTooLarge, ClientTimeout after max.block.ms, ProducerClosed, or a broker's error
        for the topic.
        """
        cdef RecordView record
        cdef Topic owner
        cdef int32_t target = PARTITION_NOT_CHOSEN
        cdef bytes key_bytes = None
        cdef bytes value_bytes = None
        cdef int64_t timestamp_ms
        if not self.is_plain:
            return self.send_prepared(topic, value, key, headers, partition, timestamp, on_delivery)
        if key is not None:
            key_bytes = <bytes>key if PyBytes_CheckExact(key) else as_bytes(key, "key", topic)
        if value is not None:
            value_bytes = <bytes>value if PyBytes_CheckExact(value) else as_bytes(value, "value", topic)
        if topic is self.last_name:
            owner = self.last_topic
        else:
            owner = self.topic_of(topic, self.max_block_ms)
        if partition is not None:
            target = self.checked_partition(owner, partition)
        timestamp_ms = now_ms() if timestamp is None else <int64_t>timestamp
        return self.append(owner, target, key_bytes, value_bytes, headers, timestamp_ms, on_delivery)

    cdef object send_prepared(self, str topic, value, key, headers, partition, timestamp, on_delivery):
        """With interceptors, serializers, a custom partitioner or a transaction in between."""
        cdef bytes key_bytes = None
        cdef bytes value_bytes = None
        cdef Topic owner
        if self.interceptors:
            record = self.interceptors.on_send(ProducerRecord(topic, value, key, headers, partition, timestamp))
            topic, value, key, headers, partition, timestamp = record
            on_delivery = intercepted(self.interceptors, on_delivery)
        if self.transactions is not None:
            self.transactions.check_sending()
        if key is not None:
            if self.key_serializer is not None:
                key = self.key_serializer(topic, key)
            key_bytes = key if PyBytes_CheckExact(key) else as_bytes(key, "key", topic)
        if value is not None:
            if self.value_serializer is not None:
                value = self.value_serializer(topic, value)
            value_bytes = value if PyBytes_CheckExact(value) else as_bytes(value, "value", topic)
        owner = self.topic_of(topic, self.max_block_ms)
        if partition is None and self.custom_partitioner is not None:
            partition = self.custom_partitioner(topic, key_bytes, partition_count_of(&owner.queues))
        target = PARTITION_NOT_CHOSEN if partition is None else self.checked_partition(owner, partition)
        timestamp_ms = now_ms() if timestamp is None else timestamp
        return self.append(owner, target, key_bytes, value_bytes, headers, timestamp_ms, on_delivery)

    cdef Topic topic_of(self, str name, double timeout_ms):
        """The topic's queues; waits for metadata of a topic that is new."""
        cdef void* found = <void*>PyDict_GetItem(self.topics, name)
        cdef Topic topic
        if found != NULL:
            topic = <Topic>found
            if partition_count_of(&topic.queues) > 0:
                self.last_name = name
                self.last_topic = topic
                return topic
        if self.is_closed:
            raise ProducerClosed("the producer is closed")
        self.background.await_topic(name, 0, timeout_ms)
        return self.topics[name]

    cdef int32_t checked_partition(self, Topic topic, partition) except -2:
        cdef int64_t wanted = partition
        if wanted < 0:
            raise ValueError(f"Invalid partition: {partition}. Partition number should always be non-negative or null.")
        if wanted >= partition_count_of(&topic.queues):
            self.background.await_topic(topic.name, min(wanted, <int64_t>INT32_MAX), self.max_block_ms)
        return <int32_t>wanted

    cdef object append(self, Topic topic, int32_t partition, bytes key, bytes value, headers, int64_t timestamp_ms,
                       on_delivery):
        """Encodes a record into its batch; the headers are encoded first, into memory of their own."""
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
        if self.appends_need_clock:
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
        """One attempt: with the GIL where the mutex is free, else without it, so that nobody waits for both."""
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
        """Waits for room, in line with others, at most max.block.ms."""
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
                # Everything that is half full may have to leave now.
                wake = accumulator.wake_sender()
                accumulator.unlock()
            if wake:
                self.network.wake()
            while status == APPEND_NO_ROOM:
                if not wait_for(&waiter, deadline_ns):
                    raise ClientTimeout(
                        f"topic {topic.name}: no room in buffer.memory ({accumulator.pool.memory_bytes} bytes) within "
                        f"max.block.ms ({self.max_block_ms:.0f}); the broker is slower than the application"
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
            raise ProducerClosed("the producer is closed")
        if status == APPEND_NO_PARTITION:
            raise UnknownPartition(topic.name, partition, partition_count_of(&topic.queues))
        if status != APPENDED:
            raise MemoryError
        return 0

    def send_batch(self, str topic not None, values, *, keys=None, headers=None, partition=None, timestamps=None,
                   on_delivery=None):
        """Takes many records in one call and returns one future for all of them.

        `values` and `keys` are lists of bytes or None, buffers of fixed width (NumPy's S and V types, two dimensions of
        bytes) or Arrow arrays of binary or string type; `timestamps` milliseconds for all, or one each (list, int64);
        `headers` a dictionary for all, or one entry of headers or None each. Without keys and `partition` whole batches,
        up to max.request.size, go to one partition after another. `on_delivery(ranges, error)` is called once, with a
        list of DeliveredRange. No serializer, interceptor or partitioner of one's own is asked.
        """
        cdef BytesColumn value_column = bytes_column(values, "values")
        cdef BytesColumn key_column = None if keys is None else bytes_column(keys, "keys")
        cdef LongColumn time_column = None
        cdef HeadersColumn header_column = None
        cdef BatchInput batch
        cdef BatchFuture future = BatchFuture.__new__(BatchFuture)
        cdef Topic owner = self.topic_of(topic, self.max_block_ms)
        if self.transactions is not None:
            self.transactions.check_sending()
        batch.values = &value_column.column
        batch.count = value_column.column.count
        batch.keys = NULL
        batch.timestamps = NULL
        batch.header_bytes = NULL
        batch.header_ends = NULL
        if key_column is not None:
            if key_column.column.count != batch.count:
                raise ValueError(f"{key_column.column.count} keys for {batch.count} values")
            batch.keys = &key_column.column
        batch.timestamp_ms = now_ms()
        if isinstance(timestamps, int):
            batch.timestamp_ms = timestamps
        elif timestamps is not None:
            time_column = long_column(timestamps, batch.count)
            batch.timestamps = time_column.values
        if headers is not None:
            header_column = headers_column(headers, batch.count)
            batch.header_bytes = <const uint8_t*>PyByteArray_AS_STRING(header_column.encoded)
            batch.header_ends = header_column.ends
            batch.header_counts = header_column.counts
            batch.one_header_for_all = header_column.count == 1 and isinstance(headers, dict)
        batch.partition = PARTITION_NOT_CHOSEN if partition is None else self.checked_partition(owner, partition)
        future.topic = owner
        self.append_all(owner, &batch, future)
        if on_delivery is not None:
            future.add_done_callback(lambda done: tell_batch(done, on_delivery))
        return future

    cdef int append_all(self, Topic topic, BatchInput* batch, BatchFuture future) except -1:
        """Appends rows without the GIL, in spells of the mutex; with it only where room is waited for."""
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
                status = append_rows(accumulator, topic, batch, future, self.sender.codec != CODEC_NONE, monotonic_ns(),
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
        """Without keys as large as a request; with keys a partition's share of the call, as a guess."""
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
        # No larger than a quarter of the buffer: a batch in the making must not wait for the one before.
        return min(<size_t>max(total + BATCH_ROOM_FOR_HEAD, 0),
                   min(self.max_request_bytes, self.accumulator.pool.memory_bytes // 4))

    # --- Transactions ------------------------------------------------------------------------------------------------

    cdef object transactional(self):
        if self.transactions is None:
            raise InvalidTransactionState(
                "Cannot use transactional methods without enabling transactions by setting the transactional.id "
                "configuration property"
            )
        self.background.refuse_in_callback("transactions")
        return self.transactions

    def init_transactions(self):
        """Before the first transaction: fences earlier producers of the transactional.id and ends what they left."""
        self.transactional().init()

    def begin_transaction(self):
        """From here to `commit_transaction` or `abort_transaction` everything that is sent belongs together."""
        self.transactional().begin()

    def send_offsets_to_transaction(self, offsets, group_metadata):
        """Makes offsets (of TopicPartitions: a number, or an OffsetAndMetadata) part of the transaction; they count as
        committed for the group when the transaction is. `group_metadata` is a consumer's, or a group's name."""
        self.transactional().send_offsets(offsets, group_metadata)

    def commit_transaction(self):
        """Flushes and commits. Raises what any record of the transaction failed with; then it can only be aborted."""
        self.transactional().commit()

    def abort_transaction(self):
        """Gives up what has not been sent and has the rest ignored by readers of committed records."""
        self.transactional().abort()

    # --- Waiting and ending ------------------------------------------------------------------------------------------

    def takes_at_once(self, str topic not None):
        """Whether a record would be taken without waiting: the topic is known and there is room for two more batches."""
        cdef RecordAccumulator accumulator = self.accumulator
        cdef Topic known = self.topics.get(topic)
        cdef bint has_room
        if known is None or partition_count_of(&known.queues) == 0:
            return False
        with nogil:
            accumulator.lock()
            has_room = (accumulator.pool.waiters.first == NULL
                        and accumulator.pool.used_bytes + 2 * accumulator.batch_bytes <= accumulator.pool.memory_bytes)
            accumulator.unlock()
        return has_room

    def connection_states(self):
        """The state of each connection, from any thread."""
        from kcore.client.network.connection_state import connection_states

        return connection_states(self.network)

    def partitions_for(self, str topic not None):
        """The topic's partitions, waiting for metadata at most max.block.ms."""
        cdef Topic known = self.topic_of(topic, self.max_block_ms)
        return list(range(partition_count_of(&known.queues)))

    def flush(self, timeout=None):
        """Sends everything at once and waits, at most `timeout` seconds (ClientTimeout), until all records sent before
        are acknowledged or given up and their callbacks were called."""
        cdef RecordAccumulator accumulator = self.accumulator
        cdef int64_t deadline_ns = deadline_after(None if timeout is None else timeout * 1000)
        cdef int64_t number
        cdef Waiter waiter
        cdef bint is_flushed
        cdef bint is_told = True
        self.background.refuse_in_callback("flush")
        waiter_open(&waiter)
        with nogil:
            accumulator.lock()
            number = accumulator.last_number
            waiter.wanted = number
            accumulator.flush_count += 1
            is_flushed = accumulator.is_flushed(number)
            waiter_join(&accumulator.flush_waiters, &waiter)
            accumulator.wake_sender()
            accumulator.unlock()
            self.network.wake()
        try:
            while not is_flushed:
                if not is_told:
                    raise ClientTimeout(f"{self.pending} batches are not acknowledged after {timeout} s")
                is_told = wait_for(&waiter, deadline_ns)
                with nogil:
                    accumulator.lock()
                    is_flushed = accumulator.is_flushed(number)
                    accumulator.unlock()
        finally:
            with nogil:
                accumulator.lock()
                accumulator.flush_count -= 1
                waiter_leave(&accumulator.flush_waiters, &waiter)
                accumulator.unlock()
            waiter_close(&waiter)

    def close(self, timeout=None):
        """Takes nothing more, delivers what it has (at most `timeout` seconds, then the rest fails) and lets the
        connections go. A second call does nothing."""
        if self.is_closed:
            return
        self.background.refuse_in_callback("close")
        self.is_closed = True
        self.last_name = None
        try:
            if timeout is None or timeout > 0:
                self.background.begin_closing()
            with nogil:
                self.accumulator.lock()
                self.accumulator.is_closing = True
                self.accumulator.wake_sender()
                self.accumulator.unlock()
                self.network.wake()
            try:
                self.flush(timeout)
            except ClientTimeout:
                pass
        finally:
            self.end()

    cdef int end(self) except -1:
        """Ends both threads; whatever is not done yet fails."""
        try:
            self.background.close()
        finally:
            self.thread.close()
            self.background.take_leavings()
            with nogil:
                self.accumulator.lock()
                self.accumulator.is_closing = True
                self.sender.fail_all(ERROR_CLOSED)
                self.accumulator.unlock()
            deliver(self.accumulator)
            self.interceptors.close()
        return 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        """After an exception nothing is waited for."""
        self.close(None if kind is None else 0)

    @property
    def pending(self):
        """Batches that are neither acknowledged nor given up."""
        cdef int64_t count
        with nogil:
            self.accumulator.lock()
            count = self.accumulator.incomplete_count
            self.accumulator.unlock()
        return count

    @property
    def live_buffers(self):
        """Buffers of `buffer.memory` in use; 0 once everything is delivered."""
        cdef int64_t count
        with nogil:
            self.accumulator.lock()
            count = self.accumulator.live_batches
            self.accumulator.unlock()
        return count

    # --- The background thread's -------------------------------------------------------------------------------------

    def take_events(self):
        """Background: what the sender left to do (SenderEvent), and the code of the last error."""
        cdef int events, error_code
        with nogil:
            self.accumulator.lock()
            events = self.sender.events
            error_code = self.sender.error_code
            self.sender.events = 0
            self.accumulator.unlock()
        return events, error_code

    def deliver(self):
        """Background: calls the callbacks of what is done."""
        return deliver(self.accumulator)

    def set_leaders(self, str name not None, bytes id not None, list leaders not None):
        """Background: what metadata says of a topic; (slot, epoch) of its partitions."""
        cdef Topic topic = self.topics.get(name)
        cdef bint wake
        if topic is None:
            topic = self.accumulator.add_topic(name, 0)
            topic.set_leaders(id, leaders)
            self.topics[name] = topic
        else:
            topic.set_leaders(id, leaders)
        with nogil:
            self.accumulator.lock()
            wake = self.accumulator.wake_sender()
            self.accumulator.unlock()
            if wake:
                self.network.wake()

    def take_named_leaders(self):
        """Background: newer leaders that answers named, as (topic, partition, node's id, epoch) (KIP-951)."""
        cdef Topic topic
        cdef PartitionQueue* queue
        cdef int32_t i, leader, epoch
        named = []
        for topic in list(self.topics.values()):
            for i in range(topic.queues.queue_count):
                with nogil:
                    self.accumulator.lock()
                    queue = topic.queues.queues[i]
                    leader, epoch = queue.named_leader, queue.named_epoch
                    queue.named_leader = -1
                    self.accumulator.unlock()
                if leader >= 0:
                    named.append((topic.name, i, leader, epoch))
        return named

    def used_topics(self):
        """Background: the topics that something waits to be sent to."""
        cdef Topic topic
        cdef int32_t i
        cdef bint is_used
        used = []
        for topic in list(self.topics.values()):
            is_used = False
            with nogil:
                self.accumulator.lock()
                for i in range(topic.queues.queue_count):
                    is_used |= topic.queues.queues[i].first != NULL or topic.queues.queues[i].in_flight > 0
                self.accumulator.unlock()
            if is_used:
                used.append(topic.name)
        return used

    def set_producer_id(self, int64_t producer_id, int16_t epoch):
        """Background: the producer's id and epoch from now on."""
        with nogil:
            self.accumulator.lock()
            self.sender.set_producer_id(producer_id, epoch)
            self.accumulator.wake_sender()
            self.accumulator.unlock()
            self.network.wake()

    def take_transaction_error(self):
        """The code of the last error that ends the transaction, once; 0 without one."""
        cdef int code
        with nogil:
            self.accumulator.lock()
            code = self.sender.fatal_error if self.sender.fatal_error != 0 else self.sender.error_code
            self.sender.error_code = 0
            self.accumulator.unlock()
        return code

    def partitions_to_add(self):
        """Background: (topic, partition) of those whose batches wait for the transaction to know them."""
        cdef Topic topic
        cdef PartitionQueue* queue
        cdef int32_t i
        cdef bint is_missing
        found = []
        for topic in list(self.topics.values()):
            for i in range(topic.queues.queue_count):
                with nogil:
                    self.accumulator.lock()
                    queue = topic.queues.queues[i]
                    is_missing = queue.first != NULL and queue.transaction_part == PART_NOT_ADDED
                    self.accumulator.unlock()
                if is_missing:
                    found.append((topic.name, i))
        return found

    def add_to_transaction(self, list partitions):
        """Background: the transaction knows these, their batches may leave."""
        cdef Topic topic
        cdef int32_t number
        for name, number in partitions:
            topic = self.topics[name]
            with nogil:
                self.accumulator.lock()
                topic.queues.queues[number].transaction_part = PART_ADDED
                self.accumulator.unlock()
        with nogil:
            self.accumulator.lock()
            self.accumulator.wake_sender()
            self.accumulator.unlock()
            self.network.wake()

    def leave_transaction(self):
        """The transaction is over: the next one knows no partition."""
        cdef Topic topic
        cdef int32_t i
        for topic in list(self.topics.values()):
            with nogil:
                self.accumulator.lock()
                for i in range(topic.queues.queue_count):
                    topic.queues.queues[i].transaction_part = PART_NOT_ADDED
                self.accumulator.unlock()

    def abort_undrained(self):
        """What has not left yet fails with RecordAborted."""
        self.fail(ERROR_ABORTED, False)

    def fail(self, int code, bint is_fatal):
        """Background: ends what is not in flight with an error of the producer; a fatal one ends what comes later too."""
        with nogil:
            self.accumulator.lock()
            if is_fatal:
                self.sender.fatal_error = code
            self.sender.fail_undrained(code)
            if self.accumulator.has_done:
                self.sender.tell_background(1)
            self.accumulator.unlock()


cdef void read_row(const BatchInput* batch, RecordView* record) noexcept nogil:
    cdef int64_t row = batch.row
    cdef int64_t start
    record.attributes = 0
    record.value = column_at(batch.values, row, &record.value_size)
    record.key = NULL
    record.key_size = -1
    if batch.keys != NULL:
        record.key = column_at(batch.keys, row, &record.key_size)
    record.header_count = 0
    record.headers = NULL
    record.headers_size = 0
    if batch.header_ends != NULL:
        if batch.one_header_for_all:
            row = 0
        start = batch.header_ends[row - 1] if row > 0 else 0
        record.header_count = batch.header_counts[row]
        record.headers = batch.header_bytes + start
        record.headers_size = <size_t>(batch.header_ends[row] - start)


cdef inline int64_t row_time(const BatchInput* batch) noexcept nogil:
    return batch.timestamp_ms if batch.timestamps == NULL else batch.timestamps[batch.row]


cdef AppendStatus append_rows(RecordAccumulator accumulator, Topic topic, BatchInput* batch, BatchFuture future,
                              bint is_compressed, int64_t now_ns, bint* wake) noexcept nogil:
    """As many rows as a spell of the mutex allows; APPENDED, or why the row at hand could not be appended."""
    cdef RecordView record
    cdef Placement placement
    cdef AppendStatus status
    cdef int32_t spell = ROWS_PER_SPELL
    cdef PartitionQueue* queue
    while batch.row < batch.count and spell > 0:
        read_row(batch, &record)
        batch.refused_bytes = (RECORD_IN_BATCH_OVERHEAD + record.headers_size + <size_t>max(record.key_size, 0)
                               + <size_t>max(record.value_size, 0))
        if batch.refused_bytes > batch.max_record_bytes:
            return APPEND_TOO_LARGE
        if batch.partition == PARTITION_NOT_CHOSEN and (record.key_size >= 0 or batch.chosen == PARTITION_NOT_CHOSEN
                                                        or accumulator.partitioner.kind != PARTITION_BUILT_IN):
            batch.chosen = choose_partition(&accumulator.partitioner, &topic.queues, record.key, record.key_size)
        status = accumulator.append(&topic.queues, batch.chosen, &record, row_time(batch), now_ns, batch.large_bytes,
                                    NULL, &placement)
        if status != APPENDED:
            return status
        wake[0] |= placement.wake
        if not placement.batch.is_open and batch.partition == PARTITION_NOT_CHOSEN and record.key_size < 0:
            # Without keys whole batches go to one partition after another.
            partition_was_used(&accumulator.partitioner, &topic.queues, 2 * accumulator.partitioner.sticky_bytes_max,
                               True)
            batch.chosen = PARTITION_NOT_CHOSEN
        if not future.add(placement.batch, placement.index, batch.call):
            return APPEND_NO_MEMORY
        if not is_compressed:
            batch_sum_ahead(placement.batch)
        batch.row += 1
        spell -= 1
    return APPENDED


cdef object tell_batch(done, on_delivery):
    error = done.exception(0)
    if error is None:
        on_delivery(done.result(0), None)
    else:
        on_delivery(None, error)


cdef inline AppendStatus append_locked(RecordAccumulator accumulator, Topic topic, int32_t partition, RecordView* record,
                                       int64_t timestamp_ms, int64_t clock_ns, size_t large_bytes, Waiter* waiter,
                                       Placement* placement, void* callback) noexcept nogil:
    """With the mutex held, which it gives back; the batch is held for the caller."""
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


cdef object intercepted(interceptors, on_delivery):
    def tell(metadata, error):
        interceptors.on_acknowledgement(metadata, error)
        if on_delivery is not None:
            on_delivery(metadata, error)
    return tell
