"""Finding a batch in a segment, from an index entry or else from the start (Kafka's `FileRecords`).

The .log file is the truth and an index is only a hint: no index entry is used before a batch confirms it. The batch at
the position of an offset entry must begin at or below the offset that is searched. If it is the batch that is searched,
it must also end with the entry's offset, or a valid batch must follow it. The batch with the offset of a time entry
must have its timestamp. If a batch contradicts an index, the index is marked as wrong (`segment_distrust_indexes`) and
the entries before it are tried, at last the start of the segment. So a flipped byte in an index costs time and never a
record. Kafka trusts every entry between an index's first and last one.

Concurrency: any thread that holds a reference to an open segment.
"""

from libc.errno cimport EBADMSG
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from kcore.platform.sync cimport atomic_load_32, atomic_store_64
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_INCOMPLETE, BATCH_OK, BATCH_OLD_MAGIC, LOG_OVERHEAD, BatchHeader, BatchStatus,
    read_batch_header,
)
from kcore.storage.index_file cimport index_keep
from kcore.storage.offset_index cimport OffsetPosition, offset_index_entry, offset_index_floor
from kcore.storage.segment cimport LogSegment, segment_distrust_indexes
from kcore.storage.time_index cimport TimestampOffset, time_index_last, time_index_lookup

cdef enum:
    SCAN_WINDOW_BYTES = 4096
    ENTRIES_TRIED = 8
    INTERVALS_WITHOUT_ENTRY = 4
    BATCH_MISPLACED = 2          # of find_from: no batch at or below the offset begins at the position


cdef inline bint is_readable(BatchStatus status, int64_t available, const BatchHeader* header) noexcept nogil:
    """Whether the header's length and last offset can be used. In magic 0 and 1 the offset field is the last offset."""
    if status == BATCH_INCOMPLETE:
        return 0 <= header.magic < 2 or (header.magic == 2 and available >= BATCH_HEADER_SIZE)
    return status == BATCH_OK or status == BATCH_OLD_MAGIC


cdef int find_from(LogSegment* segment, int64_t offset, int64_t start, int64_t end, int64_t highest_base,
                   BatchHeader* header, int64_t* position) noexcept nogil:
    """Returns BATCH_MISPLACED if no batch with a base offset from the segment's to `highest_base` begins at `start`."""
    cdef uint8_t window[SCAN_WINDOW_BYTES]
    cdef int64_t at = start
    cdef int64_t window_start = start
    cdef int64_t filled = 0
    cdef int64_t available
    while at + LOG_OVERHEAD < end:
        available = window_start + filled - at
        if available < BATCH_HEADER_SIZE and window_start + filled < end:
            window_start = at
            filled = segment.disk.pread(segment.disk.context, segment.descriptor, window,
                                        <size_t>min(<int64_t>SCAN_WINDOW_BYTES, end - at), at)
            if filled < 0:
                return <int>filled
            available = filled
        if not is_readable(read_batch_header(window + (at - window_start), <size_t>available, header), available, header):
            return BATCH_MISPLACED if at == start and highest_base != INT64_MAX else -EBADMSG
        # `end` is always the end of a batch, so a batch cannot go beyond it.
        if header.size_bytes > end - at:
            return BATCH_MISPLACED if at == start and highest_base != INT64_MAX else -EBADMSG
        if at == start and highest_base != INT64_MAX and not (
                segment.base_offset <= header.base_offset <= highest_base):
            return BATCH_MISPLACED
        if header.last_offset >= offset:
            position[0] = at
            return BATCH_FOUND
        at += header.size_bytes
    # `end` is always the end of a batch. Going past it, or not quite reaching it, means that a length is wrong.
    return BATCH_PAST_END if at == end else -EBADMSG


cdef int segment_find_batch(LogSegment* segment, int64_t offset, int64_t start, int64_t end, BatchHeader* header,
                            int64_t* position) noexcept nogil:
    return find_from(segment, offset, start, end, INT64_MAX, header, position)


cdef bint confirms_place(LogSegment* segment, const BatchHeader* header, const OffsetPosition* entry,
                         int64_t end) noexcept nogil:
    """Whether the bytes at an entry's position are a batch, and not the inside of another one.

    An entry that Kafka wrote for several batches at once has the offset of the last one, and the headers of old formats
    contain little that can be checked. In these cases the next batch has to continue the offsets.
    """
    cdef int64_t following = entry.position + header.size_bytes
    cdef BatchHeader next_header
    if header.magic >= 2 and header.last_offset == entry.offset:
        return True
    if following == end:
        return True
    return (find_from(segment, INT64_MIN, following, end, INT64_MAX, &next_header, &following) == BATCH_FOUND
            and next_header.last_offset > header.last_offset)


cdef int segment_find_offset(LogSegment* segment, int64_t offset, int64_t end, BatchHeader* header,
                             int64_t* position) noexcept nogil:
    cdef int32_t entry = offset_index_floor(&segment.offset_index, offset - segment.base_offset)
    cdef int32_t tried = 0
    cdef OffsetPosition start
    cdef int outcome
    while entry >= 0 and tried < ENTRIES_TRIED:
        start = offset_index_entry(&segment.offset_index, segment.base_offset, entry)
        entry -= 1
        tried += 1
        # A position beyond the end that this reader may see does not contradict the index.
        if 0 <= start.position < end:
            outcome = find_from(segment, offset, start.position, end, offset, header, position)
            if (outcome == BATCH_FOUND and position[0] == start.position
                    and not confirms_place(segment, header, &start, end)):
                outcome = BATCH_MISPLACED
            # Bytes inside a batch may look like a batch, but the bytes after them do not.
            if outcome != BATCH_MISPLACED and outcome != -EBADMSG:
                return outcome
            segment_distrust_indexes(segment)
    return segment_find_batch(segment, offset, 0, end, header, position)


cdef inline bint confirms(const BatchHeader* header, const TimestampOffset* entry) noexcept nogil:
    """Whether a batch is the one for which a time index entry was written."""
    return header.magic < 2 or (header.max_timestamp == entry.timestamp
                                and header.base_offset <= entry.offset <= header.last_offset)


cdef int segment_find_timestamp(LogSegment* segment, int64_t timestamp, int64_t start_offset, int64_t end,
                                BatchHeader* header, int64_t* position) noexcept nogil:
    # Start at an older entry: an entry with exactly this timestamp may come after the first record with it.
    cdef TimestampOffset older = time_index_lookup(&segment.time_index, segment.base_offset, timestamp - 1)
    cdef int outcome = segment_find_offset(segment, max(older.offset, start_offset), end, header, position)
    # At or below the start offset the search begins at the start offset anyway, so the entry need not be checked.
    if older.offset > max(start_offset, segment.base_offset) and not (
            outcome == BATCH_FOUND and confirms(header, &older)):
        segment_distrust_indexes(segment)
        outcome = segment_find_offset(segment, start_offset, end, header, position)
    while outcome == BATCH_FOUND and header.max_timestamp < timestamp:
        outcome = segment_find_batch(segment, 0, position[0] + header.size_bytes, end, header, position)
    return outcome


cdef int segment_find_max_timestamp(LogSegment* segment) noexcept nogil:
    cdef TimestampOffset newest = time_index_last(&segment.time_index, segment.base_offset)
    cdef int64_t position = 0
    cdef BatchHeader header
    cdef int outcome = BATCH_PAST_END
    if segment.size_bytes > 0:
        outcome = segment_find_offset(segment, newest.offset, segment.size_bytes, &header, &position)
        if newest.timestamp >= 0 and outcome >= 0 and not (outcome == BATCH_FOUND and confirms(&header, &newest)):
            segment_distrust_indexes(segment)
            newest.timestamp = -1
            newest.offset = segment.base_offset
            outcome = segment_find_batch(segment, 0, 0, segment.size_bytes, &header, &position)
    segment.max_timestamp = newest.timestamp
    segment.offset_of_max_timestamp = newest.offset
    while outcome == BATCH_FOUND:
        if header.max_timestamp > segment.max_timestamp:
            segment.max_timestamp = header.max_timestamp
            segment.offset_of_max_timestamp = header.last_offset
        outcome = segment_find_batch(segment, 0, position + header.size_bytes, segment.size_bytes, &header, &position)
    return outcome


cdef bint is_newest(LogSegment* segment, const TimestampOffset* newest) noexcept nogil:
    """Whether a time index may end with this entry. False only if a batch contradicts it.

    Checks the batch of the entry and the batches after the last entry of the offset index: a few KiB, enough to detect
    a flipped byte or a truncated index. Damage in the .log file is reported to its readers.
    """
    cdef int32_t entries = atomic_load_32(&segment.offset_index.entries)
    cdef int64_t position = 0
    cdef BatchHeader header
    cdef int outcome
    if newest.timestamp >= 0:
        outcome = segment_find_offset(segment, newest.offset, segment.size_bytes, &header, &position)
        if outcome == BATCH_PAST_END or (outcome == BATCH_FOUND and not confirms(&header, newest)):
            return False
        if entries > 0:
            position = max(position, offset_index_entry(&segment.offset_index, segment.base_offset, entries - 1).position)
    outcome = segment_find_batch(segment, 0, position, segment.size_bytes, &header, &position)
    while outcome == BATCH_FOUND and header.max_timestamp <= newest.timestamp and entries > 0:
        outcome = segment_find_batch(segment, 0, position + header.size_bytes, segment.size_bytes, &header, &position)
    return outcome != BATCH_FOUND or header.max_timestamp <= newest.timestamp


cdef bint lacks_offset_entries(LogSegment* segment) noexcept nogil:
    """Whether an offset index is empty after INTERVALS_WITHOUT_ENTRY intervals (restarts leave shorter gaps)."""
    cdef int64_t due = <int64_t>INTERVALS_WITHOUT_ENTRY * segment.index_interval_bytes
    cdef int64_t position = 0
    cdef BatchHeader header
    cdef int outcome = BATCH_FOUND
    header.size_bytes = 0
    if segment.offset_index.entries > 0 or segment.size_bytes <= due:
        return False
    while outcome == BATCH_FOUND and position <= due:
        outcome = segment_find_batch(segment, 0, position + header.size_bytes, segment.size_bytes, &header, &position)
    return outcome == BATCH_FOUND and header.magic == 2


cdef void segment_take_newest(LogSegment* segment) noexcept nogil:
    cdef TimestampOffset newest = time_index_last(&segment.time_index, segment.base_offset)
    if not atomic_load_32(&segment.writable) and lacks_offset_entries(segment):
        segment_distrust_indexes(segment)
    if atomic_load_32(&segment.writable) or segment.size_bytes == 0 or is_newest(segment, &newest):
        if newest.timestamp > segment.max_timestamp:
            atomic_store_64(&segment.offset_of_max_timestamp, newest.offset)
            atomic_store_64(&segment.max_timestamp, newest.timestamp)
        return
    segment_distrust_indexes(segment)
    index_keep(&segment.time_index, 0)
    if segment_find_max_timestamp(segment) < 0:
        # Unknown is safer than too old a timestamp: retention would delete the segment too early.
        atomic_store_64(&segment.max_timestamp, -1)
