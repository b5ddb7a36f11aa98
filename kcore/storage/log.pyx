"""One partition's log (Kafka's `UnifiedLog`): log start offset, high watermark, last stable offset, truncation, close.

Other modules append (log_append), read (log_read) and apply retention (log_retention).

On disk a log is a directory of segments, producer snapshots and `leader-epoch-checkpoint`. Crash policy: an append
writes the batch to the file. Indexes and producer state are updated in memory only. A crash loses at most the records
that were not flushed; log_loader rebuilds the derived state. A disk error, other than a temporary shortage (see
shortage), stops all appends: every caller gets KAFKA_STORAGE_ERROR, and `on_failure` is called once, from Python, with
no native lock held.

`high_watermark_at` and `first_unstable_at` (the start of the earliest undecided transaction) are kept with their
segment and position, so that a fetch does not search for them. Invariant:
last stable offset <= high watermark <= log end offset.
"""

cimport cython

from os import strerror

from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.ref cimport PyObject
from libc.errno cimport EBADMSG, ENOMEM
from libc.stdint cimport INT32_MAX, INT64_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from kcore import errors
from kcore.errors cimport KAFKA_STORAGE_ERROR, NONE, OFFSET_OUT_OF_RANGE
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport (
    atomic_add_64, atomic_load_32, atomic_load_64, atomic_store_32, atomic_store_64, atomic_swap_32_if,
    pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.record.batch cimport ReceivedBatch, batch_over
from kcore.record.record_errors cimport record_errors_free
from kcore.record.validator cimport ORIGIN_CLIENT, ORIGIN_REPLICATION
from kcore.storage.leader_epoch_cache cimport EpochEntry, LeaderEpochCache
from kcore.storage.leader_epoch_cache import FILE_NAME as EPOCH_FILE_NAME
from kcore.storage.local_log cimport LocalLog, LogOffsetMetadata
from kcore.storage.log_append cimport append_as_follower, append_as_leader
from kcore.storage.log_flush cimport flush_log
from kcore.storage.log_limits cimport LogLimits, limits_of
from kcore.storage.log_read cimport read_log, release_read
from kcore.storage.log_retention cimport deletable_count
from kcore.storage.log_truncation cimport cut_to, purge_deleted, remove_segments, restart_at
from kcore.storage.producer_replay cimport load_latest_snapshot, recall_batches, replay_segment
from kcore.storage.producer_state cimport KEPT_BATCHES, ProducerEntry, ProducerStateManager
from kcore.storage.segment cimport (
    LogSegment, segment_acquire, segment_close_idle, segment_finish, segment_release, segment_stat, segment_sync,
    segment_unlink_indexes,
)
from kcore.storage.shortage cimport is_full, lacks_descriptors
from kcore.storage.timestamp_search cimport first_record_since, newest_record, timestamp_at

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        PyObject* tp_dict
    void PyType_Modified(PyTypeObject* type)

cdef const char* DESCRIPTOR_REMEDY = (
    b"the broker has no file descriptor left; raise its limit (ulimit -n) or lower kcli.log.max.open.segments"
)

cdef const char* ROOM_REMEDY = (
    b"the disk of the log directory is full; free some space and try again"
)

EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1
MAX_TIMESTAMP = -3

# How often the log start offset of any log has changed.
cdef int64_t start_moves = 0


cdef int64_t log_start_moves() noexcept nogil:
    return atomic_load_64(&start_moves)


cdef class AppendInfo:
    """The result of an append: the assigned offsets, and whether it was a duplicate of an earlier one."""

    cdef readonly int64_t base_offset
    cdef readonly int64_t last_offset
    cdef readonly int64_t log_append_time_ms
    cdef readonly int64_t log_start_offset
    cdef readonly int64_t log_end_offset
    cdef readonly int64_t record_count
    cdef readonly bint duplicate


@cython.no_gc_clear
cdef class Log(LocalLog):
    """Created by log_loader.load_log, which reads its state from disk."""

    def __init__(self, Disk disk not None, bytes directory not None, str topic not None, int partition,
                 config not None, on_failure=None):
        self.topic = topic
        self.partition = partition
        self.on_failure = on_failure
        self.producer_state = ProducerStateManager(config.producer_expiration_ms)
        self.leader_epochs = LeaderEpochCache(disk, directory + b"/" + EPOCH_FILE_NAME.encode())
        self.first_unstable_at.offset = -1
        self.update_config(config)

    # --- offsets ----------------------------------------------------------------------------------------------------

    cdef int64_t log_start_offset(self) noexcept nogil:
        return atomic_load_64(&self.first_offset)

    cdef int64_t log_end_offset(self) noexcept nogil:
        return atomic_load_64(&self.next_offset)

    cdef int64_t high_watermark(self) noexcept nogil:
        return atomic_load_64(&self.high_watermark_at.offset)

    cdef int64_t last_stable_offset(self) noexcept nogil:
        cdef int64_t offset
        pthread_mutex_lock(&self.segments_lock)
        offset = self.bound(ISOLATION_TXN_COMMITTED).offset
        pthread_mutex_unlock(&self.segments_lock)
        return offset

    cdef LogOffsetMetadata bound(self, int isolation) noexcept nogil:
        """The first offset that a reader may not see, with its segment and position."""
        if isolation == ISOLATION_LOG_END:
            return self.end_metadata()
        if (isolation == ISOLATION_TXN_COMMITTED and self.first_unstable_at.offset >= 0
                and self.first_unstable_at.offset < self.high_watermark_at.offset):
            return self.first_unstable_at
        return self.high_watermark_at

    cdef void refresh_first_unstable(self) noexcept nogil:
        cdef LogOffsetMetadata first
        if self.producer_state.first_unstable(self.high_watermark_at.offset, &first):
            self.first_unstable_at = first
        else:
            self.first_unstable_at.offset = -1

    cdef bint advance_high_watermark(self, int64_t offset) noexcept nogil:
        cdef LogOffsetMetadata place
        cdef bint moved = False
        if offset <= self.high_watermark() or self.locate(offset, &place) < 0:
            return False
        pthread_mutex_lock(&self.segments_lock)
        if place.offset > self.high_watermark_at.offset and place.offset <= self.next_offset:
            self.high_watermark_at.segment_base_offset = place.segment_base_offset
            self.high_watermark_at.position = place.position
            atomic_store_64(&self.high_watermark_at.offset, place.offset)
            self.refresh_first_unstable()
            self.note_change()
            moved = True
        pthread_mutex_unlock(&self.segments_lock)
        return moved

    cdef void end_moved_back(self) noexcept nogil:
        cdef LogOffsetMetadata end = self.end_metadata()
        if self.high_watermark_at.offset >= end.offset:
            self.high_watermark_at.segment_base_offset = end.segment_base_offset
            self.high_watermark_at.position = end.position
            atomic_store_64(&self.high_watermark_at.offset, end.offset)
        self.refresh_first_unstable()

    # --- roll and flush ---------------------------------------------------------------------------------------------

    cdef int prepare_roll(self, int64_t base_offset) noexcept nogil:
        self.producer_state.advance_map_end(base_offset)
        return self.producer_state.take_snapshot(self.disk, self.directory_path)

    cdef int prepare_recovery_point(self, int64_t target) noexcept nogil:
        return self.leader_epochs.write_when_changed(target)

    cdef int16_t flush_if_due(self) noexcept nogil:
        cdef int outcome
        self.request_commit()
        if self.log_end_offset() - atomic_load_64(&self.flushed_offset) < atomic_load_64(&self.flush_messages):
            return NONE
        outcome = flush_log(self, True)
        if outcome >= 0 and self.closed and atomic_load_64(&self.flushed_offset) < self.log_end_offset():
            # The log was closed during the flush (for deletion, or because its directory failed): this append was not
            # flushed.
            return KAFKA_STORAGE_ERROR
        return NONE if outcome >= 0 else self.fail(outcome, b"flushing the log")

    # --- truncation, retention, close -------------------------------------------------------------------------------

    cdef int truncate_locked(self, int64_t offset) noexcept nogil:
        cdef int64_t now_ms = self.disk.now_ms(self.disk.context)
        cdef int outcome = cut_to(self, offset, now_ms)
        if outcome >= 0:
            self.leader_epochs.truncate_from_end(offset)
            outcome = self.leader_epochs.write_when_changed(INT64_MAX)
        pthread_mutex_lock(&self.segments_lock)
        if self.first_offset > offset:
            self.move_start(offset)
        pthread_mutex_unlock(&self.segments_lock)
        if outcome >= 0:
            outcome = self.rebuild_producer_state(now_ms)
        pthread_mutex_lock(&self.segments_lock)
        self.refresh_first_unstable()
        pthread_mutex_unlock(&self.segments_lock)
        return self.offline_unless_done(outcome, b"truncating the log")

    cdef int restart_locked(self, int64_t offset) noexcept nogil:
        cdef int64_t now_ms = self.disk.now_ms(self.disk.context)
        cdef int outcome = restart_at(self, offset, now_ms)
        if outcome >= 0:
            self.leader_epochs.truncate_from_end(0)
            outcome = self.leader_epochs.write_when_changed(INT64_MAX)
        if outcome >= 0:
            outcome = self.rebuild_producer_state(now_ms)
        pthread_mutex_lock(&self.segments_lock)
        self.move_start(offset)
        self.high_watermark_at = self.end_metadata()
        self.refresh_first_unstable()
        pthread_mutex_unlock(&self.segments_lock)
        return self.offline_unless_done(outcome, b"truncating the log")

    cdef int rebuild_producer_state(self, int64_t now_ms) noexcept nogil:
        """Rebuilds it from the latest snapshot and the batches after it. Removes snapshots beyond the log end."""
        cdef int64_t covered = load_latest_snapshot(self.producer_state, self.disk, self.directory_path,
                                                    self.first_offset, self.next_offset, True, now_ms)
        cdef LogOffsetMetadata first
        cdef int32_t i = max(self.floor_index(covered), 0)
        cdef int outcome = 0 if covered >= 0 else <int>covered
        while outcome >= 0 and i < self.segment_count and covered < self.next_offset:
            outcome = replay_segment(self.producer_state, self.segment_list[i], covered, False)
            i += 1
        self.producer_state.advance_map_end(self.next_offset)
        # A snapshot has the first offset of a transaction, but not its position.
        while outcome >= 0 and self.producer_state.next_unplaced(&covered):
            outcome = self.locate(covered, &first)
            self.producer_state.place(covered, &first)
        return outcome

    cdef int recall_producer(self, int64_t producer_id, int16_t producer_epoch) noexcept nogil:
        """Finds a producer's earlier batches at the end of the log, to recognize a retry of one of them.

        A snapshot keeps only the last batch of a producer. This reads as many bytes as KEPT_BATCHES batches of the
        maximum size may take.
        """
        cdef int64_t window = KEPT_BATCHES * <int64_t>self.limits.validation.max_message_bytes
        cdef int32_t i = self.segment_count - 1
        cdef ProducerEntry found
        cdef int outcome = 0
        memset(&found, 0, sizeof(found))
        found.producer_id = producer_id
        found.producer_epoch = producer_epoch
        while i > 0 and self.segment_list[i].size_bytes < window:
            window -= self.segment_list[i].size_bytes
            i -= 1
        while outcome >= 0 and i < self.segment_count:
            outcome = recall_batches(self.segment_list[i], window, &found)
            window = INT64_MAX
            i += 1
        # Damaged records before this append do not prevent it. A reader of those records gets the error.
        if outcome < 0 and outcome != -EBADMSG:
            return outcome
        self.producer_state.recall(&found)
        return 0

    cdef int delete_locked(self, int64_t now_ms, int32_t* deleted) noexcept nogil:
        cdef int outcome = 0
        deleted[0] = deletable_count(self, now_ms)
        if deleted[0] == 0:
            return 0
        if deleted[0] == self.segment_count:
            outcome = self.roll_to(self.next_offset, now_ms)
        # Raise the log start offset first, so that every offset in range always has its segment.
        if outcome >= 0:
            self.raise_start(self.segment_list[deleted[0]].base_offset)
            outcome = remove_segments(self, 0, deleted[0], now_ms)
        return outcome

    cdef void raise_start(self, int64_t offset) noexcept nogil:
        pthread_mutex_lock(&self.segments_lock)
        if offset > self.first_offset:
            self.move_start(offset)
            self.note_change()
        pthread_mutex_unlock(&self.segments_lock)
        self.leader_epochs.truncate_from_start(offset)

    cdef void move_start(self, int64_t offset) noexcept nogil:
        atomic_store_64(&self.first_offset, offset)
        atomic_add_64(&start_moves, 1)

    cdef int finish(self) noexcept nogil:
        """Clean shutdown: writes the producer snapshot, finishes the active segment and syncs its indexes."""
        cdef LogSegment* active = self.active_segment()
        cdef int outcome
        if atomic_load_32(&active.unmade):
            return 0
        outcome = self.prepare_roll(self.next_offset)
        if outcome >= 0 and active.appended:
            outcome = segment_finish(active)
        atomic_store_32(&active.writable, 0)
        if outcome >= 0 and atomic_load_32(&active.indexes_unsynced):
            segment_acquire(active)
            outcome = segment_sync(active)
            segment_release(active)
        if outcome >= 0:
            outcome = self.leader_epochs.write_when_changed(self.next_offset)
        return outcome

    # --- Python interface -------------------------------------------------------------------------------------------

    @property
    def _high_watermark(self):
        """The high watermark: the first offset that is not known to be on every in-sync replica."""
        return self.high_watermark()

    @property
    def _last_stable_offset(self):
        """The last stable offset, below which every transaction is decided."""
        return self.last_stable_offset()

    @property
    def _is_offline(self):
        """Whether a disk error has taken the log offline."""
        return bool(self.is_offline())

    @property
    def start_offset(self):
        """The first offset that can be read."""
        return self.log_start_offset()

    @property
    def end_offset(self):
        """The offset that the next record gets."""
        return self.log_end_offset()

    @property
    def failure(self):
        """The OSError that took the log offline, or None."""
        if not self.failure_errno:
            return None
        if self.failed_while == NULL:
            return OSError(self.failure_errno, strerror(self.failure_errno), self.directory)
        return OSError(self.failure_errno, f"{strerror(self.failure_errno)} while {self.failed_while.decode()}",
                       self.directory)

    def report_failure(self):
        """Calls `on_failure(log, OSError)` if the log went offline; at most once. Call this regularly."""
        if self.failure_errno and not self.failure_reported:
            self.failure_reported = True
            if self.on_failure is not None:
                self.on_failure(self, self.failure)

    cdef int raise_error(self, int16_t code, message) except -1:
        self.report_failure()
        raise errors.by_code(code)(message)

    cdef int check_disk(self, int outcome, const char* work) except -1:
        """Raises the exception for a negated errno. Takes the log offline, unless the error is a temporary shortage."""
        cdef int16_t code
        if outcome >= 0:
            return 0
        if lacks_descriptors(outcome):
            raise OSError(-outcome, f"{strerror(-outcome)}: {DESCRIPTOR_REMEDY.decode()}", self.directory)
        if is_full(outcome) and not self.is_offline():
            self.fail(outcome, work)
            raise OSError(-outcome, f"{strerror(-outcome)}: {ROOM_REMEDY.decode()}", self.directory)
        code = self.fail(outcome, work)
        self.raise_error(code, str(OSError(-outcome, f"{strerror(-outcome)} while {work.decode()}", self.directory)))
        return -1

    def update_config(self, config not None):
        """Applies a LogConfig. It takes effect with the next append."""
        cdef LogLimits limits = limits_of(config)
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            self.limits = limits
            pthread_mutex_unlock(&self.append_lock)
            atomic_store_64(&self.flush_messages, limits.flush_messages)
        self.config = config

    def append(self, records, int32_t leader_epoch=0, int origin=ORIGIN_CLIENT):
        """Appends a copy of `records` as the leader or, with `origin` ORIGIN_REPLICATION, as a follower.

        Returns an AppendInfo. Raises a KafkaError for invalid batches and for disk errors.
        """
        cdef bytearray patched = bytearray(records)
        cdef uint8_t* start = <uint8_t*>PyByteArray_AS_STRING(patched)
        cdef size_t size = <size_t>len(patched)
        cdef AppendResult result
        cdef ReceivedBatch batch
        with nogil:
            if origin == ORIGIN_REPLICATION:
                append_as_follower(self, start, size, &result)
            else:
                batch = batch_over(start, size)
                append_as_leader(self, &batch, leader_epoch, origin, NULL, &result)
            record_errors_free(&result.record_errors)
        if result.error != NONE:
            self.raise_error(result.error, result.message.decode() if result.message != NULL else None)
        return append_info(&result)

    def read(self, int64_t offset, int64_t max_bytes=INT32_MAX, int isolation=ISOLATION_HIGH_WATERMARK,
              bint at_least_one=True):
        """Returns batches of one segment as bytes, from the batch that contains `offset`, at most `max_bytes`.

        The first batch may begin before `offset`; the last one may be incomplete. Returns b"" if the isolation level
        allows no records yet. Raises OffsetOutOfRangeError below the log start offset or above the log end offset.
        """
        cdef ReadResult result
        cdef uint8_t* buffer = NULL
        cdef int64_t outcome = 0
        with nogil:
            read_log(self, offset, max_bytes, isolation, at_least_one, &result)
            if result.size_bytes > 0:
                buffer = <uint8_t*>malloc(<size_t>result.size_bytes)
                outcome = -ENOMEM
                if buffer != NULL:
                    outcome = self.disk.pread(self.disk.context, result.segment.descriptor, buffer,
                                              <size_t>result.size_bytes, result.position)
                release_read(&result)
        try:
            if result.error != NONE:
                self.raise_error(result.error, None)
            self.check_disk(<int>min(outcome, 0), b"reading the log")
            return (<char*>buffer)[:outcome]
        finally:
            free(buffer)

    def aborted_transactions(self, int64_t offset, int64_t max_bytes=INT32_MAX):
        """The aborted transactions that a read_committed fetch from `offset` has to filter.

        Each is `(producer id, first offset, offset of its marker, last stable offset after the marker)`.
        """
        cdef ReadResult result
        cdef int32_t i
        with nogil:
            read_log(self, offset, max_bytes, ISOLATION_TXN_COMMITTED, True, &result)
        try:
            if result.error != NONE:
                self.raise_error(result.error, None)
            return [(result.aborted.entries[i].producer_id, result.aborted.entries[i].first_offset,
                     result.aborted.entries[i].last_offset, result.aborted.entries[i].last_stable_offset)
                    for i in range(result.aborted.count)]
        finally:
            with nogil:
                release_read(&result)

    def _advance_high_watermark(self, int64_t offset):
        """Raises the high watermark to `offset`, at most to the log end offset. Returns whether it changed."""
        cdef bint moved
        with nogil:
            moved = self.advance_high_watermark(offset)
        return bool(moved)

    def roll(self):
        """Begins a new segment unless the active one is empty. Returns the base offset of the active segment."""
        cdef int outcome = 0
        cdef int64_t base_offset
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            if not self.closed and not self.is_offline() and self.active_segment().size_bytes > 0:
                outcome = self.roll_to(self.next_offset, self.disk.now_ms(self.disk.context))
            base_offset = self.active_segment().base_offset
            pthread_mutex_unlock(&self.append_lock)
        self.check_disk(outcome, b"rolling the log")
        return base_offset

    def flush(self):
        """Flushes everything that was appended and moves the recovery point. Does nothing on a closed log."""
        self.flush_segments(True)

    def flush_rolled(self):
        """Flushes the finished segments that are not on the device yet. Returns whether there were any."""
        cdef bint due
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            due = not self.closed and atomic_load_64(&self.flushed_offset) < self.active_segment().base_offset
            pthread_mutex_unlock(&self.append_lock)
        if due:
            self.flush_segments(False)
        return bool(due)

    cdef int flush_segments(self, bint include_active) except -1:
        cdef int outcome
        with nogil:
            outcome = flush_log(self, include_active)
        return self.check_disk(outcome, b"flushing the log")

    def truncate_to(self, int64_t offset):
        """Drops every batch with records at or above `offset`. Returns whether there were any."""
        cdef int outcome = 0
        cdef bint due
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            due = offset < self.next_offset and not self.closed and not self.is_offline()
            if due:
                outcome = self.truncate_locked(offset)
            pthread_mutex_unlock(&self.append_lock)
        self.check_disk(outcome, b"truncating the log")
        return bool(due)

    def truncate_fully_and_start_at(self, int64_t offset):
        """Drops all records. The empty log continues at `offset`."""
        cdef int outcome = 0
        cdef bint usable
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            usable = not self.closed and not self.is_offline()
            if usable:
                outcome = self.restart_locked(offset)
            pthread_mutex_unlock(&self.append_lock)
        if not usable:
            self.raise_error(KAFKA_STORAGE_ERROR, None)
        self.check_disk(outcome, b"truncating the log")

    def increment_start_offset(self, int64_t offset):
        """Deletes the records below `offset` (DeleteRecords). Raises OffsetOutOfRangeError above the high watermark."""
        cdef bint allowed, usable
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            # The directory of a closed log may have been renamed, or its name may belong to a new log.
            usable = not self.closed and not self.is_offline()
            allowed = offset <= self.high_watermark()
            if usable and allowed and offset > self.first_offset:
                self.raise_start(offset)
            pthread_mutex_unlock(&self.append_lock)
        if not usable:
            self.raise_error(KAFKA_STORAGE_ERROR, None)
        if not allowed:
            self.raise_error(OFFSET_OUT_OF_RANGE, None)

    def delete_old_segments(self, int64_t now_ms):
        """Removes the segments that are past retention, and unlinks removed segments after `file.delete.delay.ms`.

        The files of a removed segment are renamed to *.deleted at once. Returns the number of segments removed by this
        call.
        """
        cdef int32_t deleted = 0
        cdef int outcome = 0
        with nogil:
            purge_deleted(self, now_ms)
            pthread_mutex_lock(&self.append_lock)
            if not self.closed and not self.is_offline():
                outcome = self.delete_locked(now_ms, &deleted)
            pthread_mutex_unlock(&self.append_lock)
        self.check_disk(outcome, b"deleting old segments")
        return deleted

    def close(self, bint for_deletion=False):
        """Writes the producer snapshot, trims the indexes and closes the files. The log then refuses appends and reads.

        With `for_deletion` nothing is written, so that a topic can be deleted from a full disk.
        """
        cdef int outcome = 0
        cdef int32_t i
        with nogil:
            if self.commits_in_groups:
                self.committer.leave(&self.ticket)
            # Wait for a running flush: both would sync and close the active segment's indexes.
            pthread_mutex_lock(&self.flush_lock)
            pthread_mutex_lock(&self.append_lock)
            if not self.closed and self.segment_count and not self.is_offline() and not for_deletion:
                outcome = self.finish()
            pthread_mutex_lock(&self.segments_lock)
            self.closed = True
            for i in range(self.segment_count):
                # Refuse further appends, even if the segment could not be finished.
                atomic_store_32(&self.segment_list[i].writable, 0)
                segment_close_idle(self.segment_list[i], 1)
                if self.segment_list[i].indexes_are_wrong and not for_deletion:
                    segment_unlink_indexes(self.segment_list[i])
            pthread_mutex_unlock(&self.segments_lock)
            pthread_mutex_unlock(&self.append_lock)
            pthread_mutex_unlock(&self.flush_lock)
            purge_deleted(self, INT64_MAX)
        self.check_disk(outcome, b"closing the log")

    def left_clean(self):
        """The entry for `clean_shutdown_state` after a clean `close`; None if the next start has to open the log."""
        cdef LogSegment* active = self.active_segment()
        cdef int outcome = 0
        cdef int32_t i
        if not self.closed or self.is_offline() or atomic_load_32(&active.unmade) or active.appended:
            return None
        for i in range(self.segment_count):
            if self.segment_list[i].indexes_are_wrong:
                return None
        with nogil:
            outcome = segment_stat(active)
        if outcome < 0:
            return None
        return (self.next_offset, active.base_offset, active.size_bytes, active.created_ms, active.first_timestamp,
                active.max_timestamp, active.offset_of_max_timestamp)

    def offset_for_timestamp(self, int64_t timestamp_ms):
        """`(offset, timestamp)` of the first record with this timestamp or a later one, or None.

        The special timestamps of ListOffsets are supported: EARLIEST_TIMESTAMP and LATEST_TIMESTAMP return the log
        start offset and the high watermark with timestamp -1, MAX_TIMESTAMP the record with the largest timestamp. The
        offset may be above the high watermark.
        """
        if timestamp_ms == EARLIEST_TIMESTAMP:
            return self.start_offset, -1
        if timestamp_ms == LATEST_TIMESTAMP:
            return self.high_watermark(), -1
        try:
            if timestamp_ms == MAX_TIMESTAMP:
                return newest_record(self, self.log_start_offset())
            return first_record_since(self, self.log_start_offset(), timestamp_ms)
        except OSError as error:
            self.check_disk(-error.errno, b"reading the log")

    def timestamp_at(self, int64_t offset):
        """The timestamp of the first record at or after `offset`; None if there is none."""
        try:
            return timestamp_at(self, max(offset, self.log_start_offset()))
        except OSError as error:
            self.check_disk(-error.errno, b"reading the log")

    def end_offset_for_epoch(self, int32_t epoch):
        """`(epoch, end offset)` of the largest known epoch at or below `epoch`; (-1, -1) if `epoch` is not known."""
        cdef EpochEntry answer
        with nogil:
            answer = self.leader_epochs.end_offset_for(epoch, self.log_end_offset())
        return answer.epoch, answer.start_offset

    def epoch_of(self, int64_t offset):
        """The leader epoch in which the record at `offset` was written; -1 if it is not known."""
        return self.leader_epochs.epoch_of(offset)

    @property
    def decompressed_limit_bytes(self):
        """The maximum size of a batch's records when they are decompressed."""
        return self.limits.validation.decompressed_limit_bytes

    @property
    def latest_epoch(self):
        """The latest leader epoch of the log; -1 if it has none."""
        return self.leader_epochs.latest_epoch()

    def assign_epoch_start(self, int32_t epoch, int64_t offset):
        """Records in memory that `epoch` starts at `offset`. Does nothing if it is the latest epoch already."""
        with nogil:
            self.leader_epochs.assign(epoch, offset)


def take_changed(list managed not None):
    """Returns the entries of `managed` whose `log` has changed since the last call and needs a checkpoint or a flush.

    This reads one flag per log, so it is cheap for ten thousand logs every few seconds.
    """
    cdef Log log
    changed = []
    for entry in managed:
        log = entry.log
        if atomic_swap_32_if(&log.changed, 1, 0):
            changed.append(entry)
    return changed


cdef AppendInfo append_info(const AppendResult* result):
    cdef AppendInfo info = AppendInfo.__new__(AppendInfo)
    info.base_offset = result.base_offset
    info.last_offset = result.last_offset
    info.log_append_time_ms = result.log_append_time_ms
    info.log_start_offset = result.log_start_offset
    info.log_end_offset = result.log_end_offset
    info.record_count = result.record_count
    info.duplicate = result.duplicate
    return info


cdef void show_to_python(names):
    """Renames Python members to the names of native methods: `_is_offline` becomes `Log.is_offline`.

    Cython does not allow both in one class. Python does not see native methods, so nothing is hidden.
    """
    cdef PyTypeObject* log_type = <PyTypeObject*>Log
    members = <dict>log_type.tp_dict
    for name in names:
        members[name] = members.pop(f"_{name}")
    PyType_Modified(log_type)


show_to_python(("high_watermark", "last_stable_offset", "is_offline", "advance_high_watermark"))
