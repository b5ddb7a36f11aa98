"""Implementation of RecordFuture and RecordMetadata; see record_future.pxd."""

cimport cython
from cpython.exc cimport PyErr_SetObject, PyErr_WriteUnraisable
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport INT64_MAX, int32_t, int64_t
from kcore.client.network.network_client cimport monotonic_ns
from kcore.client.producer.producer_batch cimport (
    CALLBACK_DELIVERY, CALLBACK_FUTURE, ERROR_ABORTED, ERROR_CLOSED, ERROR_DELIVERY_TIMEOUT, ERROR_NO_MEMORY,
    ERROR_RECORD_REFUSED, NO_TIMESTAMP, OUTCOME_ACKNOWLEDGED, OUTCOME_PENDING, ProducerBatch, RecordCallback,
    batch_add_callback, batch_hold, batch_holding, batch_release,
)
from kcore.client.producer.record_accumulator cimport RecordAccumulator, Topic
from kcore.client.producer.waiter cimport Waiter, wait_for, waiter_close, waiter_join, waiter_leave, waiter_open
from kcore.platform.sync cimport atomic_load_32

from kcore.client.producer.delivery_errors import local_error, refused_record_error
from kcore.client.errors import ClientTimeout, broker_error

cdef double LONGEST_WAIT_S = 1e9


@cython.final
@cython.freelist(64)
cdef class RecordMetadata:
    """Position of an acknowledged record. The timestamp is in milliseconds.

    The offset is -1 with acks=0, or if the broker no longer knew it.
    """

    def __repr__(self):
        return (f"RecordMetadata(topic={self.topic!r}, partition={self.partition}, offset={self.offset}, "
                f"timestamp={self.timestamp})")

    def __eq__(self, other):
        if not isinstance(other, RecordMetadata):
            return NotImplemented
        return (self.topic, self.partition, self.offset, self.timestamp) == (
            other.topic, other.partition, other.offset, other.timestamp)

    def __hash__(self):
        return hash((self.topic, self.partition, self.offset))


cdef object metadata_of(const ProducerBatch* batch, int32_t index, str topic, int64_t timestamp_ms, int32_t key_size,
                        int32_t value_size):
    cdef RecordMetadata metadata = RecordMetadata.__new__(RecordMetadata)
    metadata.topic = topic
    metadata.partition = batch.partition
    metadata.offset = batch.base_offset + index if batch.base_offset >= 0 else -1
    metadata.timestamp = batch.log_append_time_ms if batch.log_append_time_ms != NO_TIMESTAMP else timestamp_ms
    metadata.serialized_key_size = key_size
    metadata.serialized_value_size = value_size
    return metadata


cdef object error_of(const ProducerBatch* batch, int32_t index, str topic):
    """Return the exception for a record of a failed batch."""
    cdef str subject = f"{topic}-{batch.partition}"
    cdef str text = None
    cdef int32_t i
    if batch.error_code < -1:
        return local_error(batch.error_code, subject)
    if batch.error_text_size >= 0:
        text = batch.error_text[:batch.error_text_size].decode("utf-8", "replace")
    for i in range(batch.refused_count):
        if batch.refused[i].index == index:
            if batch.refused[i].text_size >= 0:
                text = batch.refused[i].text[:batch.refused[i].text_size].decode("utf-8", "replace")
            return refused_record_error(batch.error_code, subject, text, batch.refused_count)
    if batch.refused_count > 0:
        return local_error(ERROR_RECORD_REFUSED, subject)
    return broker_error(batch.error_code, subject, text)


cdef object outcome_of(ProducerBatch* batch, int32_t index, str topic, int64_t timestamp_ms, int32_t key_size,
                       int32_t value_size):
    batch = batch_holding(batch, &index)
    if batch.outcome == OUTCOME_ACKNOWLEDGED:
        return metadata_of(batch, index, topic, timestamp_ms, key_size, value_size)
    return error_of(batch, index, topic)


cdef void report(object callback, object error):
    """Report a callback's exception through sys.unraisablehook."""
    PyErr_SetObject(type(error), error)
    PyErr_WriteUnraisable(callback)


cdef int call_each(list callbacks, object future) except -1:
    for callback in callbacks or ():
        try:
            callback(future)
        except BaseException as error:
            report(callback, error)
    return 0


@cython.final
@cython.freelist(256)
@cython.no_gc
cdef class RecordFuture:
    """The result of a sent record."""

    def __init__(self):
        raise TypeError("futures are made by Producer.send")

    def __dealloc__(self):
        if self.batch != NULL:
            batch_release(self.batch)

    def done(self):
        """Return whether the record is acknowledged or failed."""
        cdef int32_t index = self.index
        return atomic_load_32(&batch_holding(self.batch, &index).outcome) != OUTCOME_PENDING

    def cancel(self):
        """Always return False: a sent record cannot be cancelled."""
        return False

    def cancelled(self):
        return False

    def running(self):
        return not self.done()

    def result(self, timeout=None):
        """Wait for the record's RecordMetadata, at most `timeout` seconds (TimeoutError). Raises the record's error."""
        if not self.wait(timeout):
            raise TimeoutError(f"{self.topic.name}: not acknowledged within {timeout} s")
        outcome = self.outcome()
        if isinstance(outcome, RecordMetadata):
            return outcome
        raise outcome

    def exception(self, timeout=None):
        """Wait like `result`. Returns the record's exception, or None if it was acknowledged."""
        if not self.wait(timeout):
            raise TimeoutError(f"{self.topic.name}: not acknowledged within {timeout} s")
        outcome = self.outcome()
        return None if isinstance(outcome, RecordMetadata) else outcome

    def add_done_callback(self, callback):
        """Call `callback(future)` once, on the producer's background thread; at once if the record is done."""
        cdef ProducerBatch* batch
        cdef int32_t index
        cdef RecordAccumulator accumulator = self.topic.accumulator
        cdef bint is_pending, is_added = True
        is_first = self.callbacks is None
        if is_first:
            self.callbacks = []
        self.callbacks.append(callback)
        if not is_first:
            if self.done():
                self.run_callbacks()
            return
        Py_INCREF(self)
        with nogil:
            accumulator.lock()
            index = self.index
            batch = batch_holding(self.batch, &index)
            is_pending = batch.outcome == OUTCOME_PENDING
            if is_pending:
                is_added = batch_add_callback(batch, <void*>self, CALLBACK_FUTURE, index, 0, 0, 0)
            accumulator.unlock()
        if is_pending and is_added:
            return
        Py_DECREF(self)
        if not is_added:
            raise MemoryError
        self.run_callbacks()

    def run_callbacks(self):
        """Internal. Run the pending callbacks."""
        callbacks, self.callbacks = self.callbacks, []
        call_each(callbacks, self)

    def __await__(self):
        import asyncio
        if not self.done():
            loop = asyncio.get_running_loop()
            waiting = loop.create_future()

            def wake(_):
                loop.call_soon_threadsafe(settle)

            def settle():
                if not waiting.done():
                    waiting.set_result(None)

            self.add_done_callback(wake)
            yield from waiting
        return self.result(0)

    cdef bint wait(self, object timeout) except -1:
        cdef RecordAccumulator accumulator = self.topic.accumulator
        cdef ProducerBatch* batch
        cdef int64_t deadline_ns = INT64_MAX
        cdef int32_t index
        cdef Waiter waiter
        cdef bint is_pending = True
        cdef bint is_told = True
        if self.done():
            return True
        if timeout is not None:
            deadline_ns = monotonic_ns() + <int64_t>(min(max(timeout, 0), LONGEST_WAIT_S) * 1e9)
        waiter_open(&waiter)
        try:
            while is_told:
                with nogil:
                    accumulator.lock()
                    index = self.index
                    batch = batch_holding(self.batch, &index)
                    is_pending = batch.outcome == OUTCOME_PENDING
                    if is_pending:
                        waiter.subject = batch
                        waiter_join(&accumulator.result_waiters, &waiter)
                    accumulator.unlock()
                if not is_pending:
                    return True
                try:
                    is_told = wait_for(&waiter, deadline_ns)
                finally:
                    with nogil:
                        accumulator.lock()
                        waiter_leave(&accumulator.result_waiters, &waiter)
                        accumulator.unlock()
            return self.done()
        finally:
            waiter_close(&waiter)

    cdef object outcome(self):
        return outcome_of(self.batch, self.index, self.topic.name, self.timestamp_ms, self.key_size, self.value_size)

    def __repr__(self):
        if not self.done():
            return f"<RecordFuture of {self.topic.name} pending>"
        return f"<RecordFuture {self.outcome()!r}>"


cdef RecordFuture future_new(ProducerBatch* batch, int32_t index, Topic topic, int64_t timestamp_ms, int32_t key_size,
                             int32_t value_size):
    cdef RecordFuture future = RecordFuture.__new__(RecordFuture)
    future.batch = batch
    future.index = index
    future.topic = topic
    future.timestamp_ms = timestamp_ms
    future.key_size = key_size
    future.value_size = value_size
    return future


cdef tell(const ProducerBatch* batch, const RecordCallback* callback, str topic):
    """Run one record's callback. Its exceptions are reported and stop nothing."""
    cdef object target = <object>callback.target
    try:
        if callback.kind == CALLBACK_FUTURE:
            (<RecordFuture>target).run_callbacks()
        elif batch.outcome == OUTCOME_ACKNOWLEDGED:
            target(metadata_of(batch, callback.index, topic, callback.timestamp_ms, callback.key_size,
                               callback.value_size), None)
        else:
            target(None, error_of(batch, callback.index, topic))
    except BaseException as error:
        report(target, error)


cdef int deliver(RecordAccumulator accumulator) except -1:
    cdef ProducerBatch* batch
    cdef int32_t i
    cdef int count = 0
    while True:
        with nogil:
            accumulator.lock()
            batch = accumulator.take_done()
            accumulator.unlock()
        if batch == NULL:
            return count
        topic = accumulator.topic_name(batch)
        for i in range(batch.callback_count):
            tell(batch, &batch.callbacks[i], topic)
            Py_DECREF(<object>batch.callbacks[i].target)
        batch.callback_count = 0
        with nogil:
            accumulator.lock()
            accumulator.delivered(batch)
            accumulator.unlock()
            batch_release(batch)
        count += 1
