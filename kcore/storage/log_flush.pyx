"""Flushing a log: syncs segments, indexes and file names, then raises the recovery point (`LocalLog.flush`).

Crash policy: records below the recovery point are on the device together with their indexes. The recovery point is
raised last. A failed sync takes the log offline, also when the disk is full. A lack of file descriptors or memory is
temporary (shortage).

Concurrency: flush_lock allows one flush at a time. A second one waits, and often finds nothing left to do. Appends
continue during a flush.
"""

from libc.errno cimport EAGAIN, ENOENT, ENOMEM
from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport strlen
from posix.fcntl cimport O_RDONLY
from kcore.metrics.log_flush cimport record_log_flush
from kcore.platform.disk cimport sync_parent
from kcore.platform.sync cimport atomic_load_32, atomic_store_64, pthread_mutex_lock, pthread_mutex_unlock
from kcore.storage.local_log cimport LocalLog
from kcore.storage.segment cimport LogSegment, segment_close_idle, segment_release, segment_sync
from kcore.storage.shortage cimport is_full, is_shortage

cdef const char* METADATA_FILE = b"partition.metadata"
cdef enum:
    METADATA_FILE_BYTES = 20     # with a slash and a NUL


cdef bint has_work(LocalLog log, bint include_active, int64_t* target, int* outcome) noexcept nogil:
    """Whether there is something to flush, and up to which `target`. If not, sets `outcome`. Needs append_lock."""
    outcome[0] = 0
    if log.closed:
        return False
    if log.is_offline():
        # After a failed flush the kernel may have dropped the pages, and it does not report the error again.
        outcome[0] = -log.failure_errno
        return False
    target[0] = log.next_offset if include_active else log.active_segment().base_offset
    return log.flushed_offset < target[0] or log.directory_changed


cdef int flush_log(LocalLog log, bint include_active) noexcept nogil:
    cdef int64_t target, started_ns
    cdef LogSegment** pinned
    cdef int32_t count = 0
    cdef bint sync_directory
    cdef int outcome
    pthread_mutex_lock(&log.flush_lock)
    pthread_mutex_lock(&log.append_lock)
    if not has_work(log, include_active, &target, &outcome):
        pthread_mutex_unlock(&log.append_lock)
        pthread_mutex_unlock(&log.flush_lock)
        return outcome
    # Start one offset lower: the segment that ends at the recovery point may have been rolled since the last flush, and
    # then its indexes are not synced yet.
    pinned = log.pin_from(log.flushed_offset - 1, &count)
    sync_directory = log.directory_changed
    log.directory_changed = False
    log.flush_ceiling = log.next_offset
    pthread_mutex_unlock(&log.append_lock)
    started_ns = log.disk.monotonic_ns(log.disk.context)
    outcome = sync_pinned(pinned, count if include_active else count - 1)
    release_pinned(log, pinned, count)
    outcome = finish_flush(log, outcome, target, sync_directory)
    if outcome >= 0:
        record_log_flush(log.disk.monotonic_ns(log.disk.context) - started_ns)
    pthread_mutex_unlock(&log.flush_lock)
    return outcome


cdef int finish_flush(LocalLog log, int outcome, int64_t target, bint sync_directory) noexcept nogil:
    """Syncs the directory, then raises the recovery point to `target`. `outcome` is that of syncing the segments."""
    if outcome >= 0 and (sync_directory or not log.birth_is_durable):
        outcome = log.disk.fsync_directory(log.disk.context, log.directory_path)
    if outcome >= 0 and not log.birth_is_durable:
        outcome = sync_birth(log)
    if is_full(outcome):
        # The kernel drops the pages for which there was no space, and no later flush would report it.
        log.offline_unless_done(outcome, b"flushing the log")
    if outcome >= 0:
        outcome = log.prepare_recovery_point(target)
    if outcome >= 0:
        advance_recovery_point(log, target)
        return outcome
    if sync_directory:
        pthread_mutex_lock(&log.append_lock)
        log.directory_changed = True
        pthread_mutex_unlock(&log.append_lock)
    log.fail(outcome, b"flushing the log")
    return outcome


cdef int sync_birth(LocalLog log) noexcept nogil:
    """Syncs the directory's name and `partition.metadata`, without which a crash would lose the log.

    The first flush does this, not the creation: an empty log is created again after a crash.
    """
    cdef size_t length = strlen(log.directory_path)
    cdef char* path = <char*>malloc(length + METADATA_FILE_BYTES)
    cdef int descriptor, outcome
    if path == NULL:
        return -ENOMEM
    snprintf(path, length + METADATA_FILE_BYTES, "%s/%s", log.directory_path, METADATA_FILE)
    descriptor = log.disk.open(log.disk.context, path, O_RDONLY, 0)
    # Logs without a topic id have no such file.
    outcome = 0 if descriptor == -ENOENT else descriptor
    if descriptor >= 0:
        outcome = log.disk.fdatasync(log.disk.context, descriptor)
        log.disk.close(log.disk.context, descriptor)
    if outcome >= 0:
        path[length] = 0
        outcome = sync_parent(log.disk, path)
    free(path)
    log.birth_is_durable = outcome >= 0
    return outcome


cdef int sync_pinned(LogSegment** pinned, int32_t count) noexcept nogil:
    cdef int outcome = 0 if pinned != NULL else -ENOMEM
    cdef int32_t i
    for i in range(count):
        if outcome >= 0:
            outcome = segment_sync(pinned[i])
    return outcome


cdef void release_pinned(LocalLog log, LogSegment** pinned, int32_t count) noexcept nogil:
    """Releases segments. Closes idle finished ones, so that the next read maps their indexes."""
    cdef int32_t i
    if pinned == NULL:
        return
    pthread_mutex_lock(&log.append_lock)
    pthread_mutex_lock(&log.segments_lock)
    for i in range(count):
        if (atomic_load_32(&pinned[i].references) == 2 and not pinned[i].deleted
                and not atomic_load_32(&pinned[i].writable) and pinned[i].offset_index.writable):
            segment_close_idle(pinned[i], 2)
    pthread_mutex_unlock(&log.segments_lock)
    pthread_mutex_unlock(&log.append_lock)
    for i in range(count):
        segment_release(pinned[i])
    free(pinned)


cdef void advance_recovery_point(LocalLog log, int64_t target) noexcept nogil:
    pthread_mutex_lock(&log.segments_lock)
    # If the log was truncated during the flush, records below `target` may have been appended since and are not synced.
    target = min(target, log.flush_ceiling, log.next_offset)
    if target > log.flushed_offset:
        atomic_store_64(&log.flushed_offset, target)
        log.note_change()
    atomic_store_64(&log.flushed_at_ms, log.disk.now_ms(log.disk.context))
    pthread_mutex_unlock(&log.segments_lock)


cdef int flush_for_committer(void* log) noexcept nogil:
    cdef int outcome = flush_log(<LocalLog>log, True)
    # A shortage is temporary and leaves the log online.
    return -EAGAIN if is_shortage(outcome) and not (<LocalLog>log).is_offline() else outcome
