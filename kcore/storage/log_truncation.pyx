"""Removing records from a log: its first segments by retention, its end by truncation (`LocalLog.truncateTo`).

The files of removed segments are renamed to `*.deleted` at once, and unlinked after `file.delete.delay.ms` once no
reader uses them. Crash policy: the next flush syncs file names and sizes. Until then a crash may bring back what was
removed.

Concurrency: the caller holds append_lock, except for `purge_deleted`. The list and the log end offset change under
segments_lock as well.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport int32_t, int64_t
from kcore.platform.sync cimport atomic_load_32, atomic_store_32, pthread_mutex_lock, pthread_mutex_unlock
from kcore.record.batch cimport BatchHeader
from kcore.storage.local_log cimport LocalLog
from kcore.storage.offset_index cimport offset_index_truncate
from kcore.storage.segment cimport (
    LogSegment, segment_acquire, segment_count_unindexed, segment_finish, segment_let_go, segment_new, segment_open,
    segment_release, segment_rename_deleted,
)
from kcore.storage.segment_search cimport BATCH_PAST_END, segment_find_max_timestamp, segment_find_offset
from kcore.storage.time_index cimport time_index_truncate
from kcore.storage.transaction_index cimport transaction_index_truncate


cdef int retire(LocalLog log, int32_t first, int32_t count, int64_t now_ms) noexcept nogil:
    """Renames the files of segments that are about to leave the list, and queues them for deletion."""
    cdef LogSegment* segment
    cdef int outcome = 0, renamed
    cdef int32_t i
    for i in range(first, first + count):
        segment = log.segment_list[i]
        renamed = segment_rename_deleted(segment)
        outcome = renamed if renamed < 0 else outcome
        segment.delete_due_ms = now_ms + log.limits.file_delete_delay_ms
        segment.next_deleted = log.deleted_segments
        log.deleted_segments = segment
    log.directory_changed = True
    log.note_change()
    return outcome


cdef int remove_segments(LocalLog log, int32_t first, int32_t count, int64_t now_ms) noexcept nogil:
    cdef int outcome = retire(log, first, count, now_ms)
    pthread_mutex_lock(&log.segments_lock)
    log.splice(first, count, NULL)
    pthread_mutex_unlock(&log.segments_lock)
    return outcome


cdef void purge_deleted(LocalLog log, int64_t now_ms) noexcept nogil:
    cdef LogSegment* due = NULL
    cdef LogSegment* segment
    cdef LogSegment** link
    pthread_mutex_lock(&log.append_lock)
    link = &log.deleted_segments
    while link[0] != NULL:
        segment = link[0]
        if segment.delete_due_ms <= now_ms:
            link[0] = segment.next_deleted
            segment.next_deleted = due
            due = segment
        else:
            link = &segment.next_deleted
    pthread_mutex_unlock(&log.append_lock)
    while due != NULL:
        segment = due
        due = segment.next_deleted
        segment_let_go(segment)


cdef LogSegment* successor_of(LocalLog log, const LogSegment* old, int64_t position) noexcept nogil:
    """A new structure, with a reference for the caller, for the files of `old`, which is cut at `position`; or NULL."""
    cdef LogSegment* segment = segment_new(log.disk, log.directory_path, old.base_offset, log.limits.max_index_bytes,
                                           log.limits.index_interval_bytes)
    if segment == NULL:
        return NULL
    # Keeps other threads from closing it as idle before it is in the list.
    segment_acquire(segment)
    atomic_store_32(&segment.writable, 1)
    segment.size_bytes = old.size_bytes
    segment.created_ms = old.created_ms
    segment.roll_jitter_ms = old.roll_jitter_ms
    segment.first_timestamp = old.first_timestamp if position > 0 else -1
    segment.aborted_count = old.aborted_count
    return segment


cdef int cut_segment(LocalLog log, LogSegment* segment, int64_t position, int64_t offset) noexcept nogil:
    """Cuts the file at `position` and the indexes at `offset`."""
    cdef int outcome = segment_open(segment)
    if outcome >= 0:
        outcome = log.disk.ftruncate(log.disk.context, segment.descriptor, position)
    if outcome < 0:
        return outcome
    segment.appended = True  # its indexes have to be written
    offset_index_truncate(&segment.offset_index, segment.base_offset, offset)
    time_index_truncate(&segment.time_index, segment.base_offset, offset)
    segment.size_bytes = position
    segment_count_unindexed(segment)
    outcome = transaction_index_truncate(segment, offset)
    return outcome if outcome < 0 else segment_find_max_timestamp(segment)


cdef int replace_active(LocalLog log, LogSegment* old, int64_t position, int64_t offset) noexcept nogil:
    """Cuts the active segment under a new structure. Readers of the old one keep it and its indexes."""
    cdef LogSegment* segment = successor_of(log, old, position)
    cdef int outcome
    if segment == NULL:
        return -ENOMEM
    outcome = segment_finish(old) if atomic_load_32(&old.writable) else 0
    if outcome >= 0:
        outcome = cut_segment(log, segment, position, offset)
    if outcome < 0:
        segment_release(segment)
        segment_let_go(segment)
        return outcome
    log.directory_changed = True  # the cut has to be synced
    # In one hold of the lock: a reader must not use a position beyond the new end of the file.
    pthread_mutex_lock(&log.segments_lock)
    log.segment_list[log.segment_count - 1] = segment
    log.set_end(offset)
    pthread_mutex_unlock(&log.segments_lock)
    segment_let_go(old)
    segment_release(segment)
    return 0


cdef int cut_to(LocalLog log, int64_t offset, int64_t now_ms) noexcept nogil:
    cdef LogSegment* last
    cdef BatchHeader header
    cdef int64_t position = 0
    cdef int outcome = 0
    cdef int32_t kept = log.floor_index(offset) + 1
    if kept == 0:
        return restart_at(log, offset, now_ms)
    if kept < log.segment_count:
        outcome = remove_segments(log, kept, log.segment_count - kept, now_ms)
    last = log.active_segment()
    segment_acquire(last)
    if outcome >= 0:
        outcome = segment_open(last)
    if outcome >= 0:
        outcome = segment_find_offset(last, offset, last.size_bytes, &header, &position)
    if outcome == BATCH_PAST_END:
        position = last.size_bytes
    if outcome >= 0:
        outcome = replace_active(log, last, position, offset)
    segment_release(last)
    return outcome


cdef int restart_at(LocalLog log, int64_t offset, int64_t now_ms) noexcept nogil:
    # Rename the old files first: the new segment may have the same file names.
    cdef int outcome = retire(log, 0, log.segment_count, now_ms)
    if outcome >= 0:
        outcome = log.begin_segment(0, offset, now_ms)
    if outcome >= 0:
        pthread_mutex_lock(&log.segments_lock)
        log.set_end(offset)
        pthread_mutex_unlock(&log.segments_lock)
    return outcome
