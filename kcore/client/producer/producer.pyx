"""Producer: publishes records to topics. Kafka's producer in Python.

    send, send_batch --> RecordAppender --> RecordAccumulator --> Sender (network thread) --> brokers
                         Background (its own thread): metadata, producer ids, transactions, callbacks

A call may wait for the metadata of a new topic and for room in `buffer.memory`, together at most `max.block.ms`. The
network thread and the background thread do everything else.

Concurrency: any number of threads may send at once (see record_appender.pyx).
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_CheckExact
from cpython.dict cimport PyDict_GetItem
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from kcore.client.network.network_client cimport NetworkClient, monotonic_ns
from kcore.client.network.encoded_request cimport ReplyQueue
from kcore.client.producer.batch_future cimport BatchFuture
from kcore.client.producer.batch_input cimport BatchInput
from kcore.client.producer.columns cimport (
    BytesColumn, HeadersColumn, LongColumn, bytes_column, headers_column, long_column,
)
from kcore.client.producer.partition_queue cimport partition_count_of
from kcore.client.producer.partitioner cimport PARTITION_NOT_CHOSEN, PARTITION_ROUND_ROBIN
from kcore.client.producer.producer_batch cimport ERROR_CLOSED
from kcore.client.producer.record_accumulator cimport RecordAccumulator, Topic
from kcore.client.producer.record_appender cimport RecordAppender
from kcore.client.producer.record_future cimport deliver
from kcore.client.producer.record_headers cimport as_bytes
from kcore.client.producer.sender cimport Sender
from kcore.client.producer.waiter cimport (
    Waiter, deadline_after, wait_for, waiter_close, waiter_join, waiter_leave, waiter_open,
)
from kcore.platform.sync cimport CLOCK_REALTIME, clock_gettime, timespec
from kcore.record.compression cimport CODEC_NONE

from kcore.client.config.client_config import ProducerConfig
from kcore.client.errors import ClientTimeout
from kcore.client.network.network_settings import network_of
from kcore.client.network.network_thread import NetworkThread
from kcore.client.producer.background import Background
from kcore.client.producer.delivery_errors import ProducerClosed
from kcore.client.producer.interceptors import ProducerInterceptors, ProducerRecord
from kcore.client.producer.partitioners import partitioner_of
from kcore.client.producer.sender import COMPRESSION_TYPES
from kcore.client.producer.sender_control import SenderControl
from kcore.client.producer.serializers import serializer_of
from kcore.client.producer.transaction_manager import InvalidTransactionState

LEVELS = {"gzip": "compression.gzip.level", "lz4": "compression.lz4.level", "zstd": "compression.zstd.level"}


cdef inline int64_t now_ms() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1_000_000


@cython.final
cdef class Producer:
    """Publishes records to the topics of a cluster.

    `config` has Kafka's names, `keywords` the same names with underscores. Both may be given. A producer has two
    threads: close it, or use it as a context manager.
    """

    cdef readonly object config
    cdef RecordAccumulator accumulator
    cdef RecordAppender appender
    cdef Sender sender
    cdef NetworkClient network
    cdef object thread
    cdef object background
    cdef object transactions             # the TransactionManager, or None
    cdef object key_serializer, value_serializer, interceptors, custom_partitioner
    cdef dict topics
    cdef str last_name
    cdef Topic last_topic
    cdef double max_block_ms
    cdef bint is_plain                   # bytes in, no interceptor, partitioner or transaction: the fast path
    cdef bint is_closed

    def __init__(self, config=None, **keywords):
        self.config = config = ProducerConfig.of(config, keywords)
        kind, self.custom_partitioner = partitioner_of(config["partitioner.class"])
        self.key_serializer = serializer_of("key.serializer", config["key.serializer"])
        self.value_serializer = serializer_of("value.serializer", config["value.serializer"])
        self.interceptors = ProducerInterceptors(config.objects("interceptor.classes"))
        self.topics = {}
        self.max_block_ms = config["max.block.ms"]
        self.accumulator = accumulator_of(config, kind)
        self.network = network_of(config)
        self.sender = sender_of(config, self.network, self.accumulator)
        self.appender = RecordAppender(
            self.accumulator,
            self.network,
            max_request_bytes=config["max.request.size"],
            max_block_ms=self.max_block_ms,
            needs_clock=kind == PARTITION_ROUND_ROBIN,
            is_compressed=self.sender.codec != CODEC_NONE,
        )
        control = SenderControl(self.accumulator, self.sender, self.network, self.topics)
        self.background = Background(control, self.flush, self.network, config)
        self.transactions = self.background.transactions
        self.is_plain = (self.key_serializer is None and self.value_serializer is None and not self.interceptors
                         and self.custom_partitioner is None and self.transactions is None)
        self.start()

    cdef int start(self) except -1:
        self.sender.background = (<ReplyQueue>self.background.replies).wakeup
        self.sender.start()
        self.thread = NetworkThread(self.network)
        self.thread.start()
        self.background.start()
        return 0

    # --- Sending -----------------------------------------------------------------------------------------------------

    def send(self, str topic not None, value=None, *, key=None, headers=None, partition=None, timestamp=None,
             on_delivery=None):
        """Append one record and return its future. Waits only for room or for a topic's metadata.

        `value` and `key` are None, bytes, or the type that their serializers take. `headers` are pairs of a name and
        bytes, or a dictionary. `timestamp` is in milliseconds. Default: now. `on_delivery(metadata, error)` is called
        on the background thread. Raises RecordTooLarge, ClientTimeout after max.block.ms, ProducerClosed, or a
        broker's error for the topic.
        """
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
        return self.appender.append(owner, target, key_bytes, value_bytes, headers, timestamp_ms, on_delivery)

    cdef object send_prepared(self, str topic, value, key, headers, partition, timestamp, on_delivery):
        """`send` with interceptors, serializers, a custom partitioner or a transaction."""
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
        return self.appender.append(owner, target, key_bytes, value_bytes, headers, timestamp_ms, on_delivery)

    cdef Topic topic_of(self, str name, double timeout_ms):
        """Return the topic's queues. Waits for the metadata of a new topic."""
        cdef void* found = <void*>PyDict_GetItem(self.topics, name)
        cdef Topic topic
        if found != NULL:
            topic = <Topic>found
            if partition_count_of(&topic.queues) > 0:
                self.last_name = name
                self.last_topic = topic
                return topic
        if self.is_closed:
            raise ProducerClosed("the producer is closed. Create a new one")
        self.background.await_topic(name, 0, timeout_ms)
        return self.topics[name]

    cdef int32_t checked_partition(self, Topic topic, partition) except -2:
        cdef int64_t wanted = partition
        if wanted < 0:
            raise ValueError(f"Invalid partition: {partition}. Partition number should always be non-negative or null.")
        if wanted >= partition_count_of(&topic.queues):
            self.background.await_topic(topic.name, min(wanted, <int64_t>INT32_MAX), self.max_block_ms)
        return <int32_t>wanted

    def send_batch(self, str topic not None, values, *, keys=None, headers=None, partition=None, timestamps=None,
                   on_delivery=None):
        """Append many records and return one future for all of them.

        `values` and `keys` are lists of bytes or None, buffers of fixed width (NumPy's S and V types, or two dimensions
        of bytes), or Arrow arrays of binary or string type. `timestamps` are milliseconds: one number for all records,
        or one each (list, int64). `headers` are a dictionary for all records, or one entry each, which may be None.
        Without keys and `partition`, whole batches of up to max.request.size go to one partition after another.
        `on_delivery(ranges, error)` is called once, with a list of DeliveredRange. Serializers, interceptors and custom
        partitioners are not used.
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
        self.appender.append_all(owner, &batch, future)
        if on_delivery is not None:
            future.add_done_callback(lambda done: report_batch(done, on_delivery))
        return future

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
        """Call this before the first transaction.

        Fences earlier producers with the same transactional.id and ends their transactions.
        """
        self.transactional().init()

    def begin_transaction(self):
        """Begin a transaction: all records until `commit_transaction` or `abort_transaction` belong to it."""
        self.transactional().begin()

    def send_offsets_to_transaction(self, offsets, group_metadata):
        """Add offsets to the transaction. They are committed for the group together with the transaction.

        `offsets` maps TopicPartitions to numbers or OffsetAndMetadata. `group_metadata` is a consumer's, or a group id.
        """
        self.transactional().send_offsets(offsets, group_metadata)

    def commit_transaction(self):
        """Flush and commit. Raises the error of a failed record; then the transaction can only be aborted."""
        self.transactional().commit()

    def abort_transaction(self):
        """Drop unsent records and abort the transaction. Consumers with read_committed skip the sent records."""
        self.transactional().abort()

    # --- Waiting and ending ------------------------------------------------------------------------------------------

    def takes_at_once(self, str topic not None):
        """Return whether `send` would not wait: the topic is known, and there is room for two more batches."""
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
        """Return the state of each connection. Any thread may call this."""
        from kcore.client.network.connection_state import connection_states

        return connection_states(self.network)

    def partitions_for(self, str topic not None):
        """Return the topic's partitions. Waits at most max.block.ms for metadata."""
        cdef Topic known = self.topic_of(topic, self.max_block_ms)
        return list(range(partition_count_of(&known.queues)))

    def flush(self, timeout=None):
        """Send all records without lingering. Waits until each is acknowledged or failed and its callback has run.

        Waits at most `timeout` seconds, then raises ClientTimeout. Default: no limit.
        """
        cdef RecordAccumulator accumulator = self.accumulator
        cdef int64_t deadline_ns = deadline_after(None if timeout is None else timeout * 1000)
        cdef int64_t number
        cdef Waiter waiter
        cdef bint is_flushed
        cdef bint has_time = True
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
                if not has_time:
                    raise ClientTimeout(
                        f"{self.pending} batches are not acknowledged after {timeout} s. Check the brokers, or raise the timeout"
                    )
                has_time = wait_for(&waiter, deadline_ns)
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
        """Deliver the remaining records and close the connections. A second call does nothing.

        Records that are not delivered within `timeout` seconds fail. Default: no limit.
        """
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
        """End both threads. Records that are not delivered yet fail."""
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
        """Close the producer. After an exception it does not wait for deliveries."""
        self.close(None if kind is None else 0)

    @property
    def pending(self):
        """Number of batches that are neither acknowledged nor failed."""
        cdef int64_t count
        with nogil:
            self.accumulator.lock()
            count = self.accumulator.incomplete_count
            self.accumulator.unlock()
        return count

    @property
    def live_buffers(self):
        """Number of buffers of `buffer.memory` in use: 0 once all records are delivered."""
        cdef int64_t count
        with nogil:
            self.accumulator.lock()
            count = self.accumulator.live_batches
            self.accumulator.unlock()
        return count


cdef RecordAccumulator accumulator_of(config, int partitioner):
    """Create the accumulator for a producer's configuration."""
    return RecordAccumulator(
        batch_size=config["batch.size"],
        buffer_memory=config["buffer.memory"],
        linger_ms=config["linger.ms"] if config.is_set("linger.ms") else None,
        delivery_timeout_ms=config["delivery.timeout.ms"],
        retry_backoff_ms=config["retry.backoff.ms"],
        retry_backoff_max_ms=config["retry.backoff.max.ms"],
        partitioner=partitioner,
        ignore_keys=config["partitioner.ignore.keys"],
        adaptive=config["partitioner.adaptive.partitioning.enable"],
        seed=monotonic_ns(),
    )


cdef Sender sender_of(config, NetworkClient network, RecordAccumulator accumulator):
    """Create the sender for a producer's configuration."""
    compression = config["compression.type"]
    level = LEVELS.get(compression)
    return Sender(
        network,
        accumulator,
        client_id=config["client.id"],
        transactional_id=config["transactional.id"],
        acks=-1 if config["acks"] == "all" else int(config["acks"]),
        codec=COMPRESSION_TYPES.index(compression),
        level=None if level is None else config[level],
        request_timeout_ms=config["request.timeout.ms"],
        max_in_flight=config["max.in.flight.requests.per.connection"],
        retries=config["retries"],
        max_request_size=config["max.request.size"],
        idempotent=config["enable.idempotence"],
        availability_timeout_ms=config["partitioner.availability.timeout.ms"],
    )


cdef object report_batch(done, on_delivery):
    error = done.exception(0)
    if error is None:
        on_delivery(done.result(0), None)
    else:
        on_delivery(None, error)


cdef object intercepted(interceptors, on_delivery):
    def report(metadata, error):
        interceptors.on_acknowledgement(metadata, error)
        if on_delivery is not None:
            on_delivery(metadata, error)
    return report
