"""The ordered segments of one log: look-up, new segments, disk failures (Kafka's `LocalLog`).

Flushing is in log_flush, truncation and the removal of segments in log_truncation, the limits in log_limits.

Crash policy: records below the recovery point are on the device together with their indexes. Everything above it is
scanned when the log is loaded. A disk error, other than a temporary shortage, takes the log offline permanently:
nothing more is written, so the disk holds a prefix of what was acknowledged.

Concurrency: `append_lock` serialises appends, rolls, truncation and deletion. `segments_lock` guards the segment list,
the segments' `size_bytes` together with the log end offset, and the recent boundaries; it is held for a few
instructions. The list and the log end offset change only under both locks, so either lock is enough to read them.
`flush_lock` allows one flush at a time. Lock order: flush_lock, append_lock, segments_lock. The committer's lock is not
taken while any of them is held.
"""

cimport cython

from os import fsdecode

from libc.errno cimport EBADMSG, ENOMEM
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memmove, memset, strdup
from kcore.errors cimport CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR
from kcore.platform.disk cimport Disk
from kcore.platform.sync cimport (
    atomic_add_32, atomic_load_32, atomic_load_64, atomic_store_32, atomic_store_64, atomic_swap_32_if,
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.record.batch cimport BatchHeader
from kcore.storage.index_file cimport index_is_full
from kcore.storage.log_committer cimport LogCommitter
from kcore.storage.log_flush cimport flush_for_committer
from kcore.storage.segment cimport (
    LogSegment, segment_acquire, segment_close_idle, segment_create, segment_create_later, segment_finish,
    segment_let_go, segment_new, segment_open, segment_release, segment_unlink,
)
from kcore.storage.segment_search cimport BATCH_PAST_END, segment_find_offset
from kcore.storage.shortage cimport is_full, is_shortage
from kcore.storage.time_index cimport time_index_is_full


cdef class SegmentInfo:
    """A snapshot of a segment."""

    cdef readonly int64_t base_offset
    cdef readonly int64_t size_bytes
    cdef readonly int32_t index_entries
    cdef readonly int32_t time_index_entries
    cdef readonly int64_t max_timestamp
    cdef readonly bint indexes_are_wrong
    cdef readonly str path


# __dealloc__ uses the disk, so the garbage collector must not clear that reference first.
@cython.no_gc_clear
cdef class LocalLog:
    """Segments on a disk. The loader adds the existing segments before other threads use the log."""

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
            # After a truncation that failed halfway, a segment may be in this list and in the list of deleted segments.
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
        """Takes the log offline permanently. `failure` reports the first error."""
        if atomic_swap_32_if(&self.failure_errno, 0, -outcome):
            self.failed_while = work
        self.note_change()

    cdef int16_t fail(self, int outcome, const char* work) noexcept nogil:
        """The wire error of a negated errno. Takes the log offline unless the error is a temporary shortage."""
        if outcome == -EBADMSG:
            return CORRUPT_MESSAGE
        if is_full(outcome):
            atomic_add_32(&self.refusals, 1)
            self.note_change()
        elif not is_shortage(outcome):
            self.go_offline(outcome, work)
        return KAFKA_STORAGE_ERROR

    cdef int offline_unless_done(self, int outcome, const char* work) noexcept nogil:
        """Takes the log offline if a truncation stopped halfway: its end and its segments may not match any more."""
        if outcome < 0:
            self.go_offline(outcome, work)
        return outcome

    cdef bint is_offline(self) noexcept nogil:
        return atomic_load_32(&self.failure_errno) != 0

    # --- group commit -----------------------------------------------------------------------------------------------

    def set_committer(self, LogCommitter committer not None):
        """Turns on group commit. Call this before the log is used. Such a log has to be closed."""
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
            # The first record creates the files, and the next flush has to sync their names.
            self.directory_changed = True
        outcome[0] = segment_open(active)
        return active

    cdef int32_t floor_index(self, int64_t offset) noexcept nogil:
        """The index of the last segment whose base offset is at or below `offset`; -1 if there is none."""
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
        """Finds the start of the batch with `offset`, at most the log end offset. Returns 0 or a negated errno."""
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
        """Makes room for one more segment in the list."""
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
        """Replaces `count` segments by `segment`, or by nothing if NULL. Releases those that are not marked deleted."""
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
        """xorshift64. The quality is enough to keep many logs from rolling at the same moment."""
        self.jitter_state ^= self.jitter_state << 13
        self.jitter_state ^= self.jitter_state >> 7
        self.jitter_state ^= self.jitter_state << 17
        if self.limits.segment_jitter_ms <= 0:
            return 0
        return <int64_t>(self.jitter_state % <uint64_t>min(self.limits.segment_jitter_ms, self.limits.segment_ms))

    cdef bint must_roll(self, int64_t size_bytes, int64_t max_timestamp, int64_t last_offset,
                        int64_t now_ms) noexcept nogil:
        """LogSegment.shouldRoll: size, age (by timestamps, else by the clock), full indexes, relative offset range."""
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
        """Called before a segment begins at `base_offset`. A subclass writes its own state for that offset here."""
        return 0

    cdef int roll_to(self, int64_t base_offset, int64_t now_ms) noexcept nogil:
        """Finishes the active segment and begins one at `base_offset`; replaces an empty active one of that offset."""
        cdef LogSegment* finished = NULL
        cdef int32_t kept = self.segment_count
        cdef int outcome = 0
        if kept and self.active_segment().base_offset == base_offset:
            kept -= 1
        else:
            outcome = self.prepare_roll(base_offset)
            if outcome >= 0 and kept:
                # Keep a reference, so that it is still open for appends if the next segment cannot be created.
                finished = self.active_segment()
                segment_acquire(finished)
                outcome = segment_finish(finished)
        if outcome >= 0:
            outcome = self.begin_segment(kept, base_offset, now_ms)
            if outcome < 0 and finished != NULL:
                # Appends that need no roll continue in it, for example while file descriptors are lacking.
                finished.appended = True
                atomic_store_32(&finished.writable, 1)
        if finished != NULL:
            segment_release(finished)
        return outcome

    cdef int begin_unmade(self, int64_t now_ms) noexcept nogil:
        """Begins the first segment of a new log, at offset 0. The first record creates its files.

        Only offset 0 allows this: any other base offset has to be on disk, in a file name.
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
        """Adds a new active segment after the first `kept` ones and releases the others, under one lock."""
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
                # No other segment uses these files, and the next start would take them for the end of the log.
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

    cdef int prepare_recovery_point(self, int64_t target) noexcept nogil:
        """Called before the recovery point moves to `target`. A subclass writes its own state up to there."""
        return 0

    cdef void set_end(self, int64_t offset) noexcept nogil:
        """Moves the log end offset back. The caller holds segments_lock."""
        self.recent_count = 0
        atomic_store_64(&self.next_offset, offset)
        self.flush_ceiling = min(self.flush_ceiling, offset)
        if self.flushed_offset > offset:
            atomic_store_64(&self.flushed_offset, offset)
        self.end_moved_back()
        self.note_change()

    cdef void end_moved_back(self) noexcept nogil:
        """Called when the log end offset moved back, under segments_lock. A subclass lowers its own offsets here."""

    # --- Python interface -------------------------------------------------------------------------------------------

    @property
    def recovery_point(self):
        """Everything below this offset is on the device, with its indexes."""
        return atomic_load_64(&self.flushed_offset)

    @property
    def refused_for_room(self):
        """How many writes failed because the disk was full."""
        return atomic_load_32(&self.refusals)

    @property
    def last_flush_ms(self):
        """When the log was last flushed or loaded, in milliseconds since the epoch."""
        return atomic_load_64(&self.flushed_at_ms)

    @property
    def directory(self):
        """The path of the log's directory."""
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
        """The total size of all .log files."""
        return sum(info.size_bytes for info in self.segments)

    def close_idle_segments(self):
        """Closes the files of finished segments that are not being read. The next read opens them again."""
        cdef int32_t i
        with nogil:
            pthread_mutex_lock(&self.append_lock)
            pthread_mutex_lock(&self.segments_lock)
            for i in range(self.segment_count - 1):
                segment_close_idle(self.segment_list[i], 1)
            pthread_mutex_unlock(&self.segments_lock)
            pthread_mutex_unlock(&self.append_lock)


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
