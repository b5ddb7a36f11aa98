"""Finding the bytes of a log that a reader may have (`UnifiedLog.read`, `LogSegment.read`).

Nothing is copied: the result is a range of a pinned segment, which the caller sends or reads. Checksums are not
verified here; as in Kafka, clients verify them. Bytes that are not a batch give CORRUPT_MESSAGE and do not count as a
disk failure.

Concurrency: the visible end and the segment are taken in one short hold of segments_lock. The segment stays pinned
until the reader releases it, also if retention or truncation removes it meanwhile.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset
from kcore.errors cimport KAFKA_STORAGE_ERROR, NONE, OFFSET_OUT_OF_RANGE
from kcore.platform.sync cimport atomic_load_32, pthread_mutex_lock, pthread_mutex_unlock
from kcore.record.batch cimport BatchHeader
from kcore.storage.local_log cimport LogOffsetMetadata
from kcore.storage.log cimport ISOLATION_TXN_COMMITTED, Log, ReadResult
from kcore.storage.offset_index cimport offset_index_upper_bound
from kcore.storage.segment cimport LogSegment, segment_acquire, segment_open, segment_release
from kcore.storage.segment_search cimport BATCH_PAST_END, segment_find_batch, segment_find_offset
from kcore.storage.transaction_index cimport aborted_transactions_free, transaction_index_collect


cdef LogSegment* pin_next(Log log, const LogSegment* segment, int isolation, int64_t* end) noexcept nogil:
    """Pins the next segment if a reader may see any of it, and sets the end of its readable bytes; else NULL."""
    cdef LogOffsetMetadata bound
    cdef LogSegment* following = NULL
    cdef int32_t i
    pthread_mutex_lock(&log.segments_lock)
    bound = log.bound(isolation)
    i = log.floor_index(segment.base_offset) + 1
    if i < log.segment_count and log.segment_list[i].base_offset <= bound.segment_base_offset:
        following = log.segment_list[i]
        end[0] = bound.position if bound.segment_base_offset == following.base_offset else following.size_bytes
        segment_acquire(following)
    pthread_mutex_unlock(&log.segments_lock)
    return following


cdef int16_t read_segment(Log log, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                          LogSegment* segment, int64_t position, int64_t end, ReadResult* result) noexcept nogil:
    """Fills in the range of a pinned segment. `position` is that of the offset's batch, or -1 if it is not known."""
    cdef BatchHeader header
    cdef LogSegment* following
    cdef int outcome
    header.size_bytes = 0
    while True:
        outcome = -atomic_load_32(&segment.unreadable_errno)
        if outcome == 0:
            outcome = segment_open(segment)
        if outcome >= 0 and position < 0:
            outcome = segment_find_offset(segment, offset, end, &header, &position)
        elif outcome >= 0 and (position == end or max_bytes < end - position):
            outcome = segment_find_batch(segment, offset, position, end, &header, &position)
        else:
            break
        if outcome != BATCH_PAST_END:
            break
        # Compaction or a gap in a leader's offsets may leave no batch up to the next base offset: continue there.
        following = pin_next(log, segment, isolation, &end)
        segment_release(segment)
        if following == NULL:
            return NONE
        segment = following
        position = 0
    if outcome < 0:
        segment_release(segment)
        result.error = log.fail(outcome, b"reading the log")
        return result.error
    result.segment_base_offset = segment.base_offset
    result.position = position
    result.size_bytes = max_bytes
    if header.size_bytes > max_bytes:
        # Never send a part of the first batch: since KIP-74 clients treat that as a broken response.
        result.size_bytes = header.size_bytes if at_least_one else 0
    result.size_bytes = max(<int64_t>0, min(result.size_bytes, end - position))
    if result.size_bytes == 0:
        segment_release(segment)
        return NONE
    result.segment = segment
    if isolation == ISOLATION_TXN_COMMITTED:
        outcome = collect_aborted(log, offset, result)
        if outcome < 0:
            release_read(result)
            result.size_bytes = 0
            result.error = log.fail(outcome, b"reading the log")
    return result.error


cdef LogSegment* pin_with_aborted(Log log, int64_t base_offset) noexcept nogil:
    """Pins the first segment from `base_offset` on that has aborted transactions; NULL if there is none."""
    cdef LogSegment* found = NULL
    cdef int32_t i
    pthread_mutex_lock(&log.segments_lock)
    i = max(log.floor_index(base_offset), 0)
    while found == NULL and i < log.segment_count:
        if (log.segment_list[i].base_offset >= base_offset
                and atomic_load_32(&log.segment_list[i].aborted_count) > 0):
            found = log.segment_list[i]
            segment_acquire(found)
        i += 1
    pthread_mutex_unlock(&log.segments_lock)
    return found


cdef int64_t upper_bound_of(Log log, const ReadResult* result) noexcept nogil:
    """An offset above all records that were read (`LogSegment.fetchUpperBoundOffset`), as the index gives it."""
    cdef int64_t offset = offset_index_upper_bound(&result.segment.offset_index, result.segment_base_offset,
                                                   result.position + result.size_bytes)
    cdef int32_t i
    if offset >= 0:
        return offset
    pthread_mutex_lock(&log.segments_lock)
    i = log.floor_index(result.segment_base_offset) + 1
    offset = log.segment_list[i].base_offset if i < log.segment_count else log.next_offset
    pthread_mutex_unlock(&log.segments_lock)
    return offset


cdef int collect_aborted(Log log, int64_t offset, ReadResult* result) noexcept nogil:
    """Adds the aborted transactions with records in the range that was read. Their markers may be in later segments."""
    cdef LogSegment* segment = pin_with_aborted(log, result.segment_base_offset)
    cdef int64_t upper_bound, next_base
    cdef bint complete = False
    cdef int outcome = 0
    if segment == NULL:
        return 0
    upper_bound = upper_bound_of(log, result)
    while segment != NULL:
        outcome = transaction_index_collect(segment, offset, upper_bound, &result.aborted, &complete)
        next_base = segment.base_offset + 1
        segment_release(segment)
        segment = pin_with_aborted(log, next_base) if outcome >= 0 and not complete else NULL
    return outcome


cdef void release_read(ReadResult* result) noexcept nogil:
    if result.segment != NULL:
        segment_release(result.segment)
        result.segment = NULL
    aborted_transactions_free(&result.aborted)


cdef int16_t read_log(Log log, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                  ReadResult* result) noexcept nogil:
    cdef LogOffsetMetadata bound, place
    cdef LogSegment* segment = NULL
    cdef int64_t end = 0
    cdef int outcome
    memset(result, 0, sizeof(ReadResult))
    pthread_mutex_lock(&log.segments_lock)
    bound = log.bound(isolation)
    result.high_watermark = log.high_watermark_at.offset
    result.last_stable_offset = log.bound(ISOLATION_TXN_COMMITTED).offset
    result.log_start_offset = log.first_offset
    result.log_end_offset = log.next_offset
    if log.closed or log.is_offline():
        result.error = KAFKA_STORAGE_ERROR
    elif offset < log.first_offset or offset > log.next_offset:
        result.error = OFFSET_OUT_OF_RANGE
    elif offset < bound.offset:
        segment = log.segment_list[max(log.floor_index(offset), 0)]
        if not log.recent_boundary(offset, &place) or place.segment_base_offset != segment.base_offset:
            place.position = -1
        end = bound.position if bound.segment_base_offset == segment.base_offset else segment.size_bytes
        segment_acquire(segment)
    elif offset == bound.offset:
        result.segment_base_offset = bound.segment_base_offset
        result.position = bound.position
    pthread_mutex_unlock(&log.segments_lock)
    if result.error != NONE or offset == bound.offset:
        return result.error
    if segment != NULL:
        return read_segment(log, offset, max_bytes, isolation, at_least_one, segment, place.position, end, result)
    # The offset is above the visible end, but below the log end offset.
    outcome = log.locate(offset, &place)
    result.segment_base_offset = place.segment_base_offset
    result.position = place.position
    result.error = NONE if outcome >= 0 else log.fail(outcome, b"reading the log")
    return result.error


cdef int64_t readable_log_bytes(Log log, int64_t segment_base_offset, int64_t position, int isolation) noexcept nogil:
    cdef LogOffsetMetadata end
    cdef int64_t total
    pthread_mutex_lock(&log.segments_lock)
    end = log.bound(isolation)
    total = log.bytes_between(segment_base_offset, position, &end)
    pthread_mutex_unlock(&log.segments_lock)
    return total
