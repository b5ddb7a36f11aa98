"""Scanning segments after a crash, and building a log from its files (the native half of log_loader).

A scan reads a segment's batches from the start. It checks length, magic and checksum, and that the offsets rise and fit
the segment. It ends at the first invalid byte. It rebuilds both indexes and learns leader epochs on the way. The .log
file changes only in `commit`; a scan that a crash interrupts is repeated.

Concurrency: none. The log is not published yet, so no lock is taken. The GIL is released while bytes are read.
"""

import zlib

from libc.errno cimport EBADMSG, EIO, ENOMEM
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset
from posix.fcntl cimport O_RDWR
from kcore.cursor cimport Cursor, cursor_over, read_int32
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_INCOMPLETE, BATCH_INVALID, BATCH_OLD_MAGIC, BATCH_UNKNOWN_MAGIC, CONTROL_MASK,
    MAGIC_POSITION, BatchHeader, BatchStatus, has_valid_checksum, read_batch_header,
)
from kcore.platform.sync cimport atomic_store_32
from kcore.storage.log cimport Log
from kcore.storage.index_file cimport index_create
from kcore.storage.offset_index cimport OFFSET_ENTRY_BYTES, offset_index_entry
from kcore.storage.segment cimport (
    LogSegment, segment_acquire, segment_close_idle, segment_file_path, segment_finish, segment_index_batch,
    segment_new, segment_open, segment_release, segment_stat, segment_sync,
)
from kcore.storage.producer_replay cimport load_latest_snapshot, replay_segment
from kcore.storage.producer_state cimport ProducerStateManager
from kcore.storage.segment_search cimport BATCH_FOUND, segment_find_batch, segment_find_max_timestamp
from kcore.storage.time_index cimport TIME_ENTRY_BYTES
from kcore.storage.transaction_index cimport transaction_index_load

cdef enum:
    WINDOW_BYTES = 1 << 20
    CHECKED_TIMES = 8
    PATH_CAPACITY = 4096
    OLD_CRC_POSITION = 12
    OLD_CHECKED_FROM = 16


cdef bint has_valid_old_checksum(const uint8_t* batch, int32_t size_bytes) noexcept with gil:
    """CRC-32 of a message of magic 0 or 1."""
    cdef Cursor cursor = cursor_over(batch + OLD_CRC_POSITION, 4)
    cdef uint32_t carried = <uint32_t>read_int32(&cursor)
    return <uint32_t>zlib.crc32((<const char*>batch)[OLD_CHECKED_FROM:size_bytes]) == carried


cdef class SegmentScan:
    """The result of a scan: up to where a segment is valid, and what is wrong after that."""

    @property
    def reason(self):
        """Why the scan ended before the end of the file, or None."""
        return None if self.damage == NULL else (<bytes>self.damage).decode()


cdef class LogRecovery:
    """Builds a new Log. One object per load."""

    def __cinit__(self, Log log not None):
        self.log = log
        memset(&self.window, 0, sizeof(self.window))

    def __dealloc__(self):
        free(self.window.data)

    cdef LogSegment* segment_at(self, int32_t index) except NULL:
        if index < 0 or index >= self.log.segment_count:
            raise IndexError(index)
        return self.log.segment_list[index]

    # --- adding segments --------------------------------------------------------------------------------------------

    def add_segment(self, int64_t base_offset):
        """Appends an existing segment to the list. Its files stay closed."""
        cdef Log log = self.log
        cdef LogSegment* segment = segment_new(log.disk, log.directory_path, base_offset, log.limits.max_index_bytes,
                                               log.limits.index_interval_bytes)
        if segment == NULL:
            raise MemoryError
        cdef int outcome = segment_stat(segment)
        if outcome >= 0:
            outcome = log.grow_list()
        if outcome < 0:
            segment_release(segment)
        log.disk_owner.check(outcome, log.directory)
        log.splice(log.segment_count, 0, segment)

    def drop_last_segment(self):
        """Removes the last segment from the list. The caller removes its files."""
        self.log.splice(self.log.segment_count - 1, 1, NULL)

    def segment_range(self, int32_t index):
        """The segment's `(base offset, size in bytes)`."""
        cdef LogSegment* segment = self.segment_at(index)
        return segment.base_offset, segment.size_bytes

    @property
    def is_compacted(self):
        """Whether compaction may have left gaps between the log's offsets."""
        return bool(self.log.limits.validation.compacted)

    def create_first(self, int64_t base_offset):
        """Begins an empty log. At offset 0 the first record creates the files."""
        cdef Log log = self.log
        cdef int64_t now_ms = log.disk.now_ms(log.disk.context)
        log.disk_owner.check(log.begin_unmade(now_ms) if base_offset == 0 else log.begin_segment(0, base_offset, now_ms),
                             log.directory)

    def has_sane_indexes(self, int32_t index):
        """Whether the indexes can be read, fit the segment, and are not empty where they must not be."""
        cdef LogSegment* segment = self.segment_at(index)
        cdef int outcome
        cdef bint sane = False
        with nogil:
            segment_acquire(segment)
            outcome = segment_open(segment)
            sane = outcome >= 0 and not segment.indexes_are_wrong
            if sane:
                outcome = transaction_index_load(segment)
                sane = outcome >= 0
                outcome = 0 if outcome == -EBADMSG else outcome
            segment_close_idle(segment, 2)
            segment_release(segment)
        self.log.disk_owner.check(outcome, self.log.directory)
        if not sane:
            segment.max_timestamp = -1
        return bool(sane)

    def forget_epochs_from(self, int64_t offset):
        """Drops the leader epochs that start at or above `offset`; scanning the batches finds them again."""
        self.log.leader_epochs.truncate_from_end(offset)

    def write_epochs(self):
        """Writes the leader epoch checkpoint if it is out of date."""
        cdef int outcome
        with nogil:
            outcome = self.log.leader_epochs.write_when_changed(self.log.next_offset)
        self.log.disk_owner.check(outcome, self.log.directory)

    # --- scanning ---------------------------------------------------------------------------------------------------

    def scan(self, int32_t index):
        """Reads a segment from its start and rebuilds its indexes in memory. Call `commit` afterwards."""
        cdef LogSegment* segment = self.segment_at(index)
        cdef SegmentScan scan = SegmentScan()
        scan.next_offset = segment.base_offset
        segment_close_idle(segment, 1)
        segment.max_timestamp = segment.first_timestamp = -1
        segment.bytes_since_last_index_entry = 0
        with nogil:
            scan.outcome = open_for_rebuild(segment)
            if scan.outcome >= 0:
                self.window.filled = 0
                self.scan_batches(segment, scan)
        self.log.disk_owner.check(scan.outcome, self.log.directory)
        return scan

    cdef const uint8_t* bytes_at(self, LogSegment* segment, int64_t position, int64_t size) noexcept nogil:
        """Returns `size` bytes of the file at `position`. NULL on failure; `window.failure` is then a negated errno."""
        cdef ScanWindow* window = &self.window
        cdef size_t wanted = <size_t>max(size, <int64_t>WINDOW_BYTES)
        cdef uint8_t* grown
        if position >= window.start and position + size <= window.start + window.filled:
            return window.data + (position - window.start)
        if wanted > window.capacity:
            grown = <uint8_t*>realloc(window.data, wanted)
            if grown == NULL:
                window.failure = -ENOMEM
                return NULL
            window.data = grown
            window.capacity = wanted
        window.start = position
        window.filled = segment.disk.pread(segment.disk.context, segment.descriptor, window.data, wanted, position)
        if window.filled < size:
            # A file that became shorter while it is read counts as damaged hardware.
            window.failure = <int>window.filled if window.filled < 0 else -EIO
            return NULL
        return window.data

    cdef const char* check_batch(self, LogSegment* segment, const uint8_t* batch, int64_t available,
                                 int64_t next_offset, int64_t* size_bytes, int64_t* last_offset) noexcept nogil:
        """Returns NULL and sets size and last offset if the batch is valid, or returns what is wrong with it."""
        cdef BatchHeader header
        cdef BatchStatus status = read_batch_header(batch, <size_t>available, &header)
        size_bytes[0] = header.size_bytes
        if status == BATCH_INCOMPLETE:
            return "a batch is cut off"
        if status == BATCH_INVALID:
            return "a batch has an impossible length or count"
        if status == BATCH_UNKNOWN_MAGIC:
            return "a batch has an unknown magic"
        if status == BATCH_OLD_MAGIC:
            if header.size_bytes <= OLD_CHECKED_FROM or not has_valid_old_checksum(batch, header.size_bytes):
                return "a message has a wrong checksum"
        elif not has_valid_checksum(batch, &header):
            return "a batch has a wrong checksum"
        if header.base_offset < next_offset or header.last_offset < header.base_offset:
            return "the offsets of a batch do not follow those before it"
        if header.last_offset - segment.base_offset > INT32_MAX:
            return "the offsets of a batch lie outside the segment"
        last_offset[0] = header.last_offset
        return NULL

    cdef void scan_batches(self, LogSegment* segment, SegmentScan scan) noexcept nogil:
        cdef const uint8_t* batch
        cdef BatchHeader header
        cdef int64_t position = 0, size_bytes = 0, last_offset = 0, head
        while position < segment.size_bytes:
            head = min(<int64_t>BATCH_HEADER_SIZE, segment.size_bytes - position)
            batch = self.bytes_at(segment, position, head)
            if batch != NULL:
                read_batch_header(batch, <size_t>head, &header)
                if header.size_bytes > head and header.size_bytes <= segment.size_bytes - position:
                    head = header.size_bytes
                    batch = self.bytes_at(segment, position, head)
            if batch == NULL:
                scan.outcome = self.window.failure
                return
            scan.damage = self.check_batch(segment, batch, head, scan.next_offset, &size_bytes, &last_offset)
            if scan.damage != NULL:
                break
            read_batch_header(batch, <size_t>head, &header)
            self.note_batch(segment, &header, position)
            scan.has_markers |= (header.attributes & CONTROL_MASK) != 0
            scan.next_offset = last_offset + 1
            position += size_bytes
        scan.valid_bytes = position

    cdef void note_batch(self, LogSegment* segment, const BatchHeader* header, int64_t position) noexcept nogil:
        segment_index_batch(segment, header, position, self.log.limits.index_interval_bytes)
        if header.partition_leader_epoch > self.log.leader_epochs.latest_epoch():
            self.log.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)

    def rebuild_transaction_index(self, int32_t index, SegmentScan scan not None):
        """Rebuilds the transaction index from the batches of a scanned segment. Call this before `commit`."""
        cdef LogSegment* segment = self.segment_at(index)
        cdef int outcome = 0
        segment.size_bytes = scan.valid_bytes
        segment.aborted_count = 0
        path = f"{self.log.directory}/{segment.base_offset:020d}.txnindex"
        if self.log.disk_owner.exists(path):
            self.log.disk_owner.unlink(path)
        if not scan.has_markers:
            return
        if self.producers is None or self.producers_end > segment.base_offset:
            self.producers = ProducerStateManager(self.log.producer_state.expiration_ms)
            self.producers_end = -1
        with nogil:
            outcome = replay_to(self.log, self.producers, self.producers_end, index)
            if outcome >= 0:
                outcome = replay_segment(self.producers, segment, segment.base_offset, True)
        self.producers_end = scan.next_offset
        self.log.disk_owner.check(outcome, self.log.directory)

    def find_sound_batch(self, int32_t index, int64_t position, int64_t next_offset):
        """The base offset of the first valid batch at or after a position of a scanned segment, or None.

        Raises OSError if a part of the segment cannot be read.

        Crafted bytes can look like the header of a long batch every few bytes. The work is bounded: once checksums over
        several times the length of the tail were computed, the next header of magic 2 counts as valid. Saving some
        useless bytes costs less than the time.
        """
        cdef LogSegment* segment = self.segment_at(index)
        cdef const uint8_t* batch
        cdef int64_t at = position, size_bytes = 0, last_offset = 0, found = -1, head
        cdef int64_t to_check = CHECKED_TIMES * (segment.size_bytes - position) + WINDOW_BYTES
        cdef int outcome = 0
        cdef BatchHeader header
        with nogil:
            while found < 0 and at + OLD_CHECKED_FROM < segment.size_bytes:
                head = min(<int64_t>BATCH_HEADER_SIZE, segment.size_bytes - at)
                batch = self.bytes_at(segment, at, head)
                # A cheap test first: few positions have a valid magic and a length that fits.
                if (batch != NULL and batch[MAGIC_POSITION] <= 2
                        and claims_batch(batch, head, segment.size_bytes - at, &header)):
                    to_check -= header.size_bytes
                    if to_check >= 0:
                        batch = self.bytes_at(segment, at, header.size_bytes)
                        if batch != NULL and self.check_batch(segment, batch, header.size_bytes, next_offset,
                                                              &size_bytes, &last_offset) == NULL:
                            found = max(header.base_offset, next_offset)
                    elif header.magic == 2:
                        # Zeros look like headers of old messages, so those always need a valid checksum.
                        found = max(header.base_offset, next_offset)
                if batch == NULL:
                    # What cannot be read may be valid. The caller would drop it as damaged.
                    outcome = self.window.failure
                    break
                at += 1
        self.log.disk_owner.check(outcome, self.log.directory)
        return None if found < 0 else found

    def commit(self, int32_t index, SegmentScan scan not None, bint synced):
        """Cuts the file at the end of its valid bytes and writes the new indexes.

        Pass `synced` for a segment below the recovery point, which no later flush covers. Segments above it are flushed
        with the log, and scanned again after another crash.
        """
        cdef LogSegment* segment = self.segment_at(index)
        cdef int outcome
        segment.size_bytes = scan.valid_bytes
        with nogil:
            outcome = segment_finish(segment)
            if outcome >= 0 and synced:
                outcome = segment_sync(segment)
            segment.indexes_are_wrong = False
            segment_close_idle(segment, 1)
        self.log.disk_owner.check(outcome, self.log.directory)

    # --- the whole log ----------------------------------------------------------------------------------------------

    def open_active(self):
        """Makes the last segment the active one. Returns the log end offset; None if the segment's end is damaged."""
        cdef LogSegment* segment = self.segment_at(self.log.segment_count - 1)
        cdef int64_t end_offset = -1
        cdef int outcome
        segment.roll_jitter_ms = self.log.next_jitter_ms()
        with nogil:
            segment_close_idle(segment, 1)
            atomic_store_32(&segment.writable, 1)
            segment_acquire(segment)
            outcome = segment_open(segment)
            if outcome >= 0:
                outcome = read_end_offset(segment, &end_offset)
            if outcome >= 0:
                outcome = segment_find_max_timestamp(segment)
            segment_release(segment)
            segment_close_idle(segment, 1)
        if outcome == -EBADMSG:
            atomic_store_32(&segment.writable, 0)
            segment_close_idle(segment, 1)
            return None
        self.log.disk_owner.check(outcome, self.log.directory)
        return end_offset

    def take_active(self, left not None):
        """Takes the last segment's state from `left`, as a clean shutdown recorded it. False if the file differs."""
        cdef LogSegment* segment = self.segment_at(self.log.segment_count - 1)
        base_offset, size_bytes, modified_ms, first_timestamp, max_timestamp, offset_of_max = left
        if (segment.base_offset != base_offset or segment.size_bytes != size_bytes
                or segment.created_ms != modified_ms):
            return False
        atomic_store_32(&segment.writable, 1)
        segment.roll_jitter_ms = self.log.next_jitter_ms()
        segment.first_timestamp = first_timestamp
        segment.max_timestamp = max_timestamp
        segment.offset_of_max_timestamp = offset_of_max
        return True

    def finish_new(self):
        """Completes the log of an empty directory without reading anything. The log can be used afterwards."""
        self.log.remember_boundary(self.log.end_metadata())
        self.log.high_watermark_at = self.log.end_metadata()

    def finish(self, int64_t start_offset, int64_t end_offset, int64_t recovery_point):
        """Sets the log's offsets and loads epochs and producer state for them. The log can be used afterwards."""
        cdef Log log = self.log
        cdef int outcome
        cdef LogSegment* first
        log.first_offset = log.high_watermark_at.offset = start_offset
        log.next_offset = end_offset
        log.flushed_offset = min(recovery_point, end_offset)
        with nogil:
            log.remember_boundary(log.end_metadata())
            log.leader_epochs.truncate_from_end(end_offset)
            log.leader_epochs.truncate_from_start(start_offset)
            outcome = log.rebuild_producer_state(log.disk.now_ms(log.disk.context))
            first = log.segment_list[max(log.floor_index(start_offset), 0)]
            if outcome >= 0 and first.base_offset == start_offset:
                # The position is known without opening the file.
                log.high_watermark_at.segment_base_offset = start_offset
                log.high_watermark_at.position = 0
            elif outcome >= 0:
                outcome = log.locate(start_offset, &log.high_watermark_at)
            log.refresh_first_unstable()
        log.disk_owner.check(outcome, log.directory)


cdef int replay_to(Log log, ProducerStateManager producers, int64_t covered, int32_t index) noexcept nogil:
    """Brings producer state that is complete below `covered` (-1: empty) up to the start of a segment."""
    cdef int64_t base_offset = log.segment_list[index].base_offset
    cdef int outcome = 0
    cdef int32_t i
    if covered < 0:
        covered = load_latest_snapshot(producers, log.disk, log.directory_path, log.segment_list[0].base_offset,
                                       base_offset, False, log.disk.now_ms(log.disk.context))
        outcome = <int>min(covered, <int64_t>0)
    i = max(log.floor_index(covered), 0)
    while outcome >= 0 and i < index:
        outcome = replay_segment(producers, log.segment_list[i], covered, False)
        i += 1
    return outcome


cdef bint claims_batch(const uint8_t* data, int64_t head, int64_t left, BatchHeader* header) noexcept nogil:
    """Whether a batch that fits into `left` bytes seems to begin here. `head` bytes of it are in memory."""
    cdef BatchStatus status = read_batch_header(data, <size_t>head, header)
    return (status != BATCH_INVALID and status != BATCH_UNKNOWN_MAGIC and header.magic >= 0
            and header.size_bytes > OLD_CHECKED_FROM and header.size_bytes <= left)


cdef int open_for_rebuild(LogSegment* segment) noexcept nogil:
    """Opens the .log file as it is and creates two empty indexes."""
    cdef char path[PATH_CAPACITY]
    cdef int outcome = segment_file_path(segment, ".log", path, sizeof(path))
    if outcome >= 0:
        outcome = segment.disk.open(segment.disk.context, path, O_RDWR, 0)
        segment.descriptor = max(outcome, -1)
    if outcome >= 0:
        outcome = segment_file_path(segment, ".index", path, sizeof(path))
    if outcome >= 0:
        outcome = index_create(&segment.offset_index, segment.disk, path, OFFSET_ENTRY_BYTES, segment.max_index_bytes)
    if outcome >= 0:
        outcome = segment_file_path(segment, ".timeindex", path, sizeof(path))
    if outcome >= 0:
        outcome = index_create(&segment.time_index, segment.disk, path, TIME_ENTRY_BYTES, segment.max_index_bytes)
    if outcome >= 0:
        # The segment is not in the list of open segments, so no other thread closes it during the scan.
        atomic_store_32(&segment.is_open, 1)
    return outcome


cdef int read_end_offset(LogSegment* segment, int64_t* end_offset) noexcept nogil:
    """Finds the end offset and the first batch's timestamp. -EBADMSG unless the file ends with a complete batch."""
    cdef BatchHeader header
    cdef int64_t position = 0
    cdef int outcome = segment_find_batch(segment, 0, 0, segment.size_bytes, &header, &position)
    end_offset[0] = segment.base_offset
    if outcome == BATCH_FOUND:
        segment.first_timestamp = header.max_timestamp
    if outcome == BATCH_FOUND and segment.offset_index.entries > 0:
        position = offset_index_entry(&segment.offset_index, segment.base_offset,
                                      segment.offset_index.entries - 1).position
        outcome = segment_find_batch(segment, 0, position, segment.size_bytes, &header, &position)
    while outcome == BATCH_FOUND:
        end_offset[0] = header.last_offset + 1
        position += header.size_bytes
        if position >= segment.size_bytes:
            break
        outcome = segment_find_batch(segment, 0, position, segment.size_bytes, &header, &position)
    return outcome if outcome < 0 else (0 if position == segment.size_bytes or segment.size_bytes == 0 else -EBADMSG)
