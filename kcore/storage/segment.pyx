"""A segment of a log (Kafka's `LogSegment`): `<base offset, 20 digits>.log` and its two indexes.

The .log file contains record batches back to back, as producers or leaders wrote them, in rising order of offsets.
Crash policy: the .log file is the truth, up to its first invalid byte. Bytes past `size_bytes` are a torn append and
are cut when the log is loaded. Both indexes can be rebuilt from the .log file.

Concurrency: the fields of the active segment change under the log's append lock. `size_bytes` is stored with release
and loaded with acquire. A segment is freed with its last reference. Until then its files are open or can be opened, so
a response can be sent from a segment that retention has removed. The number of open segments of all logs, active ones
included, is bounded (open_segments): above the bound, and when the process runs out of descriptors, the longest idle
segments are closed.
"""

from libc.errno cimport EMFILE, ENAMETOOLONG, ENFILE, ENOENT
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport strlen
from posix.fcntl cimport O_CREAT, O_RDONLY, O_RDWR, O_TRUNC
from kcore.platform.disk cimport FILE_MODE, DiskOperations, DiskStat, iovec
from kcore.platform.sync cimport (
    atomic_add_32, atomic_load_32, atomic_store_32, atomic_store_64, atomic_swap_32_if, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.record.batch cimport BatchHeader
from kcore.storage.index_file cimport (
    index_close, index_create, index_is_full, index_keep, index_load, index_sync, index_write_back,
)
from kcore.storage.offset_index cimport (
    OFFSET_ENTRY_BYTES, offset_index_append, offset_index_entry, offset_index_is_sane,
)
from kcore.storage.open_segments cimport (
    open_segments_add, open_segments_bound, open_segments_count, open_segments_let_go, open_segments_remove,
    open_segments_surplus, open_segments_unused,
)
from kcore.storage.segment_search cimport segment_take_newest
from kcore.storage.time_index cimport (
    TIME_ENTRY_BYTES, time_index_is_sane, time_index_maybe_append,
)

cdef enum:
    PATH_CAPACITY = 4096
    SUFFIX_BYTES = 4             # ".log"
    CLOSED_PER_OPEN = 4
    CLOSED_WHEN_OUT_OF_DESCRIPTORS = 64

cdef int32_t live = 0
cdef int32_t distrusted = 0

# All files of a segment, including the producer snapshot of its base offset. The .log file is deleted first, so that a
# crash leaves orphaned files and never a log with a gap.
cdef const char** FILE_SUFFIXES = [b".log", b".index", b".timeindex", b".txnindex", b".snapshot"]
cdef enum:
    FILE_SUFFIX_COUNT = 5
    CREATED_FILE_COUNT = 3


cdef int32_t live_segments() noexcept nogil:
    return atomic_load_32(&live)


def live_segment_count() -> int:
    """The number of segments in memory; zero once every log is closed and every response is sent."""
    return live_segments()


def open_segment_count() -> int:
    """The number of segments of all logs whose files are open."""
    return open_segments_count()


def bound_open_segments(int32_t limit) -> None:
    """Sets the maximum number of open segments; beyond it unused ones are closed. 0 means no maximum."""
    open_segments_bound(limit)


def close_unused() -> None:
    """Closes the finished segments of all logs that were not used since the previous call."""
    with nogil:
        close_unused_segments()


cdef LogSegment* segment_new(const DiskOperations* disk, const char* directory, int64_t base_offset,
                             int32_t max_index_bytes, int32_t index_interval_bytes) noexcept nogil:
    cdef LogSegment* segment = <LogSegment*>calloc(1, sizeof(LogSegment))
    cdef size_t capacity = strlen(directory) + 32
    if segment == NULL:
        return NULL
    segment.path = <char*>malloc(capacity)
    if segment.path == NULL:
        free(segment)
        return NULL
    snprintf(segment.path, capacity, "%s/%020lld.log", directory, <long long>base_offset)
    pthread_mutex_init(&segment.open_lock, NULL)
    segment.references = 1
    segment.disk = disk
    segment.base_offset = base_offset
    segment.max_index_bytes = max_index_bytes
    segment.index_interval_bytes = index_interval_bytes
    segment.descriptor = -1
    segment.first_timestamp = segment.max_timestamp = -1
    segment.offset_of_max_timestamp = base_offset
    atomic_add_32(&live, 1)
    return segment


cdef int segment_file_path(const LogSegment* segment, const char* suffix, char* out, size_t capacity) noexcept nogil:
    """`<directory>/<base offset><suffix>`, with `.deleted` appended for a deleted segment."""
    cdef int stem = <int>strlen(segment.path) - SUFFIX_BYTES
    cdef int length = snprintf(out, capacity, "%.*s%s%s", stem, segment.path, suffix,
                               <const char*>".deleted" if segment.deleted else <const char*>"")
    return 0 if length < <int>capacity else -ENAMETOOLONG


cdef int open_log_file(LogSegment* segment, int flags) noexcept nogil:
    cdef char path[PATH_CAPACITY]
    cdef int outcome = segment_file_path(segment, ".log", path, sizeof(path))
    if outcome >= 0:
        outcome = segment.disk.open(segment.disk.context, path, flags, FILE_MODE)
    if outcome < 0:
        return outcome
    segment.descriptor = outcome
    return 0


cdef void close_files(LogSegment* segment) noexcept nogil:
    open_segments_remove(segment)
    if segment.descriptor >= 0:
        segment.disk.close(segment.disk.context, segment.descriptor)
        segment.descriptor = -1
    index_close(&segment.offset_index, segment.disk)
    index_close(&segment.time_index, segment.disk)
    atomic_store_32(&segment.is_open, 0)


cdef int create_files(LogSegment* segment) noexcept nogil:
    cdef char path[PATH_CAPACITY]
    cdef int outcome = open_log_file(segment, O_RDWR | O_CREAT | O_TRUNC)
    if outcome >= 0:
        outcome = segment_file_path(segment, ".index", path, sizeof(path))
    if outcome >= 0:
        outcome = index_create(&segment.offset_index, segment.disk, path, OFFSET_ENTRY_BYTES, segment.max_index_bytes)
    if outcome >= 0:
        outcome = segment_file_path(segment, ".timeindex", path, sizeof(path))
    if outcome >= 0:
        outcome = index_create(&segment.time_index, segment.disk, path, TIME_ENTRY_BYTES, segment.max_index_bytes)
    if outcome < 0:
        close_files(segment)
        return outcome
    atomic_store_32(&segment.unmade, 0)
    return 0


cdef int segment_create(LogSegment* segment, int64_t now_ms) noexcept nogil:
    segment_create_later(segment, now_ms)
    return segment_open(segment)


cdef void segment_create_later(LogSegment* segment, int64_t now_ms) noexcept nogil:
    atomic_store_32(&segment.writable, 1)
    atomic_store_32(&segment.unmade, 1)
    segment.created_ms = now_ms


cdef int segment_stat(LogSegment* segment) noexcept nogil:
    cdef DiskStat stat
    cdef int outcome = segment.disk.stat(segment.disk.context, segment.path, &stat)
    if outcome < 0:
        return outcome
    segment.size_bytes = stat.size_bytes
    segment.created_ms = stat.modified_ms
    return 0


cdef int load_index(LogSegment* segment, IndexFile* index, const char* suffix, int32_t entry_bytes) noexcept nogil:
    """Loads an index. A missing one is empty for a read-only segment, so that searches start at its first batch."""
    cdef char path[PATH_CAPACITY]
    cdef bint writable = atomic_load_32(&segment.writable)
    cdef int outcome = segment_file_path(segment, suffix, path, sizeof(path))
    if outcome >= 0:
        outcome = index_load(index, segment.disk, path, entry_bytes, segment.max_index_bytes, writable)
    return 0 if outcome == -ENOENT and not writable else outcome


cdef void check_indexes(LogSegment* segment) noexcept nogil:
    """Empties indexes that do not fit the .log file: searches then start at its first batch, until they are rebuilt."""
    if not (offset_index_is_sane(&segment.offset_index, segment.size_bytes)
            and time_index_is_sane(&segment.time_index)):
        segment_distrust_indexes(segment)
        index_keep(&segment.offset_index, 0)
        index_keep(&segment.time_index, 0)


cdef void segment_distrust_indexes(LogSegment* segment) noexcept nogil:
    if atomic_swap_32_if(&segment.indexes_are_wrong, 0, 1):
        atomic_add_32(&distrusted, 1)


cdef void segment_note_unreadable(LogSegment* segment, int error) noexcept nogil:
    atomic_store_32(&segment.unreadable_errno, -error)


def distrusted_index_count() -> int:
    """How often the indexes of any segment were found to be wrong since the process started."""
    return atomic_load_32(&distrusted)


cdef int open_files(LogSegment* segment) noexcept nogil:
    cdef int outcome = open_log_file(segment, O_RDWR if atomic_load_32(&segment.writable) else O_RDONLY)
    if outcome >= 0:
        outcome = load_index(segment, &segment.offset_index, ".index", OFFSET_ENTRY_BYTES)
    if outcome >= 0:
        outcome = load_index(segment, &segment.time_index, ".timeindex", TIME_ENTRY_BYTES)
    if outcome < 0:
        close_files(segment)
        return outcome
    check_indexes(segment)
    segment_count_unindexed(segment)
    segment_take_newest(segment)
    return 0


cdef void segment_count_unindexed(LogSegment* segment) noexcept nogil:
    cdef int32_t entries = segment.offset_index.entries
    segment.bytes_since_last_index_entry = segment.size_bytes
    if entries > 0:
        segment.bytes_since_last_index_entry -= offset_index_entry(
            &segment.offset_index, segment.base_offset, entries - 1).position


cdef int open_once(LogSegment* segment) noexcept nogil:
    cdef int outcome = 0
    pthread_mutex_lock(&segment.open_lock)
    if not atomic_load_32(&segment.is_open):
        outcome = create_files(segment) if atomic_load_32(&segment.unmade) else open_files(segment)
        if outcome >= 0:
            atomic_store_32(&segment.is_open, 1)
            open_segments_add(segment)
    pthread_mutex_unlock(&segment.open_lock)
    return outcome


cdef int segment_open(LogSegment* segment) noexcept nogil:
    cdef int outcome
    if atomic_load_32(&segment.is_open):
        if not atomic_load_32(&segment.was_used):
            atomic_store_32(&segment.was_used, 1)
        return 0
    outcome = open_once(segment)
    if outcome == -EMFILE or outcome == -ENFILE:
        # New connections may have taken the remaining descriptors. No lock is held here that closing other segments
        # needs.
        close_surplus(CLOSED_WHEN_OUT_OF_DESCRIPTORS, True)
        outcome = open_once(segment)
    close_surplus(CLOSED_PER_OPEN, False)
    return outcome


cdef void close_surplus(int most, bint within_bound) noexcept nogil:
    """Closes idle segments: one for the segment just opened, and some that could not be closed earlier."""
    cdef LogSegment* segment
    cdef int i
    for i in range(most):
        segment = open_segments_surplus(within_bound)
        if segment == NULL:
            return
        segment_close_idle(segment, 2)
        segment_release(segment)


cdef void close_unused_segments() noexcept nogil:
    cdef LogSegment* segment
    cdef int32_t left = open_segments_count()
    while left > 0:
        segment = open_segments_unused(&left)
        if segment != NULL:
            segment_close_idle(segment, 2)
            segment_release(segment)


cdef int write_indexes_back(LogSegment* segment) noexcept nogil:
    cdef char path[PATH_CAPACITY]
    cdef int outcome = segment_file_path(segment, ".index", path, sizeof(path))
    if outcome >= 0:
        outcome = index_write_back(&segment.offset_index, segment.disk, path)
    if outcome >= 0:
        outcome = segment_file_path(segment, ".timeindex", path, sizeof(path))
    if outcome >= 0:
        outcome = index_write_back(&segment.time_index, segment.disk, path)
    return outcome


cdef void segment_close_idle(LogSegment* segment, int32_t references) noexcept nogil:
    cdef bint was_open
    pthread_mutex_lock(&segment.open_lock)
    # Clear is_open first and count the references then, each with a full barrier: a thread that acquires the segment
    # too late to be counted finds it closed and waits for the lock.
    was_open = atomic_load_32(&segment.is_open)
    if was_open:
        atomic_add_32(&segment.is_open, -1)
    if (atomic_add_32(&segment.references, 0) <= references and not atomic_load_32(&segment.let_go)
            and (not atomic_load_32(&segment.writable) or write_indexes_back(segment) >= 0)):
        close_files(segment)
    elif was_open:
        atomic_store_32(&segment.is_open, 1)
    pthread_mutex_unlock(&segment.open_lock)


cdef void segment_let_go(LogSegment* segment) noexcept nogil:
    open_segments_let_go(segment)
    segment_release(segment)


cdef void segment_acquire(LogSegment* segment) noexcept nogil:
    atomic_add_32(&segment.references, 1)


cdef void segment_release(LogSegment* segment) noexcept nogil:
    if atomic_add_32(&segment.references, -1) > 0:
        return
    close_files(segment)
    if segment.deleted:
        # A missing file went with its directory. A file that cannot be removed is removed when the log is next loaded.
        unlink_files(segment, 0, FILE_SUFFIX_COUNT)
    pthread_mutex_destroy(&segment.open_lock)
    free(segment.path)
    free(segment)
    atomic_add_32(&live, -1)


cdef void unlink_files(LogSegment* segment, int first, int end) noexcept nogil:
    cdef char path[PATH_CAPACITY]
    cdef int i
    for i in range(first, end):
        if segment_file_path(segment, FILE_SUFFIXES[i], path, sizeof(path)) >= 0:
            segment.disk.unlink(segment.disk.context, path)


cdef void segment_unlink(LogSegment* segment) noexcept nogil:
    # Keep the snapshot: it was written for this offset and is still valid.
    unlink_files(segment, 0, CREATED_FILE_COUNT)


cdef void segment_unlink_indexes(LogSegment* segment) noexcept nogil:
    unlink_files(segment, 1, CREATED_FILE_COUNT)


cdef int segment_write(LogSegment* segment, const uint8_t* records, size_t size) noexcept nogil:
    cdef iovec part
    cdef int64_t outcome
    part.iov_base = <void*>records
    part.iov_len = size
    segment.appended = True
    outcome = segment.disk.pwritev(segment.disk.context, segment.descriptor, &part, 1, segment.size_bytes)
    if outcome < 0:
        # Give back the space of a partial write. If that fails too, the bytes are beyond the log end and are ignored.
        segment.disk.ftruncate(segment.disk.context, segment.descriptor, segment.size_bytes)
    return <int>min(outcome, <int64_t>0)


cdef void segment_index_batch(LogSegment* segment, const BatchHeader* header, int64_t position,
                              int32_t index_interval_bytes) noexcept nogil:
    if position == 0:
        segment.first_timestamp = header.max_timestamp
    if header.max_timestamp > segment.max_timestamp:
        atomic_store_64(&segment.offset_of_max_timestamp, header.last_offset)
        atomic_store_64(&segment.max_timestamp, header.max_timestamp)
    if segment.bytes_since_last_index_entry > index_interval_bytes and not index_is_full(&segment.offset_index):
        offset_index_append(&segment.offset_index, segment.base_offset, header.last_offset, position)
        time_index_maybe_append(&segment.time_index, segment.base_offset, segment.max_timestamp,
                                segment.offset_of_max_timestamp, False)
        segment.bytes_since_last_index_entry = 0
    segment.bytes_since_last_index_entry += header.size_bytes


cdef int segment_sync(LogSegment* segment) noexcept nogil:
    cdef int outcome
    if atomic_load_32(&segment.unmade):
        return 0
    outcome = segment_open(segment)
    if outcome >= 0:
        outcome = segment.disk.fdatasync(segment.disk.context, segment.descriptor)
    if outcome >= 0 and atomic_load_32(&segment.indexes_unsynced) and not atomic_load_32(&segment.writable):
        outcome = sync_indexes(segment)
    return outcome


cdef int sync_indexes(LogSegment* segment) noexcept nogil:
    cdef char path[PATH_CAPACITY]
    cdef int outcome
    # The files must not be renamed between building the path and opening it.
    pthread_mutex_lock(&segment.open_lock)
    outcome = segment_file_path(segment, ".index", path, sizeof(path))
    if outcome >= 0:
        outcome = index_sync(segment.disk, path)
    if outcome >= 0:
        outcome = segment_file_path(segment, ".timeindex", path, sizeof(path))
    if outcome >= 0:
        outcome = index_sync(segment.disk, path)
    if outcome >= 0 and atomic_load_32(&segment.aborted_count) > 0:
        outcome = segment_file_path(segment, ".txnindex", path, sizeof(path))
        if outcome >= 0:
            outcome = index_sync(segment.disk, path)
    if outcome >= 0:
        atomic_store_32(&segment.indexes_unsynced, 0)
    pthread_mutex_unlock(&segment.open_lock)
    # The next load rebuilds a missing index.
    return 0 if outcome == -ENOENT else outcome


cdef int segment_finish(LogSegment* segment) noexcept nogil:
    cdef int outcome
    segment_acquire(segment)
    outcome = segment_open(segment)
    if outcome >= 0:
        time_index_maybe_append(&segment.time_index, segment.base_offset, segment.max_timestamp,
                                segment.offset_of_max_timestamp, True)
        outcome = segment.disk.ftruncate(segment.disk.context, segment.descriptor, segment.size_bytes)
    if outcome >= 0:
        outcome = write_indexes_back(segment)
    if outcome >= 0:
        atomic_store_32(&segment.writable, 0)
        segment.appended = False
        atomic_store_32(&segment.indexes_unsynced, 1)
    segment_release(segment)
    return outcome


cdef int segment_rename_deleted(LogSegment* segment) noexcept nogil:
    cdef int outcome
    # A reader that has pinned the segment may be about to open it, so all names change under the lock.
    pthread_mutex_lock(&segment.open_lock)
    outcome = rename_files(segment)
    segment.deleted = True
    pthread_mutex_unlock(&segment.open_lock)
    return outcome


cdef int rename_files(LogSegment* segment) noexcept nogil:
    cdef char source[PATH_CAPACITY]
    cdef char target[PATH_CAPACITY]
    cdef int outcome, i
    for i in range(FILE_SUFFIX_COUNT):
        outcome = segment_file_path(segment, FILE_SUFFIXES[i], source, sizeof(source))
        if outcome < 0 or snprintf(target, sizeof(target), "%s.deleted", source) >= <int>sizeof(target):
            return -ENAMETOOLONG
        outcome = segment.disk.rename(segment.disk.context, source, target)
        if outcome < 0 and outcome != -ENOENT:
            return outcome
    return 0
