"""Which segments of a log retention can delete (`UnifiedLog.deleteOldSegments`): by start offset, size and time.

The oldest segments are deleted first, and none with records above the high watermark. The caller holds the log's append
lock.
"""

from libc.stdint cimport int32_t, int64_t
from kcore.platform.disk cimport DiskStat
from kcore.platform.sync cimport atomic_load_64
from kcore.storage.log cimport Log
from kcore.storage.segment cimport LogSegment, segment_acquire, segment_open, segment_release


cdef int64_t newest_record_ms(Log log, LogSegment* segment) noexcept nogil:
    """The timestamp of the segment's newest record, or else its file's modification time; or a negated errno."""
    cdef DiskStat stat
    cdef int64_t newest_ms = atomic_load_64(&segment.max_timestamp)
    cdef int outcome
    # Opens the file only if the timestamp is not known in memory.
    if newest_ms >= 0:
        return newest_ms
    segment_acquire(segment)
    outcome = segment_open(segment)
    if outcome >= 0:
        newest_ms = segment.max_timestamp
    if outcome >= 0 and newest_ms < 0:
        outcome = log.disk.fstat(log.disk.context, segment.descriptor, &stat)
        newest_ms = stat.modified_ms
    segment_release(segment)
    return outcome if outcome < 0 else newest_ms


cdef int32_t deletable_count(Log log, int64_t now_ms) noexcept nogil:
    """The number of oldest segments that are below the log start offset or past retention.bytes or retention.ms."""
    cdef int64_t excess_bytes = -log.limits.retention_bytes
    cdef int64_t upper_bound, newest_ms
    cdef LogSegment* segment
    cdef int32_t i
    cdef bint due
    for i in range(log.segment_count):
        excess_bytes += log.segment_list[i].size_bytes
    for i in range(log.segment_count):
        segment = log.segment_list[i]
        upper_bound = log.segment_list[i + 1].base_offset if i + 1 < log.segment_count else log.next_offset
        if upper_bound > log.high_watermark() or (i + 1 == log.segment_count and segment.size_bytes == 0):
            return i
        due = upper_bound <= log.first_offset and i + 1 < log.segment_count
        if not due and log.limits.delete_policy:
            due = log.limits.retention_bytes >= 0 and excess_bytes >= segment.size_bytes
            if not due and log.limits.retention_ms >= 0:
                newest_ms = newest_record_ms(log, segment)
                due = newest_ms >= 0 and now_ms - newest_ms > log.limits.retention_ms
        if not due:
            return i
        excess_bytes -= segment.size_bytes
    return log.segment_count
