"""RecordReader: takes what was fetched, as records or as columns, on the thread of the application.

It waits without the GIL, and so are checksums and decompression. One answer at a time is being read; the mutex is taken
before and after it, not while it is read. Concurrency: one thread takes; what other threads do to a partition meanwhile
(seek, pause, unassign) shows with the next answer.
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
        """Makes the next answer that counts the current one; False when there is none."""
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
                # To where it stood: before all others.
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
        """Notes how far the current answer was read."""
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
        """Whether the driver is to look again, because room was made that it had waited for."""
        if not (self.is_starved and self.has_made_room):
            return False
        self.is_starved = self.has_made_room = False
        self.is_dirty = True
        return True

    cdef int wait_for_records(self, int64_t deadline_ns) except -1:
        """1 when there may be something now, 0 when the time is over.

        Who does not wait leaves the wakeup as it is: it may have been meant for more than records.
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
        """The next ConsumerRecords, at most so many; waits for the first one, and gives none when the time is over.

        Raises KafkaError when a batch cannot be read, with nothing before it that could be given.
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
        """The next records as RecordColumns, likewise; without `max_records` all that is there."""
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
            # A bad batch, or columns that are full.
            if status != FETCHED_DRAINED:
                break
        return columns

    def take_arrow(self, max_records=None, timeout_ms=0, *, bint include_headers=False):
        """`take_columns` for Arrow: what comes has `__arrow_c_array__` and `__arrow_c_stream__`."""
        return self.take_columns(max_records, timeout_ms, for_arrow=True, include_headers=include_headers)

    cdef object failure_of_current(self, FetchTarget* target):
        return fetched_error(self.current, f"{self.names[target.topic.handle]}-{target.index}")

    def let_go(self):
        """Frees what was fetched and is not read; for the end, once nothing more can be fetched."""
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
        """Ends a wait in `take_records` and its like before its time: they look again, and go on waiting if they may."""
        self.wakeup.notify()
