"""The ordered segments of one log: roll, flush, look-up, truncation and deletion (Kafka's `LocalLog`).

Files are those of segment; a removed segment is renamed to `*.deleted` at once and unlinked after
`file.delete.delay.ms`, when its last reader is gone too. Crash policy: bytes below the recovery point are on the
device together with their indexes; everything above is scanned when the log is loaded. A disk error other than a passing shortage takes the log
offline for good: nothing more is written, so that what is on disk stays a prefix of what was acknowledged.

Concurrency: `append_lock` serialises appends, rolls, truncation, deletion; `segments_lock`, held for a few
instructions, guards the list, `size_bytes` of segments together with the log end, and the recent boundaries. The list
and the log end change only under both, so either lock is enough to read them. `flush_lock` lets one flush run at a
time. Order: flush_lock, append_lock, segments_lock. The committer's lock is taken under none of them.
"""

cimport cython

from os import fsdecode

from libc.errno cimport EAGAIN, EBADMSG, ENOENT, ENOMEM
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memmove, memset, strdup, strlen
from posix.fcntl cimport O_RDONLY
from kcore.errors cimport CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR
from kcore.metrics.log_flush cimport record_log_flush
from kcore.platform.disk cimport Disk, sync_parent
from kcore.platform.sync cimport (
    atomic_add_32, atomic_load_32, atomic_load_64, atomic_store_32, atomic_store_64, atomic_swap_32_if, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.record.batch cimport BatchHeader
from kcore.storage.index_file cimport index_is_full
from kcore.storage.log_committer cimport CommitTicket, LogCommitter
from kcore.storage.offset_index cimport offset_index_truncate
from kcore.storage.segment cimport (
    LogSegment, segment_acquire, segment_close_idle, segment_count_unindexed, segment_create, segment_create_later,
    segment_finish, segment_let_go, segment_new, segment_open, segment_release, segment_rename_deleted, segment_sync,
    segment_unlink,
)
from kcore.storage.segment_search cimport BATCH_PAST_END, segment_find_max_timestamp, segment_find_offset
from kcore.storage.shortage cimport is_full, is_shortage
from kcore.storage.time_index cimport time_index_is_full, time_index_truncate
from kcore.storage.transaction_index cimport transaction_index_truncate


cdef const char* METADATA_FILE = b"partition.metadata"
cdef enum:
    METADATA_FILE_BYTES = 20     # with a slash and a NUL


cdef class SegmentInfo:
    """A segment as it was when asked for."""

    cdef readonly int64_t base_offset
    cdef readonly int64_t size_bytes
    cdef readonly int32_t index_entries
    cdef readonly int32_t time_index_entries
    cdef readonly int64_t max_timestamp
    cdef readonly bint indexes_are_wrong
    cdef readonly str path


# Its end needs its disk: no cycle of objects may take that away first.
@cython.no_gc_clear
cdef class LocalLog:
    """Segments on a disk; the loader adds those that exist before anyone else sees the log."""

    def __cinit__(self, Disk disk not None, bytes directory not None, *arguments, **options):
        pthread_mutex_init(&self.append_lock, NULL)
        pthread_mutex_init(&self.segments_lock, NULL)
        pthread_mutex_init(&self.flush_lock, NULL)
        memset(&self.limits, 0, sizeof(self.limits))
        self.disk_owner = disk
        self.disk = &disk.operations
        self.directory_path = strdup(directory)
        self.segment_list = NULL
        self.deleted_segments = NULL
        self.jitter_state = <uint64_t>self.disk.monotonic_ns(self.disk.context) | 1
        self.flushed_at_ms = self.disk.now_ms(self.disk.context)
        self.changed = True
        memset(&self.ticket, 0, sizeof(self.ticket))
        self.ticket.log = <void*>self
        self.ticket.flush = flush_for_committer
        if self.directory_path == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int32_t i
        cdef LogSegment* following
        if self.committer is not None:
            self.committer.leave(&self.ticket)
        for i in range(self.segment_count):
            # A truncation that failed half-way leaves segments here that wait for deletion as well.
            if not self.segment_list[i].deleted:
                segment_let_go(self.segment_list[i])
        while self.deleted_segments != NULL:
            following = self.deleted_segments.next_deleted
            segment_let_go(self.deleted_segments)
            self.deleted_segments = following
        free(self.segment_list)
        free(self.directory_path)
        pthread_mutex_destroy(&self.append_lock)
        pthread_mutex_destroy(&self.segments_lock)
        pthread_mutex_destroy(&self.flush_lock)

    # --- disk errors ------------------------------------------------------------------------------------------------

    cdef void go_offline(self, int outcome, const char* work) noexcept nogil:
        """For good; the first error is the one that is told."""
        if atomic_swap_32_if(&self.failure_errno, 0, -outcome):
            self.failed_while = work
        self.note_change()

    cdef int16_t fail(self, int outcome, const char* work) noexcept nogil:
        """The wire error of a negated errno; what is no passing shortage takes the log offline."""
        if outcome == -EBADMSG:
            return CORRUPT_MESSAGE
        if is_full(outcome):
            atomic_add_32(&self.refusals, 1)
            self.note_change()
        elif not is_shortage(outcome):
            self.go_offline(outcome, work)
        return KAFKA_STORAGE_ERROR

    cdef int offline_unless_done(self, int outcome, const char* work) noexcept nogil:
        """After a truncation: where it stopped half-way the log's end and its segments need not agree any more."""
        if outcome < 0:
            self.go_offline(outcome, work)
        return outcome

    cdef bint is_offline(self) noexcept nogil:
        return atomic_load_32(&self.failure_errno) != 0

    # --- group commit -----------------------------------------------------------------------------------------------

    def set_committer(self, LogCommitter committer not None):
        """From now on appends count once they were flushed; before anyone uses the log. Such a log has to be closed."""
        self.committer = committer
        self.commits_in_groups = True

    cdef int64_t acknowledged_end(self) noexcept nogil:
        return atomic_load_64(&self.flushed_offset if self.commits_in_groups else &self.next_offset)

    cdef void request_commit(self) noexcept nogil:
        if self.commits_in_groups and atomic_load_64(&self.flushed_offset) < atomic_load_64(&self.next_offset):
            self.committer.commit(&self.ticket)

    cdef void tell_of_flushes(self, void* listener, void (*flushed)(void* listener) noexcept nogil) noexcept nogil:
        if self.commits_in_groups:
            self.committer.set_listener(&self.ticket, listener, flushed)

    cdef void stop_telling(self, void* listener) noexcept nogil:
        if self.commits_in_groups:
            self.committer.clear_listener(&self.ticket, listener)

    cdef void note_change(self) noexcept nogil:
        if not atomic_load_32(&self.changed):
            atomic_store_32(&self.changed, 1)

    # --- look-up ----------------------------------------------------------------------------------------------------

    cdef LogSegment* active_segment(self) noexcept nogil:
        return self.segment_list[self.segment_count - 1]

    cdef LogSegment* hold_active(self, int* outcome) noexcept nogil:
        cdef LogSegment* active = self.active_segment()
        segment_acquire(active)
        if atomic_load_32(&active.unmade):
            # Its first record brings the files, and their names have to be synced.
            self.directory_changed = True
        outcome[0] = segment_open(active)
        return active

    cdef int32_t floor_index(self, int64_t offset) noexcept nogil:
        """The last segment whose base is at or below `offset`; -1 when all lie above."""
        cdef int32_t low = 0, high = self.segment_count, middle
        if high > 0 and self.segment_list[high - 1].base_offset <= offset:
            return high - 1
        while low < high:
            middle = low + (high - low) // 2
            if self.segment_list[middle].base_offset <= offset:
                low = middle + 1
            else:
                high = middle
        return low - 1

    cdef LogOffsetMetadata end_metadata(self) noexcept nogil:
        cdef LogOffsetMetadata end
        cdef LogSegment* active = self.active_segment()
        end.offset = self.next_offset
        end.segment_base_offset = active.base_offset
        end.position = active.size_bytes
        return end

    cdef bint recent_boundary(self, int64_t offset, LogOffsetMetadata* out) noexcept nogil:
        cdef int64_t oldest = max(<int64_t>0, self.recent_count - RECENT_BOUNDARIES)
        cdef int64_t i = self.recent_count - 1
        cdef LogOffsetMetadata* boundary
        while i >= oldest:
            boundary = &self.recent[i % RECENT_BOUNDARIES]
            if boundary.offset <= offset:
                if boundary.offset != offset:
                    return False
                out[0] = boundary[0]
                return True
            i -= 1
        return False

    cdef int64_t bytes_between(self, int64_t segment_base_offset, int64_t position,
                               const LogOffsetMetadata* end) noexcept nogil:
        cdef int64_t total
        cdef int32_t i
        if segment_base_offset >= end.segment_base_offset:
            if segment_base_offset > end.segment_base_offset:
                return 0
            return max(<int64_t>0, end.position - position)
        total = end.position
        i = self.floor_index(end.segment_base_offset) - 1
        while i >= 0 and self.segment_list[i].base_offset >= segment_base_offset:
            total += self.segment_list[i].size_bytes
            if self.segment_list[i].base_offset == segment_base_offset:
                total -= position
            i -= 1
        return max(<int64_t>0, total)

    cdef int locate(self, int64_t offset, LogOffsetMetadata* out) noexcept nogil:
        """Where the batch that holds `offset` (at most the log end) starts; a negated errno when it cannot be read."""
        cdef LogSegment* segment = NULL
        cdef BatchHeader header
        cdef int64_t size_bytes = 0
        cdef int32_t i
        cdef int outcome
        pthread_mutex_lock(&self.segments_lock)
        if offset >= self.next_offset:
            out[0] = self.end_metadata()
        elif not self.recent_boundary(offset, out):
            i = max(self.floor_index(offset), 0)
            segment = self.segment_list[i]
            segment_acquire(segment)
            size_bytes = segment.size_bytes
        pthread_mutex_unlock(&self.segments_lock)
        if segment == NULL:
            return 0
        outcome = segment_open(segment)
        if outcome >= 0:
            outcome = segment_find_offset(segment, offset, size_bytes, &header, &out.position)
            if outcome == BATCH_PAST_END:
                out.position = size_bytes
        out.offset = offset
        out.segment_base_offset = segment.base_offset
        segment_release(segment)
        return min(outcome, 0)

    # --- growth -----------------------------------------------------------------------------------------------------

    cdef int grow_list(self) noexcept nogil:
        """Room for one more segment in the list."""
        cdef LogSegment** grown
        cdef int32_t capacity = max(<int32_t>8, self.segment_capacity * 2)
        if self.segment_count < self.segment_capacity:
            return 0
        pthread_mutex_lock(&self.segments_lock)
        grown = <LogSegment**>realloc(self.segment_list, <size_t>capacity * sizeof(LogSegment*))
        if grown != NULL:
            self.segment_list = grown
            self.segment_capacity = capacity
        pthread_mutex_unlock(&self.segments_lock)
        return 0 if grown != NULL else -ENOMEM

    cdef void splice(self, int32_t first, int32_t count, LogSegment* segment) noexcept nogil:
        """Puts `segment` (or nothing) in the place of `count` segments; those not yet retired lose our reference."""
        cdef int32_t added = 0 if segment == NULL else 1
        cdef int32_t i
        for i in range(first, first + count):
            if not self.segment_list[i].deleted:
                segment_let_go(self.segment_list[i])
        memmove(self.segment_list + first + added, self.segment_list + first + count,
                <size_t>(self.segment_count - first - count) * sizeof(LogSegment*))
        if segment != NULL:
            self.segment_list[first] = segment
        self.segment_count += added - count

    cdef void remember_boundary(self, LogOffsetMetadata boundary) noexcept nogil:
        self.recent[self.recent_count % RECENT_BOUNDARIES] = boundary
        self.recent_count += 1

    cdef void publish_append(self, int64_t size_bytes, int64_t last_offset) noexcept nogil:
        cdef LogSegment* active = self.active_segment()
        atomic_store_64(&active.size_bytes, active.size_bytes + size_bytes)
        atomic_store_64(&self.next_offset, last_offset + 1)
        self.remember_boundary(self.end_metadata())
        self.note_change()

    cdef int64_t next_jitter_ms(self) noexcept nogil:
        """xorshift64: rolls of many logs must not fall on the same moment, nothing more is asked of it."""
        self.jitter_state ^= self.jitter_state << 13
        self.jitter_state ^= self.jitter_state >> 7
        self.jitter_state ^= self.jitter_state << 17
        if self.limits.segment_jitter_ms <= 0:
            return 0
        return <int64_t>(self.jitter_state % <uint64_t>min(self.limits.segment_jitter_ms, self.limits.segment_ms))

    cdef bint must_roll(self, int64_t size_bytes, int64_t max_timestamp, int64_t last_offset,
                        int64_t now_ms) noexcept nogil:
        """LogSegment.shouldRoll: size, age by the records' time or else the clock, full indexes, relative offset."""
        cdef LogSegment* active = self.active_segment()
        cdef int64_t waited_ms
        if active.size_bytes > self.limits.segment_bytes - size_bytes:
            return True
        if active.first_timestamp >= 0 and max_timestamp >= 0:
            waited_ms = max_timestamp - active.first_timestamp
        else:
            waited_ms = now_ms - active.created_ms
        if active.size_bytes > 0 and waited_ms > self.limits.segment_ms - active.roll_jitter_ms:
            return True
        return (index_is_full(&active.offset_index) or time_index_is_full(&active.time_index)
                or last_offset - active.base_offset > INT32_MAX)

    cdef int prepare_roll(self, int64_t base_offset) noexcept nogil:
        """What a log of more than segments puts on disk before a segment begins at `base_offset`."""
        return 0

    cdef int roll_to(self, int64_t base_offset, int64_t now_ms) noexcept nogil:
        """Finishes the active segment and begins one at `base_offset`; an empty active one of that base is replaced."""
        cdef LogSegment* finished = NULL
        cdef int32_t kept = self.segment_count
        cdef int outcome = 0
        if kept and self.active_segment().base_offset == base_offset:
            kept -= 1
        else:
            outcome = self.prepare_roll(base_offset)
            if outcome >= 0 and kept:
                # Held, so that it is still open for appending should there be no next one.
                finished = self.active_segment()
                segment_acquire(finished)
                outcome = segment_finish(finished)
        if outcome >= 0:
            outcome = self.begin_segment(kept, base_offset, now_ms)
            if outcome < 0 and finished != NULL:
                # Appends that need no roll may go on where they were, say when descriptors were lacking.
                finished.appended = True
                atomic_store_32(&finished.writable, 1)
        if finished != NULL:
            segment_release(finished)
        return outcome

    cdef int begin_unmade(self, int64_t now_ms) noexcept nogil:
        """The first segment of a log that has had none: offset 0, and no files until there is a record.

        Only there: any other base offset is known from the name of the file.
        """
        cdef LogSegment* segment = segment_new(self.disk, self.directory_path, 0, self.limits.max_index_bytes,
                                               self.limits.index_interval_bytes)
        cdef int outcome = -ENOMEM if segment == NULL else self.grow_list()
        if outcome < 0:
            if segment != NULL:
                segment_release(segment)
            return outcome
        segment.roll_jitter_ms = self.next_jitter_ms()
        segment_create_later(segment, now_ms)
        self.splice(0, 0, segment)
        return 0

    cdef int begin_segment(self, int32_t kept, int64_t base_offset, int64_t now_ms) noexcept nogil:
        """A new active segment after the first `kept` ones; the others are let go in the same moment."""
        cdef LogSegment* segment = segment_new(self.disk, self.directory_path, base_offset,
                                               self.limits.max_index_bytes,
                                               self.limits.index_interval_bytes)
        cdef int outcome
        if segment == NULL:
            return -ENOMEM
        segment.roll_jitter_ms = self.next_jitter_ms()
        outcome = self.grow_list()
        if outcome >= 0:
            outcome = segment_create(segment, now_ms)
        if outcome < 0:
            if kept == self.segment_count:
                # Nobody else has files of these names, and found by the next load they would end the log here.
                segment_unlink(segment)
            segment_release(segment)
            return outcome
        pthread_mutex_lock(&self.segments_lock)
        self.splice(kept, self.segment_count - kept, segment)
        atomic_store_64(&self.next_offset, base_offset)
        self.remember_boundary(self.end_metadata())
        pthread_mutex_unlock(&self.segments_lock)
        self.directory_changed = True
        self.note_change()
        return 0

    # --- durability -------------------------------------------------------------------------------------------------

    cdef LogSegment** pin_from(self, int64_t offset, int32_t* count) noexcept nogil:
        cdef LogSegment** pinned
        cdef int32_t first, i
        count[0] = 0
        pthread_mutex_lock(&self.segments_lock)
        first = max(self.floor_index(offset), 0)
        pinned = <LogSegment**>malloc(<size_t>(self.segment_count - first + 1) * sizeof(LogSegment*))
        if pinned != NULL:
            count[0] = self.segment_count - first
            for i in range(count[0]):
                pinned[i] = self.segment_list[first + i]
                segment_acquire(pinned[i])
        pthread_mutex_unlock(&self.segments_lock)
        return pinned

    cdef int flush_to_disk(self, bint include_active) noexcept nogil:
        """Everything appended so far (or rolled so far) onto the device, then the recovery point behind it.

        Appends go on meanwhile; a second flush waits for the first and often finds its work done.
        """
        cdef LogSegment** pinned
        cdef int64_t target
        cdef int32_t count = 0
        cdef int outcome = 0
        cdef bint sync_directory
        cdef int64_t started_ns
        pthread_mutex_lock(&self.flush_lock)
        pthread_mutex_lock(&self.append_lock)
        if self.closed or self.is_offline():
            # A flush that failed before this one lost pages for which the system now reports no error any more.
            outcome = 0 if self.closed else -self.failure_errno
            pthread_mutex_unlock(&self.append_lock)
            pthread_mutex_unlock(&self.flush_lock)
            return outcome
        target = self.next_offset if include_active else self.active_segment().base_offset
        if self.flushed_offset >= target and not self.directory_changed:
            pthread_mutex_unlock(&self.append_lock)
            pthread_mutex_unlock(&self.flush_lock)
            return 0
        # One offset lower, because a segment that ends at the recovery point may have been rolled since: its indexes
        # are not on the device yet.
        pinned = self.pin_from(self.flushed_offset - 1, &count)
        sync_directory = self.directory_changed
        self.directory_changed = False
        self.flush_ceiling = self.next_offset
        pthread_mutex_unlock(&self.append_lock)
        started_ns = self.disk.monotonic_ns(self.disk.context)
        outcome = self.sync_pinned(pinned, count if include_active else count - 1)
        self.unpin(pinned, count)
        if outcome >= 0 and (sync_directory or not self.birth_is_durable):
            outcome = self.disk.fsync_directory(self.disk.context, self.directory_path)
        if outcome >= 0 and not self.birth_is_durable:
            outcome = self.sync_birth()
        if is_full(outcome):
            # Of what the device had no room for: no later flush would tell.
            self.offline_unless_done(outcome, b"flushing the log")
        if outcome >= 0:
            outcome = self.prepare_recovery_point(target)
        if outcome >= 0:
            self.advance_recovery_point(target)
            record_log_flush(self.disk.monotonic_ns(self.disk.context) - started_ns)
        else:
            if sync_directory:
                pthread_mutex_lock(&self.append_lock)
                self.directory_changed = True
                pthread_mutex_unlock(&self.append_lock)
            self.fail(outcome, b"flushing the log")
        pthread_mutex_unlock(&self.flush_lock)
        return outcome

    cdef int sync_birth(self) noexcept nogil:
        """What makes the records of a log findable after a crash: its directory's name and `partition.metadata`.

        Neither is synced when the log is made, for an empty log is made anew as well; so its first flush does it.
        """
        cdef size_t length = strlen(self.directory_path)
        cdef char* path = <char*>malloc(length + METADATA_FILE_BYTES)
        cdef int descriptor, outcome
        if path == NULL:
            return -ENOMEM
        snprintf(path, length + METADATA_FILE_BYTES, "%s/%s", self.directory_path, METADATA_FILE)
        descriptor = self.disk.open(self.disk.context, path, O_RDONLY, 0)
        # A log that no topic was given to has no such file.
        outcome = 0 if descriptor == -ENOENT else descriptor
        if descriptor >= 0:
            outcome = self.disk.fdatasync(self.disk.context, descriptor)
            self.disk.close(self.disk.context, descriptor)
        if outcome >= 0:
            path[length] = 0
            outcome = sync_parent(self.disk, path)
        free(path)
        self.birth_is_durable = outcome >= 0
        return outcome

    cdef int sync_pinned(self, LogSegment** pinned, int32_t count) noexcept nogil:
        cdef int outcome = 0 if pinned != NULL else -ENOMEM
        cdef int32_t i
        for i in range(count):
            if outcome >= 0:
                outcome = segment_sync(pinned[i])
        return outcome

    cdef void unpin(self, LogSegment** pinned, int32_t count) noexcept nogil:
        """Lets go; finished segments close, so that memory for their indexes gives way to mappings when next read."""
        cdef int32_t i
        if pinned == NULL:
            return
        pthread_mutex_lock(&self.append_lock)
        pthread_mutex_lock(&self.segments_lock)
        for i in range(count):
            if (atomic_load_32(&pinned[i].references) == 2 and not pinned[i].deleted
                    and not atomic_load_32(&pinned[i].writable) and pinned[i].offset_index.writable):
                segment_close_idle(pinned[i], 2)
        pthread_mutex_unlock(&self.segments_lock)
        pthread_mutex_unlock(&self.append_lock)
        for i in range(count):
            segment_release(pinned[i])
        free(pinned)

    cdef int prepare_recovery_point(self, int64_t target) noexcept nogil:
        """What a log of more than segments puts on disk before its records below `target` are not read again."""
        return 0

    cdef void advance_recovery_point(self, int64_t target) noexcept nogil:
        pthread_mutex_lock(&self.segments_lock)
        # A truncation may have come between: what was appended in the place of what it cut is not on the device.
        target = min(target, self.flush_ceiling, self.next_offset)
        if target > self.flushed_offset:
            atomic_store_64(&self.flushed_offset, target)
            self.note_change()
        atomic_store_64(&self.flushed_at_ms, self.disk.now_ms(self.disk.context))
        pthread_mutex_unlock(&self.segments_lock)

    # --- shrinking --------------------------------------------------------------------------------------------------

    cdef int retire(self, int32_t first, int32_t count, int64_t now_ms) noexcept nogil:
        """Renames the files of segments that are about to leave the list, and keeps them until they are due."""
        cdef LogSegment* segment
        cdef int outcome = 0, renamed
        cdef int32_t i
        for i in range(first, first + count):
            segment = self.segment_list[i]
            renamed = segment_rename_deleted(segment)
            outcome = renamed if renamed < 0 else outcome
            segment.delete_due_ms = now_ms + self.limits.file_delete_delay_ms
            segment.next_deleted = self.deleted_segments
            self.deleted_segments = segment
        self.directory_changed = True
        self.note_change()
        return outcome

    cdef int remove_segments(self, int32_t first, int32_t count, int64_t now_ms) noexcept nogil:
        """Takes segments, never all of them, out of the list."""
        cdef int outcome = self.retire(first, count, now_ms)
        pthread_mutex_lock(&self.segments_lock)
        self.splice(first, count, NULL)
        pthread_mutex_unlock(&self.segments_lock)
        return outcome

    cdef void purge_deleted(self, int64_t now_ms) noexcept nogil:
        """Lets go of the removed segments that are due: whoever still sends from one unlinks it when done."""
        cdef LogSegment* due = NULL
        cdef LogSegment* segment
        cdef LogSegment** link
        pthread_mutex_lock(&self.append_lock)
        link = &self.deleted_segments
        while link[0] != NULL:
            segment = link[0]
            if segment.delete_due_ms <= now_ms:
                link[0] = segment.next_deleted
                segment.next_deleted = due
                due = segment
            else:
                link = &segment.next_deleted
        pthread_mutex_unlock(&self.append_lock)
        while due != NULL:
            segment = due
            due = segment.next_deleted
            segment_let_go(segment)

    cdef int replace_active(self, LogSegment* old, int64_t position, int64_t offset) noexcept nogil:
        """The same files under a new structure, cut at `position`: readers keep the old one and its indexes."""
        cdef LogSegment* segment = segment_new(self.disk, self.directory_path, old.base_offset,
                                               self.limits.max_index_bytes,
                                               self.limits.index_interval_bytes)
        cdef int outcome = -ENOMEM
        if segment == NULL:
            return outcome
        # Until it stands in the list nobody else may take it for idle.
        segment_acquire(segment)
        atomic_store_32(&segment.writable, 1)
        segment.size_bytes = old.size_bytes
        segment.created_ms = old.created_ms
        segment.roll_jitter_ms = old.roll_jitter_ms
        segment.first_timestamp = old.first_timestamp if position > 0 else -1
        segment.aborted_count = old.aborted_count
        outcome = segment_finish(old) if atomic_load_32(&old.writable) else 0
        if outcome >= 0:
            outcome = segment_open(segment)
        if outcome >= 0:
            outcome = self.disk.ftruncate(self.disk.context, segment.descriptor, position)
        if outcome < 0:
            segment_release(segment)
            segment_let_go(segment)
            return outcome
        segment.appended = True  # its indexes have to be written
        offset_index_truncate(&segment.offset_index, segment.base_offset, offset)
        time_index_truncate(&segment.time_index, segment.base_offset, offset)
        segment.size_bytes = position
        segment_count_unindexed(segment)
        outcome = transaction_index_truncate(segment, offset)
        if outcome >= 0:
            outcome = segment_find_max_timestamp(segment)
        if outcome < 0:
            segment_release(segment)
            segment_let_go(segment)
            return outcome
        self.directory_changed = True  # the cut itself is what has to be synced
        # At once: a reader must not be bounded by what stood where the file has ended.
        pthread_mutex_lock(&self.segments_lock)
        self.segment_list[self.segment_count - 1] = segment
        self.set_end(offset)
        pthread_mutex_unlock(&self.segments_lock)
        segment_let_go(old)
        segment_release(segment)
        return 0

    cdef int cut_to(self, int64_t offset, int64_t now_ms) noexcept nogil:
        """Drops every batch that holds records at or above `offset`, which becomes the log end."""
        cdef LogSegment* last
        cdef BatchHeader header
        cdef int64_t position = 0
        cdef int outcome = 0
        cdef int32_t kept = self.floor_index(offset) + 1
        if kept == 0:
            return self.restart_at(offset, now_ms)
        if kept < self.segment_count:
            outcome = self.remove_segments(kept, self.segment_count - kept, now_ms)
        last = self.active_segment()
        segment_acquire(last)
        if outcome >= 0:
            outcome = segment_open(last)
        if outcome >= 0:
            outcome = segment_find_offset(last, offset, last.size_bytes, &header, &position)
        if outcome == BATCH_PAST_END:
            position = last.size_bytes
        if outcome >= 0:
            outcome = self.replace_active(last, position, offset)
        segment_release(last)
        return outcome

    cdef void set_end(self, int64_t offset) noexcept nogil:
        """The log end moves back; the caller holds segments_lock."""
        self.recent_count = 0
        atomic_store_64(&self.next_offset, offset)
        self.flush_ceiling = min(self.flush_ceiling, offset)
        if self.flushed_offset > offset:
            atomic_store_64(&self.flushed_offset, offset)
        self.end_moved_back()
        self.note_change()

    cdef void end_moved_back(self) noexcept nogil:
        """What a log of more than segments has to lower in the same moment."""

    cdef int restart_at(self, int64_t offset, int64_t now_ms) noexcept nogil:
        """Drops everything; the log goes on, empty, at `offset`."""
        # The old files step aside first: one of them may have the new one's name.
        cdef int outcome = self.retire(0, self.segment_count, now_ms)
        if outcome >= 0:
            outcome = self.begin_segment(0, offset, now_ms)
        if outcome >= 0:
            pthread_mutex_lock(&self.segments_lock)
            self.set_end(offset)
            pthread_mutex_unlock(&self.segments_lock)
        return outcome

    # --- Python's face ----------------------------------------------------------------------------------------------

    @property
    def recovery_point(self):
        """Everything below this offset is on the device."""
        return atomic_load_64(&self.flushed_offset)

    @property
    def refused_for_room(self):
        """How many times something could not be written because the disk was full."""
        return atomic_load_32(&self.refusals)

    @property
    def last_flush_ms(self):
        """When the log was last flushed, or loaded."""
        return atomic_load_64(&self.flushed_at_ms)

    @property
    def directory(self):
        """Where the log lies."""
        return fsdecode(<bytes>self.directory_path)

    @property
    def segments(self):
        """A SegmentInfo for each segment, oldest first."""
        cdef LogSegment** pinned
        cdef int32_t count = 0, i
        with nogil:
            pinned = self.pin_from(0, &count)
        if pinned == NULL:
            raise MemoryError
        try:
            return [segment_info(pinned[i]) for i in range(count)]
        finally:
            with nogil:
                for i in range(count):
                    segment_release(pinned[i])
                free(pinned)

    @property
    def first_segment_offset(self):
        """The base offset of the oldest segment."""
        cdef int64_t offset
        with nogil:
            pthread_mutex_lock(&self.segments_lock)
            offset = self.segment_list[0].base_offset
            pthread_mutex_unlock(&self.segments_lock)
        return offset

    @property
    def size_bytes(self):
        """The bytes of all .log files."""
        return sum(info.size_bytes for info in self.segments)

    def close_idle_segments(self):
        """Closes the files of finished segments that nobody reads at the moment; they open again when read."""
        cdef int32_t i
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            pthread_mutex_lock(&self.segments_lock)
            for i in range(self.segment_count - 1):
                segment_close_idle(self.segment_list[i], 1)
            pthread_mutex_unlock(&self.segments_lock)
            pthread_mutex_unlock(&self.append_lock)


cdef int flush_for_committer(void* log) noexcept nogil:
    cdef int outcome = (<LocalLog>log).flush_to_disk(True)
    # A shortage passes, and leaves the log online.
    return -EAGAIN if is_shortage(outcome) and not (<LocalLog>log).is_offline() else outcome


cdef SegmentInfo segment_info(LogSegment* segment):
    cdef SegmentInfo info = SegmentInfo.__new__(SegmentInfo)
    info.base_offset = segment.base_offset
    info.size_bytes = atomic_load_64(&segment.size_bytes)
    info.index_entries = atomic_load_32(&segment.offset_index.entries)
    info.time_index_entries = atomic_load_32(&segment.time_index.entries)
    info.max_timestamp = atomic_load_64(&segment.max_timestamp)
    info.indexes_are_wrong = bool(atomic_load_32(&segment.indexes_are_wrong))
    info.path = fsdecode(<bytes>segment.path)
    return info


cdef LogLimits limits_of(config):
    """What native code needs of a LogConfig."""
    cdef LogLimits limits
    memset(&limits, 0, sizeof(limits))
    limits.segment_bytes = config.segment_bytes
    limits.segment_ms = config.segment_ms
    limits.segment_jitter_ms = config.segment_jitter_ms
    limits.index_interval_bytes = config.index_interval_bytes
    limits.max_index_bytes = config.max_index_bytes
    limits.flush_messages = config.flush_messages
    limits.flush_ms = config.flush_ms
    limits.retention_bytes = config.retention_bytes
    limits.retention_ms = config.retention_ms
    limits.file_delete_delay_ms = config.file_delete_delay_ms
    limits.delete_policy = config.delete
    limits.validation.compacted = config.compact
    limits.validation.header_only = config.header_only_validation
    limits.validation.timestamp_type = config.timestamp_type
    limits.validation.target_codec = config.compression_type
    limits.validation.compression_level = config.compression_level
    limits.validation.max_message_bytes = config.max_message_bytes
    limits.validation.timestamp_before_max_ms = config.timestamp_before_max_ms
    limits.validation.timestamp_after_max_ms = config.timestamp_after_max_ms
    limits.validation.decompressed_limit_bytes = config.decompressed_limit_bytes
    return limits
