"""Finding a record by timestamp (Kafka's `UnifiedLog.fetchOffsetByTimestamp` and `LogSegment.findOffsetByTimestamp`).

The time index gives an offset below which all records are older, and the offset index its position. From there the
search reads batch headers until one reaches the timestamp, and decodes that batch. Concurrency: segments are pinned for
the search, so appends and deletion continue. The GIL is held only to decode.
"""

from os import strerror

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.errno cimport ENOMEM
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from kcore.platform.sync cimport atomic_load_64
from kcore.record.batch cimport TIMESTAMP_TYPE_MASK, BatchHeader
from kcore.record.decoder import decode_batches
from kcore.storage.local_log cimport LocalLog
from kcore.storage.segment cimport LogSegment, segment_open, segment_release
from kcore.storage.segment_search cimport (
    BATCH_FOUND, BATCH_PAST_END, segment_find_batch, segment_find_offset, segment_find_timestamp,
)


cdef object first_record_since(LocalLog log, int64_t start_offset, int64_t timestamp_ms):
    cdef int32_t count = 0, i
    cdef LogSegment** pinned
    found = None
    with nogil:
        pinned = log.pin_from(start_offset, &count)
    try:
        check(0 if pinned != NULL else -ENOMEM, log)
        for i in range(count):
            found = search_segment(log, pinned[i], start_offset, timestamp_ms)
            if found is not None:
                break
    finally:
        unpin(pinned, count)
    return found


cdef object timestamp_at(LocalLog log, int64_t offset):
    cdef int32_t count = 0, i
    cdef LogSegment** pinned
    found = None
    with nogil:
        pinned = log.pin_from(offset, &count)
    try:
        check(0 if pinned != NULL else -ENOMEM, log)
        for i in range(count):
            found = timestamp_in_segment(log, pinned[i], offset)
            if found is not None:
                break
    finally:
        unpin(pinned, count)
    return found


cdef object timestamp_in_segment(LocalLog log, LogSegment* segment, int64_t offset):
    """The timestamp of the first record at or above `offset` in a segment, or None. Decodes as little as possible."""
    cdef BatchHeader header
    cdef int64_t position = 0, end = atomic_load_64(&segment.size_bytes)
    cdef int outcome
    if end == 0:
        # An empty segment may have no files yet, and only an append may create them.
        return None
    with nogil:
        outcome = segment_open(segment)
        if outcome >= 0:
            outcome = segment_find_offset(segment, offset, end, &header, &position)
    while outcome == BATCH_FOUND:
        if header.magic == 2 and (header.attributes & TIMESTAMP_TYPE_MASK or header.base_timestamp == header.max_timestamp):
            return header.max_timestamp
        if header.magic == 2 and header.base_offset >= offset:
            return header.base_timestamp
        for record in records_at(log, segment, position, header.size_bytes):
            if record.offset >= offset:
                return record.timestamp
        with nogil:
            outcome = segment_find_batch(segment, offset, position + header.size_bytes, end, &header, &position)
    check(outcome, log)
    return None


cdef object newest_record(LocalLog log, int64_t start_offset):
    """The first record with the largest timestamp. A segment's maximum may be that of a record below the start."""
    cdef int32_t count = 0, i
    cdef int64_t largest = -1
    cdef int outcome = 0
    cdef LogSegment** pinned
    cdef LogSegment* newest = NULL
    cdef LogSegment* cut = NULL
    with nogil:
        pinned = log.pin_from(start_offset, &count)
        for i in range(count):
            if atomic_load_64(&pinned[i].size_bytes) == 0:
                continue
            outcome = min(outcome, segment_open(pinned[i]))
            if outcome >= 0 and pinned[i].base_offset < start_offset:
                cut = pinned[i]
            elif outcome >= 0 and atomic_load_64(&pinned[i].max_timestamp) > largest:
                largest = atomic_load_64(&pinned[i].max_timestamp)
                newest = pinned[i]
    try:
        check(outcome if pinned != NULL else -ENOMEM, log)
        if cut != NULL and atomic_load_64(&cut.max_timestamp) >= largest:
            found = search_segment(log, cut, start_offset, atomic_load_64(&cut.max_timestamp))
            found = newest_in_part(log, cut, start_offset) if found is None else found
            if found is not None and found[1] >= largest:
                return found
        return None if newest == NULL else search_segment(log, newest, start_offset, largest)
    finally:
        unpin(pinned, count)


cdef object newest_in_part(LocalLog log, LogSegment* segment, int64_t start_offset):
    """Does the same within one segment from an offset on. Reads batch headers and decodes two batches at most."""
    cdef BatchHeader header
    cdef int64_t position = 0, end = atomic_load_64(&segment.size_bytes)
    cdef int64_t cut_at = -1, cut_bytes = 0, newest_at = -1, newest_bytes = 0, largest = -1
    cdef int outcome
    with nogil:
        outcome = segment_find_offset(segment, start_offset, end, &header, &position)
        while outcome == BATCH_FOUND:
            # The first batch may contain the start offset: a compressed message of an old format has no base offset.
            if cut_at < 0:
                cut_at, cut_bytes = position, header.size_bytes
            elif header.max_timestamp > largest:
                newest_at, newest_bytes, largest = position, header.size_bytes, header.max_timestamp
            outcome = segment_find_batch(segment, 0, position + header.size_bytes, end, &header, &position)
    check(outcome, log)
    found = None
    for at, size_bytes in ((cut_at, cut_bytes), (newest_at, newest_bytes)):
        for record in records_at(log, segment, at, size_bytes) if at >= 0 else ():
            if record.offset >= start_offset and (found is None or record.timestamp > found[1]):
                found = record.offset, record.timestamp
    return found


cdef object search_segment(LocalLog log, LogSegment* segment, int64_t start_offset, int64_t timestamp_ms):
    """The first record within one segment with at least this timestamp, or None."""
    cdef BatchHeader header
    cdef int64_t position = 0, end = 0
    cdef int outcome
    with nogil:
        outcome = 0
        if atomic_load_64(&segment.size_bytes) > 0:
            outcome = segment_open(segment)
        # A segment whose maximum timestamp is unknown has to be searched.
        if outcome >= 0 and not 0 <= atomic_load_64(&segment.max_timestamp) < timestamp_ms:
            end = atomic_load_64(&segment.size_bytes)
            outcome = segment_find_timestamp(segment, timestamp_ms, start_offset, end, &header, &position)
        else:
            outcome = min(outcome, <int>BATCH_PAST_END)
    while outcome == BATCH_FOUND:
        for record in records_at(log, segment, position, header.size_bytes):
            if record.timestamp >= timestamp_ms and record.offset >= start_offset:
                return record.offset, record.timestamp
        with nogil:
            outcome = segment_find_batch(segment, 0, position + header.size_bytes, end, &header, &position)
    check(outcome, log)
    return None


cdef list records_at(LocalLog log, LogSegment* segment, int64_t position, int64_t size_bytes):
    cdef bytes data = PyBytes_FromStringAndSize(NULL, size_bytes)
    cdef uint8_t* target = <uint8_t*>PyBytes_AS_STRING(data)
    cdef int64_t outcome
    with nogil:
        outcome = log.disk.pread(log.disk.context, segment.descriptor, target, <size_t>size_bytes, position)
    check(<int>min(outcome, 0), log)
    limit_bytes = log.limits.validation.decompressed_limit_bytes
    return [record for batch in decode_batches(data, decompressed_limit_bytes=limit_bytes) for record in batch]


cdef int check(int outcome, LocalLog log) except -1:
    if outcome < 0:
        raise OSError(-outcome, strerror(-outcome), log.directory)
    return 0


cdef void unpin(LogSegment** pinned, int32_t count) noexcept:
    cdef int32_t i
    with nogil:
        for i in range(count):
            segment_release(pinned[i])
        free(pinned)
