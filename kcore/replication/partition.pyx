"""One replica of a partition: leadership, ISR and high watermark over a Log (Kafka's `Partition`).

Concurrency: an append holds `leader_lock` for reading until it is written, and a change of leadership holds it for
writing, so that no append of an old epoch follows the change. A read holds it only while it checks leadership and epoch
(`check_leadership`), and reads the log afterwards. If leadership changes in between, the read still returns what is in
the log, or NOT_LEADER_OR_FOLLOWER once the log is closed. Lock order: leader_lock before the log's locks. Operations
that wait in a purgatory are completed after leader_lock is released. Nothing on the produce and fetch path needs the
GIL.

The high watermark is the smallest log end offset of the in-sync replicas. If this broker is alone in the ISR, that is
its own log end offset. With `log.flush.group.commit` the leader counts only its flushed records: consumers never see a
record that a loss of power could take back. (With flush.messages=1 the flush also comes before the append is
published.)
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from kcore.errors cimport (
    CORRUPT_MESSAGE, FENCED_LEADER_EPOCH, KAFKA_STORAGE_ERROR, NONE, NOT_ENOUGH_REPLICAS,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND, NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE, UNKNOWN_LEADER_EPOCH,
)
from kcore.metrics.topic_counters cimport topic_counters_add
from kcore.platform.sync cimport (
    atomic_add_32, atomic_add_64, atomic_load_32, pthread_rwlock_destroy, pthread_rwlock_init, pthread_rwlock_rdlock,
    pthread_rwlock_unlock, pthread_rwlock_wrlock,
)
from kcore.purgatory.purgatory cimport Purgatory
from kcore.record.batch cimport ReceivedBatch, batch_over
from kcore.record.record_errors cimport (
    RECORD_ERRORS_SIZE_MAX, RecordErrors, describe_record_error, describe_record_errors, record_errors_free,
)
from kcore.record.validator cimport ORIGIN_CLIENT, ORIGIN_COORDINATOR, ValidationResult, free_validation_result
from kcore.replication.partition_watch cimport (
    PartitionWatch, watchers_add, watchers_destroy, watchers_dismiss, watchers_dismissed, watchers_init,
    watchers_remove, watchers_tell,
)
from kcore.storage.leader_epoch_cache cimport EpochEntry
from kcore.storage.log cimport AppendResult, Log, ReadResult
from kcore.storage.log_append cimport append_as_leader, validate_for_leader
from kcore.storage.log_flush cimport flush_log
from kcore.storage.log_read cimport read_log, release_read
from kcore.storage.segment cimport segment_note_unreadable

cdef enum:
    ALL_REPLICAS = -1

cdef uint64_t last_key = 0


class AppendOutcome:
    """The result of an append: `error` is a wire code, offsets are -1 if nothing was written, `record_errors` has the
    index and the message of each invalid record."""

    __slots__ = ("base_offset", "duplicate", "error", "last_offset", "log_append_time_ms", "log_start_offset",
                 "message", "record_count", "record_errors")


class FetchOutcome:
    """The result of a read: `error` is a wire code, `records` the raw batches. `diverging_epoch` is the latest epoch
    that the requester's log and this one share, with its end offset here; None if they do not diverge.
    `aborted_transactions` has the producer ids and first offsets of the aborted transactions with records in
    `records`, for read_committed."""

    __slots__ = ("aborted_transactions", "diverging_epoch", "error", "high_watermark", "last_stable_offset",
                 "log_end_offset", "log_start_offset", "position", "records", "segment_base_offset")


cdef class Partition:
    """A partition of which this broker holds a replica.

    Parameters: `log` is the replica's log; `fetch_purgatory` and `produce_purgatory` hold the requests that wait for
    it. Call `make_leader` to serve it.
    """

    def __cinit__(self):
        pthread_rwlock_init(&self.leader_lock, NULL)
        watchers_init(&self.watchers)
        self.current_leader_id = -1
        self.current_leader_epoch = -1
        self.min_in_sync = 1

    def __init__(self, str topic not None, int index, bytes topic_id not None, Log log not None, int local_broker_id,
                 Purgatory fetch_purgatory not None, Purgatory produce_purgatory not None, bint is_internal=False):
        global last_key
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.local_broker_id = local_broker_id
        self.is_internal = is_internal
        self.fetch_purgatory = fetch_purgatory
        self.produce_purgatory = produce_purgatory
        self.replica_ids = []
        self.in_sync_ids = []
        topic_counters_add(&self.appended_before, &log.appended, 1)
        last_key += 1
        self.key = last_key
        with nogil:
            log.tell_of_flushes(<void*>self, tell_of_flush)

    def __dealloc__(self):
        # The log does not call this object any more: `close` was called here or on the log.
        free(self.remotes)
        watchers_destroy(&self.watchers)
        pthread_rwlock_destroy(&self.leader_lock)

    # --- leadership -------------------------------------------------------------------------------------------------

    def make_leader(self, int leader_epoch, list replicas not None, list in_sync not None, int min_in_sync):
        """Makes this replica the leader. The epoch `leader_epoch` starts at the log end offset (LeaderAndIsr)."""
        cdef list others = [broker for broker in replicas if broker != self.local_broker_id]
        cdef RemoteReplica* remotes = <RemoteReplica*>calloc(max(1, len(others)), sizeof(RemoteReplica))
        cdef RemoteReplica* old
        cdef int position
        if remotes == NULL:
            raise MemoryError
        for position, broker in enumerate(others):
            remotes[position].broker_id = broker
            remotes[position].in_sync = broker in in_sync
            remotes[position].log_end_offset = -1
        cdef int32_t count = len(others)
        cdef int32_t in_sync_count = len(in_sync)
        with nogil:
            pthread_rwlock_wrlock(&self.leader_lock)
            if leader_epoch > self.current_leader_epoch:
                # Under the lock: no record of the old epoch may follow the start of the new one.
                self.log.leader_epochs.assign(leader_epoch, self.log.log_end_offset())
            old = self.remotes
            self.remotes = remotes
            self.remote_count = count
            self.in_sync_count = in_sync_count
            self.min_in_sync = min_in_sync
            self.current_leader_id = self.local_broker_id
            self.current_leader_epoch = leader_epoch
            self.leads = True
            pthread_rwlock_unlock(&self.leader_lock)
            free(old)
        self.replica_ids = list(replicas)
        self.in_sync_ids = list(in_sync)
        with nogil:
            self.advance_high_watermark()
            self.wake_waiters()
            # Records that a crash left unflushed become visible after this flush.
            self.log.request_commit()

    def set_min_in_sync(self, int count):
        """Sets `min.insync.replicas`."""
        with nogil:
            pthread_rwlock_wrlock(&self.leader_lock)
            self.min_in_sync = count
            pthread_rwlock_unlock(&self.leader_lock)

    def close(self):
        """Ends the partition on this broker: waiting requests are answered with NOT_LEADER_OR_FOLLOWER."""
        with nogil:
            pthread_rwlock_wrlock(&self.leader_lock)
            self.leads = False
            self.closed = True
            pthread_rwlock_unlock(&self.leader_lock)
            self.fetch_purgatory.cancel(self.key)
            # Do not cancel: a produce may wait for other partitions too.
            self.produce_purgatory.check_and_complete(self.key)
            self.log.stop_telling(<void*>self)
            watchers_dismiss(&self.watchers, self.fetch_purgatory)

    cdef int16_t check_leadership(self, int32_t leader_epoch) noexcept nogil:
        cdef int16_t error = NONE
        pthread_rwlock_rdlock(&self.leader_lock)
        if not self.leads:
            error = NOT_LEADER_OR_FOLLOWER
        elif leader_epoch != NO_LEADER_EPOCH and leader_epoch != self.current_leader_epoch:
            error = FENCED_LEADER_EPOCH if leader_epoch < self.current_leader_epoch else UNKNOWN_LEADER_EPOCH
        pthread_rwlock_unlock(&self.leader_lock)
        return error

    # --- appending --------------------------------------------------------------------------------------------------

    cdef int16_t append_to_leader(self, const ReceivedBatch* batch, int16_t acks, int origin,
                                  ValidationResult* validated, AppendResult* result) noexcept nogil:
        cdef int16_t error
        pthread_rwlock_rdlock(&self.leader_lock)
        if not self.leads:
            error = NOT_LEADER_OR_FOLLOWER
        elif acks == -1 and self.in_sync_count < self.min_in_sync:
            error = NOT_ENOUGH_REPLICAS
        else:
            error = append_as_leader(self.log, batch, self.current_leader_epoch, origin, validated, result)
            pthread_rwlock_unlock(&self.leader_lock)
            # Also for a duplicate: its response may wait for an offset that the first append has not published yet.
            if error == NONE and self.advance_high_watermark():
                self.wake_waiters()
            return error
        pthread_rwlock_unlock(&self.leader_lock)
        set_append_error(result, error)
        atomic_add_64(&self.served.produce_requests, 1)
        if error == NOT_ENOUGH_REPLICAS:
            atomic_add_64(&self.served.failed_produce_requests, 1)
        return error

    cdef bint advance_high_watermark(self) noexcept nogil:
        cdef int64_t smallest = self.log.acknowledged_end()
        cdef int32_t position
        pthread_rwlock_rdlock(&self.leader_lock)
        for position in range(self.remote_count):
            if self.remotes[position].in_sync and self.remotes[position].log_end_offset < smallest:
                smallest = self.remotes[position].log_end_offset
        cdef bint moved = self.leads and self.log.advance_high_watermark(smallest)
        pthread_rwlock_unlock(&self.leader_lock)
        return moved

    cdef void wake_waiters(self) noexcept nogil:
        self.fetch_purgatory.check_and_complete(self.key)
        watchers_tell(&self.watchers, self.fetch_purgatory)
        if self.remote_count > 0:  # alone in the ISR no request waits for replication
            self.produce_purgatory.check_and_complete(self.key)

    cdef bint watch(self, PartitionWatch* watch) noexcept nogil:
        return watchers_add(&self.watchers, watch)

    cdef void unwatch(self, PartitionWatch* watch) noexcept nogil:
        watchers_remove(&self.watchers, watch)

    cdef bint has_left(self) noexcept nogil:
        return watchers_dismissed(&self.watchers)

    cdef bint is_replicated_to(self, int64_t offset, int16_t* error) noexcept nogil:
        error[0] = NONE
        pthread_rwlock_rdlock(&self.leader_lock)
        cdef bint leads = self.leads
        cdef bint enough = self.in_sync_count >= self.min_in_sync
        pthread_rwlock_unlock(&self.leader_lock)
        if not leads:
            error[0] = NOT_LEADER_OR_FOLLOWER
            return True
        if self.log.high_watermark() < offset:
            return False
        if not enough:
            error[0] = NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True

    cdef bint is_acknowledged(self, int16_t acks, int64_t offset, int16_t* error) noexcept nogil:
        error[0] = NONE
        if self.log.commits_in_groups:
            if self.log.is_offline():
                error[0] = KAFKA_STORAGE_ERROR
                return True
            if acks != ALL_REPLICAS and self.log.acknowledged_end() < offset:
                error[0] = self.check_leadership(NO_LEADER_EPOCH)
                return error[0] != NONE
            if acks != ALL_REPLICAS and not self.is_shown_by_leader_alone(offset):
                return False
        return acks != ALL_REPLICAS or self.is_replicated_to(offset, error)

    cdef bint is_shown_by_leader_alone(self, int64_t offset) noexcept nogil:
        """Whether a lone leader shows the records to consumers: its high watermark moves just after the flush."""
        pthread_rwlock_rdlock(&self.leader_lock)
        cdef bint is_alone = self.leads and self.remote_count == 0
        pthread_rwlock_unlock(&self.leader_lock)
        return not is_alone or self.log.high_watermark() >= offset

    cdef void log_was_flushed(self) noexcept nogil:
        if self.advance_high_watermark():
            self.wake_waiters()
        self.produce_purgatory.check_and_complete(self.key)

    # --- reading ----------------------------------------------------------------------------------------------------

    cdef int16_t read_from_leader(self, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                                  int32_t leader_epoch, int32_t last_fetched_epoch, ReadResult* result) noexcept nogil:
        cdef int16_t error = self.check_leadership(leader_epoch)
        atomic_add_64(&self.served.fetch_requests, 1)
        if error != NONE:
            memset(result, 0, sizeof(ReadResult))
            result.error = error
            result.high_watermark = result.last_stable_offset = result.log_start_offset = -1
            return error
        if last_fetched_epoch != NO_LEADER_EPOCH and self.finds_divergence(offset, last_fetched_epoch, result):
            return result.error
        error = read_log(self.log, offset, max_bytes, isolation, at_least_one, result)
        if error == KAFKA_STORAGE_ERROR and self.check_leadership(leader_epoch) != NONE:
            # The partition was closed in between, which is not a disk failure.
            error = result.error = NOT_LEADER_OR_FOLLOWER
        if error == CORRUPT_MESSAGE:
            # Unlike the other errors, this one is not caused by the client (`ReplicaManager.readFromLog`).
            atomic_add_64(&self.served.failed_fetch_requests, 1)
        return error

    cdef bint finds_divergence(self, int64_t offset, int32_t last_fetched_epoch, ReadResult* result) noexcept nogil:
        cdef EpochEntry end = self.log.leader_epochs.end_offset_for(last_fetched_epoch, self.log.log_end_offset())
        if end.epoch == last_fetched_epoch and end.start_offset >= offset:
            return False
        memset(result, 0, sizeof(ReadResult))
        result.high_watermark = self.log.high_watermark()
        result.last_stable_offset = self.log.last_stable_offset()
        result.log_start_offset = self.log.log_start_offset()
        result.log_end_offset = self.log.log_end_offset()
        if end.epoch == NO_LEADER_EPOCH:
            result.error = OFFSET_OUT_OF_RANGE
        else:
            result.diverges = True
            result.diverging_epoch = end.epoch
            result.diverging_end_offset = end.start_offset
        return True

    cdef void count_bytes_out(self, int64_t size_bytes) noexcept nogil:
        if size_bytes > 0:
            atomic_add_64(&self.served.bytes_out, size_bytes)

    cdef void add_counters(self, TopicCounters* total) noexcept nogil:
        topic_counters_add(total, &self.served, 1)
        topic_counters_add(total, &self.log.appended, 1)
        topic_counters_add(total, &self.appended_before, -1)

    cdef void* pin(self) noexcept nogil:
        atomic_add_32(&self.pins, 1)
        return <void*>self

    cdef void unpin(self) noexcept nogil:
        atomic_add_32(&self.pins, -1)

    # --- Python interface -------------------------------------------------------------------------------------------

    def append_records(self, records not None, int acks=1, bint internal=False, bint validates_first=False):
        """Appends raw batches as the leader. `internal` allows batches that only a coordinator may write.

        `validates_first` decompresses and validates the batch before any lock is taken. Use it for slow batches.
        """
        cdef AppendResult result
        cdef ValidationResult validated
        cdef ReceivedBatch batch
        cdef Py_buffer given
        cdef int origin = ORIGIN_COORDINATOR if internal else ORIGIN_CLIENT
        PyObject_GetBuffer(records, &given, PyBUF_SIMPLE)
        # The log assigns offsets in place, so it needs a copy of the caller's bytes.
        cdef size_t size = given.len
        cdef uint8_t* copy = <uint8_t*>malloc(max(<size_t>1, size))
        if copy != NULL:
            memcpy(copy, given.buf, size)
        PyBuffer_Release(&given)
        if copy == NULL:
            raise MemoryError
        with nogil:
            batch = batch_over(copy, size)
            if validates_first:
                validate_for_leader(self.log, &batch, origin, &validated)
            self.append_to_leader(&batch, acks, origin, &validated if validates_first else NULL, &result)
            if validates_first:
                free_validation_result(&validated)
            free(copy)
            if internal and result.error == NONE and self.log.commits_in_groups:
                # A coordinator responds when this returns, so flush now. The committer then finds nothing to do.
                if flush_log(self.log, True) < 0 or self.log.acknowledged_end() <= result.last_offset:
                    # Or the log was closed meanwhile, and the records were not flushed.
                    result.error = KAFKA_STORAGE_ERROR
                self.log_was_flushed()
        try:
            return self.append_outcome(&result)
        finally:
            record_errors_free(&result.record_errors)

    cdef object append_outcome(self, const AppendResult* result):
        cdef char sentence[RECORD_ERRORS_SIZE_MAX]
        cdef bytes name = self.topic.encode()
        cdef const uint8_t* topic = <const uint8_t*><const char*>name
        cdef int32_t topic_size = <int32_t>len(name)
        cdef int32_t i, size
        outcome = AppendOutcome()
        outcome.error = result.error
        outcome.message = result.message.decode() if result.message != NULL else None
        outcome.record_errors = []
        if result.record_errors.count > 0:
            size = describe_record_errors(&result.record_errors, topic, topic_size, self.index, sentence)
            outcome.message = sentence[:size].decode()
            for i in range(result.record_errors.count):
                size = describe_record_error(&result.record_errors, i, topic, topic_size, self.index, sentence)
                outcome.record_errors.append((result.record_errors.errors[i].index, sentence[:size].decode()))
        outcome.base_offset = result.base_offset
        outcome.last_offset = result.last_offset
        outcome.log_append_time_ms = result.log_append_time_ms
        outcome.log_start_offset = result.log_start_offset
        outcome.record_count = result.record_count
        outcome.duplicate = result.duplicate
        return outcome

    def fetch(self, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one=True, int leader_epoch=-1,
              int last_fetched_epoch=-1):
        """Reads raw batches from `offset` on. The outcome has errors and a divergence of the logs (KIP-595)."""
        cdef ReadResult result
        cdef bytearray records = bytearray()
        cdef uint8_t* target
        cdef int64_t got
        cdef int32_t i
        with nogil:
            self.read_from_leader(offset, max_bytes, isolation, at_least_one, leader_epoch, last_fetched_epoch, &result)
        outcome = FetchOutcome()
        if result.size_bytes > 0:
            records = bytearray(result.size_bytes)
            target = records
            with nogil:
                got = result.segment.disk.pread(result.segment.disk.context, result.segment.descriptor, target,
                                                <size_t>result.size_bytes, result.position)
            if got < 0:
                # The next read takes the log offline, as after a failed sendfile(2).
                segment_note_unreadable(result.segment, <int>got)
            if got != result.size_bytes:
                result.error = KAFKA_STORAGE_ERROR
                records = bytearray()
        outcome.aborted_transactions = [(result.aborted.entries[i].producer_id, result.aborted.entries[i].first_offset)
                                        for i in range(result.aborted.count)]
        with nogil:
            release_read(&result)
        outcome.error = result.error
        outcome.records = bytes(records)
        outcome.high_watermark = result.high_watermark
        outcome.last_stable_offset = result.last_stable_offset
        outcome.log_start_offset = result.log_start_offset
        outcome.log_end_offset = result.log_end_offset
        outcome.segment_base_offset = result.segment_base_offset
        outcome.position = result.position
        outcome.diverging_epoch = (result.diverging_epoch, result.diverging_end_offset) if result.diverges else None
        return outcome

    def note_bytes_out(self, int64_t size_bytes):
        """Counts the bytes of records that were sent to a client."""
        self.count_bytes_out(size_bytes)

    def leadership_error(self, int leader_epoch=-1):
        """The wire error for a client that knows this leader epoch; 0 if there is none."""
        return self.check_leadership(leader_epoch)

    cdef int32_t locked_value(self, const int32_t* field):
        """Reads a field that `leader_lock` guards."""
        cdef int32_t value
        with nogil:
            pthread_rwlock_rdlock(&self.leader_lock)
            value = field[0]
            pthread_rwlock_unlock(&self.leader_lock)
        return value

    @property
    def leader_id(self):
        return self.locked_value(&self.current_leader_id)

    @property
    def leader_epoch(self):
        return self.locked_value(&self.current_leader_epoch)

    @property
    def replicas(self):
        return list(self.replica_ids)

    @property
    def in_sync_replicas(self):
        return list(self.in_sync_ids)

    @property
    def min_in_sync_replicas(self):
        return self.locked_value(&self.min_in_sync)

    @property
    def high_watermark(self):
        return self.log.high_watermark()

    @property
    def is_in_use(self):
        """Whether native code still has a pointer to this object."""
        return atomic_load_32(&self.pins) > 0


cdef void tell_of_flush(void* partition) noexcept nogil:
    (<Partition>partition).log_was_flushed()


cdef void set_append_error(AppendResult* result, int16_t error) noexcept nogil:
    result.error = error
    result.message = NULL
    memset(&result.record_errors, 0, sizeof(RecordErrors))
    result.base_offset = result.last_offset = result.log_append_time_ms = -1
    result.log_start_offset = result.log_end_offset = -1
    result.record_count = 0
    result.duplicate = False
