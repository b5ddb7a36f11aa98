"""Implementation of BatchFuture; see batch_future.pxd."""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, realloc
from kcore.client.producer.producer_batch cimport (
    OUTCOME_FAILED, OUTCOME_PENDING, OUTCOME_SPLIT, ProducerBatch, batch_hold, batch_holding, batch_release,
)
from kcore.client.producer.record_accumulator cimport Topic
from kcore.client.producer.record_future cimport RecordFuture, call_each, future_new
from kcore.platform.sync cimport atomic_load_32

from typing import NamedTuple


class DeliveredRange(NamedTuple):
    """Consecutive records of one `send_batch` in a partition.

    Records that other threads sent to the partition at the same time may be between them.
    """

    partition: int
    first_offset: int
    record_count: int


class FailedRange(NamedTuple):
    """Records of one `send_batch` that failed together."""

    partition: int
    record_count: int
    error: Exception


cdef ProducerBatch* leaf_with(ProducerBatch* batch, int32_t outcome) noexcept nogil:
    """Return a batch with this outcome among the parts of a batch, or the batch itself if not split; NULL if none."""
    cdef int32_t found = atomic_load_32(&batch.outcome)
    cdef ProducerBatch* leaf
    cdef int32_t i
    if found != OUTCOME_SPLIT:
        return batch if found == outcome else NULL
    for i in range(batch.children_count):
        leaf = leaf_with(batch.children[i], outcome)
        if leaf != NULL:
            return leaf
    return NULL


@cython.final
cdef class BatchFuture:
    """The result of one `send_batch`."""

    def __init__(self):
        raise TypeError("futures are made by Producer.send_batch")

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.part_count):
            batch_release(self.parts[i].batch)
        free(self.parts)

    cdef bint add(self, ProducerBatch* batch, int32_t index, int64_t call) noexcept nogil:
        """Count a record and hold its batch once. Called for every record, under the accumulator's mutex."""
        cdef BatchPart* parts
        cdef int64_t capacity
        self.record_count += 1
        if batch.call == call:
            self.parts[batch.call_part].count += 1
            return True
        if self.part_count == self.part_capacity:
            capacity = max(self.part_capacity * 2, <int64_t>8)
            parts = <BatchPart*>realloc(self.parts, <size_t>capacity * sizeof(BatchPart))
            if parts == NULL:
                return False
            self.parts = parts
            self.part_capacity = capacity
        batch_hold(batch)
        batch.call = call
        batch.call_part = self.part_count
        self.parts[self.part_count].batch = batch
        self.parts[self.part_count].first_index = index
        self.parts[self.part_count].count = 1
        self.part_count += 1
        return True

    cdef RecordFuture leaf(self, int64_t number, int32_t outcome):
        """Return the future of a record in a part with this outcome; None if there is none."""
        cdef ProducerBatch* batch = leaf_with(self.parts[number].batch, outcome)
        cdef int32_t index
        if batch == NULL:
            return None
        # A pending batch may complete at any time.
        index = batch.refused[0].index if outcome == OUTCOME_FAILED and batch.refused_count > 0 else 0
        batch_hold(batch)
        return future_new(batch, index, self.topic, 0, -1, -1)

    def done(self):
        """Return whether every record is acknowledged or failed."""
        while self.told < self.part_count and leaf_with(self.parts[self.told].batch, OUTCOME_PENDING) == NULL:
            self.told += 1
        return self.told == self.part_count

    def cancel(self):
        """Always return False: a sent record cannot be cancelled."""
        return False

    def cancelled(self):
        return False

    cdef int wait(self, timeout) except -1:
        cdef RecordFuture pending
        from time import monotonic
        deadline = None if timeout is None else monotonic() + timeout
        while not self.done():
            pending = self.leaf(self.told, OUTCOME_PENDING)
            if pending is not None:
                if not pending.wait(None if deadline is None else max(deadline - monotonic(), 0)):
                    raise TimeoutError(f"{self.topic.name}: not acknowledged within {timeout} s")
        return 0

    def result(self, timeout=None):
        """Wait until every record is done, and return a list of DeliveredRange.

        Waits at most `timeout` seconds in total, then raises TimeoutError. Raises the first failure; other records may
        have been written.
        """
        cdef list ranges = []
        cdef int64_t i
        cdef int32_t index
        cdef ProducerBatch* batch
        error = self.exception(timeout)
        if error is not None:
            raise error
        for i in range(self.part_count):
            index = self.parts[i].first_index
            batch = batch_holding(self.parts[i].batch, &index)
            offset = batch.base_offset + index if batch.base_offset >= 0 else -1
            ranges.append(DeliveredRange(batch.partition, offset, self.parts[i].count))
        return ranges

    def exception(self, timeout=None):
        """Wait like `result`, and return the first failure or None."""
        cdef RecordFuture failed
        cdef int64_t i
        self.wait(timeout)
        for i in range(self.part_count):
            failed = self.leaf(i, OUTCOME_FAILED)
            if failed is not None:
                return failed.exception(0)
        return None

    def failures(self, timeout=None):
        """Wait like `result`, and return the failed records with their errors as a list of FailedRange."""
        cdef list failed = []
        cdef BatchPart* part
        cdef ProducerBatch* batch
        cdef ProducerBatch* previous
        cdef int64_t i
        cdef int32_t first, number, index
        self.wait(timeout)
        for i in range(self.part_count):
            part = &self.parts[i]
            if leaf_with(part.batch, OUTCOME_FAILED) == NULL:
                continue
            previous = NULL
            first = part.first_index
            for number in range(first, first + part.count):
                index = number
                batch = batch_holding(part.batch, &index)
                if batch.outcome != OUTCOME_FAILED:
                    previous = NULL
                elif batch == previous and batch.refused_count == 0:
                    partition, count, error = failed.pop()
                    failed.append(FailedRange(partition, count + 1, error))
                else:
                    batch_hold(batch)
                    error = future_new(batch, index, self.topic, 0, -1, -1).exception(0)
                    failed.append(FailedRange(batch.partition, 1, error))
                    previous = batch
        return failed

    def add_done_callback(self, callback):
        """Call `callback(future)` when every record is done, on the background thread; at once if they are done."""
        if self.callbacks is None:
            self.callbacks = []
        self.callbacks.append(callback)
        if len(self.callbacks) == 1:
            self.watch()
        elif self.done():
            self.run_callbacks()

    def watch(self, _=None):
        """Internal. Wait for the first batch that is not done, and run the callbacks when all are done."""
        cdef RecordFuture pending = None
        while pending is None:
            if self.done():
                self.run_callbacks()
                return
            pending = self.leaf(self.told, OUTCOME_PENDING)
        pending.add_done_callback(self.watch)

    def run_callbacks(self):
        """Internal. Run the pending callbacks."""
        callbacks, self.callbacks = self.callbacks, []
        call_each(callbacks, self)

    def __await__(self):
        import asyncio
        if not self.done():
            loop = asyncio.get_running_loop()
            waiting = loop.create_future()

            def settle():
                if not waiting.done():
                    waiting.set_result(None)

            self.add_done_callback(lambda _: loop.call_soon_threadsafe(settle))
            yield from waiting
        return self.result(0)

    def __len__(self):
        return self.record_count

    def __repr__(self):
        return f"<BatchFuture of {self.record_count} records to {self.topic.name} {'done' if self.done() else 'pending'}>"
