"""RecordReader: takes fetched data as records or columns, on the application's thread.

Waiting, checksums and decompression run without the GIL. The mutex is held before and after a response is read, not
during it. Concurrency: one thread takes records. If another thread changes a partition meanwhile (seek, pause,
unassign), the change applies from the next response on.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX, int32_t, int64_t
from kcore.client.consumer.consumer_record cimport take_records
from kcore.client.consumer.fetch_session cimport FetchTarget
from kcore.client.consumer.fetch_targets cimport FetchTargets, deadline_of
from kcore.client.consumer.fetched_partition cimport (
    FETCHED_BY_PYTHON, FETCHED_DRAINED, FetchedPartition, FetchedStatus, fetched_error, free_fetched_partition,
)
from kcore.client.consumer.record_columns cimport RecordColumns, take_into
from kcore.client.network.network_client cimport monotonic_ns
from kcore.client.network.wakeup cimport WAIT_INTERRUPTED, WAIT_TIMED_OUT, WaitOutcome
from kcore.platform.sync cimport pthread_mutex_lock, pthread_mutex_unlock


cdef class RecordReader(FetchTargets):
    def __dealloc__(self):
        if self.current != NULL:
            free_fetched_partition(self.current)

    cdef bint advance(self) noexcept nogil:
        """Make the next valid response the current one. Returns False if there is none."""
        cdef FetchTarget* target
        cdef bint wakes
        pthread_mutex_lock(&self.lock)
        while True:
            if self.current == NULL:
                self.current = self.dequeue()
                if self.current == NULL:
                    break
            target = <FetchTarget*>self.current.owner
            if self.current.generation != target.generation:
                self.throw_away(self.current)
            elif self.current.is_event:
                self.throw_away(self.current)
                self.post_event(target)
            elif target.is_paused:
                # Put it back at the head of the queue.
                self.current.next = self.first
                self.first = self.current
                if self.last == NULL:
                    self.last = self.current
            else:
                break
            self.current = NULL
        wakes = self.takes_back_starvation()
        pthread_mutex_unlock(&self.lock)
        if wakes:
            self.network.wake()
        return self.current != NULL

    cdef void settle(self, FetchedStatus status) noexcept nogil:
        """Update the partition's position after reading the current response; free the response if it is drained."""
        cdef FetchedPartition* fetched = self.current
        cdef FetchTarget* target
        cdef bint wakes
        pthread_mutex_lock(&self.lock)
        target = <FetchTarget*>fetched.owner
        if fetched.generation == target.generation:
            target.position = fetched.next_offset
            if fetched.next_epoch >= 0:
                target.position_epoch = fetched.next_epoch
        if status == FETCHED_DRAINED:
            self.throw_away(fetched)
            self.current = NULL
        wakes = self.takes_back_starvation()
        pthread_mutex_unlock(&self.lock)
        if wakes:
            self.network.wake()

    cdef bint takes_back_starvation(self) noexcept nogil:
        """Return whether the driver must look again, because the reader has made the room that it waits for."""
        if not (self.is_starved and self.has_made_room):
            return False
        self.is_starved = self.has_made_room = False
        self.is_dirty = True
        return True

    cdef int wait_for_records(self, int64_t deadline_ns) except -1:
        """Return 1 if there may be records now, 0 if the deadline has passed.

        If the deadline has passed already, the wakeup is not consumed: it may be meant for another purpose.
        """
        cdef WaitOutcome outcome
        if deadline_ns <= monotonic_ns():
            return 0
        with nogil:
            outcome = self.wakeup.wait(deadline_ns)
        if outcome == WAIT_INTERRUPTED:
            PyErr_CheckSignals()
        return outcome != WAIT_TIMED_OUT

    def take_records(self, Py_ssize_t max_records, timeout_ms=0):
        """Return at most `max_records` ConsumerRecords. Waits for the first one; empty after the timeout.

        Raises KafkaError if a batch cannot be read and there are no records before it.
        """
        cdef int64_t deadline_ns = deadline_of(timeout_ms)
        cdef list records = []
        cdef FetchedStatus status
        cdef FetchTarget* target
        cdef bint more
        while len(records) < max_records:
            with nogil:
                more = self.advance()
            if not more:
                if records or not self.wait_for_records(deadline_ns):
                    break
                continue
            target = <FetchTarget*>self.current.owner
            status = take_records(self.current, <str>self.names[target.topic.handle], target.index, max_records,
                                  records)
            with nogil:
                self.settle(status)
            if status > FETCHED_BY_PYTHON:
                if not records:
                    raise self.failure_of_current(target)
                break
        return records

    def take_columns(self, max_records=None, timeout_ms=0, *, bint for_arrow=False, bint include_headers=False):
        """Like `take_records`, but return RecordColumns. Without `max_records`, return all available records."""
        cdef RecordColumns columns = RecordColumns(for_arrow, include_headers)
        cdef int64_t limit = INT64_MAX if max_records is None else max_records
        cdef int64_t deadline_ns = deadline_of(timeout_ms)
        cdef FetchedStatus status
        cdef FetchTarget* target
        cdef bint more
        while columns.columns.rows < limit:
            with nogil:
                more = self.advance()
            if not more:
                if columns.columns.rows or not self.wait_for_records(deadline_ns):
                    break
                continue
            target = <FetchTarget*>self.current.owner
            status = take_into(columns, self.current, <str>self.names[target.topic.handle], target.index, limit)
            with nogil:
                self.settle(status)
            if status > FETCHED_BY_PYTHON and not columns.columns.rows:
                raise self.failure_of_current(target)
            # Neither more records than the limit nor records after a bad batch; or the columns are full.
            if status != FETCHED_DRAINED:
                break
        return columns

    def take_arrow(self, max_records=None, timeout_ms=0, *, bint include_headers=False):
        """`take_columns` for Arrow. The result supports `__arrow_c_array__` and `__arrow_c_stream__`."""
        return self.take_columns(max_records, timeout_ms, for_arrow=True, include_headers=include_headers)

    cdef object failure_of_current(self, FetchTarget* target):
        return fetched_error(self.current, f"{self.names[target.topic.handle]}-{target.index}")

    def let_go(self):
        """Free all fetched data. Call this at the end, when nothing more can be fetched."""
        cdef FetchedPartition* fetched
        with nogil:
            pthread_mutex_lock(&self.lock)
            if self.current != NULL:
                self.throw_away(self.current)
                self.current = NULL
            while self.first != NULL:
                fetched = self.first
                self.first = fetched.next
                self.throw_away(fetched)
            self.last = NULL
            pthread_mutex_unlock(&self.lock)

    def wake(self):
        """Wake a waiting `take_records`, `take_columns` or `take_arrow`. It looks again, and may wait further."""
        self.wakeup.notify()
