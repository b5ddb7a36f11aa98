"""Restoring producer state after a start or a truncation (`ProducerStateManager.truncateAndReload`).

Crash policy: the newest snapshot at or below the log end is loaded. A snapshot above it describes records that are gone
and is deleted. A snapshot with a wrong checksum is deleted, and the next older one is tried. The rest is read from the
batches. A snapshot keeps only a producer's last batch; the log is searched for the earlier ones when the producer seems
to retry one of them (Kafka refuses such a retry). The caller holds the log's append lock, or is the only user of the
log.
"""

from libc.errno cimport EBADMSG, ENAMETOOLONG, ENOMEM
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport strcmp
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector
from kcore.platform.disk cimport DiskOperations, read_whole_file
from kcore.record.batch cimport CONTROL_MASK, BatchHeader
from kcore.storage.offset_index cimport offset_index_upper_bound
from kcore.storage.producer_state cimport ProducerEntry, ProducerStateManager, keep_batch
from kcore.storage.segment cimport LogSegment, segment_acquire, segment_open, segment_release
from kcore.storage.segment_search cimport BATCH_FOUND, segment_find_batch, segment_find_offset
from kcore.storage.transaction_index cimport AbortedTransaction, transaction_index_append

cdef enum:
    PATH_CAPACITY = 4096
    OFFSET_DIGITS = 20

ctypedef vector[int64_t] Offsets


cdef int64_t snapshot_offset(const char* name) noexcept nogil:
    """The offset in a snapshot's file name; -1 for any other name and for a number beyond the largest offset."""
    cdef int64_t offset = 0
    cdef int i
    for i in range(OFFSET_DIGITS):
        if name[i] < c"0" or name[i] > c"9" or offset > (INT64_MAX - (name[i] - c"0")) // 10:
            return -1
        offset = offset * 10 + (name[i] - c"0")
    return offset if strcmp(name + OFFSET_DIGITS, ".snapshot") == 0 else -1


cdef int note_snapshot(void* argument, const char* name, bint is_directory) noexcept nogil:
    cdef int64_t offset = snapshot_offset(name)
    if offset >= 0 and not is_directory:
        (<Offsets*>argument).push_back(offset)
    return 0


cdef int load_snapshot(ProducerStateManager producers, const DiskOperations* disk, const char* path, int64_t offset,
                       int64_t now_ms) noexcept nogil:
    cdef uint8_t* data = NULL
    cdef int64_t outcome = read_whole_file(disk, path, &data)
    if outcome >= 0:
        outcome = producers.restore(data, <size_t>outcome, offset, now_ms)
    free(data)
    return <int>outcome


cdef int64_t load_latest_snapshot(ProducerStateManager producers, const DiskOperations* disk, const char* directory,
                                  int64_t start_offset, int64_t end_offset, bint removes_later,
                                  int64_t now_ms) noexcept nogil:
    cdef char path[PATH_CAPACITY]
    cdef Offsets offsets
    cdef size_t count
    cdef int outcome = disk.readdir(disk.context, directory, note_snapshot, &offsets)
    if outcome < 0:
        return outcome
    sort(offsets.begin(), offsets.end())
    count = offsets.size()
    producers.damaged_snapshots = 0
    while not offsets.empty() and not removes_later and offsets.back() > end_offset:
        offsets.pop_back()
    while not offsets.empty():
        if snprintf(path, sizeof(path), "%s/%020lld.snapshot", directory,
                    <long long>offsets.back()) >= <int>sizeof(path):
            return -ENAMETOOLONG
        outcome = -EBADMSG
        if offsets.back() <= end_offset:
            outcome = load_snapshot(producers, disk, path, offsets.back(), now_ms)
        if outcome >= 0:
            break
        if outcome != -EBADMSG:
            return outcome
        if offsets.back() <= end_offset:
            if producers.damaged_snapshots == 0:
                producers.newest_damaged_snapshot = offsets.back()
            producers.damaged_snapshots += 1
        outcome = disk.unlink(disk.context, path)
        if outcome < 0:
            return outcome
        offsets.pop_back()
    if offsets.size() < count:
        # Sync the removal: a snapshot that came back after a loss of power would be loaded once the log reaches its
        # offset.
        outcome = disk.fsync_directory(disk.context, directory)
        if outcome < 0:
            return outcome
    if not offsets.empty():
        return offsets.back()
    producers.clear(start_offset)
    return start_offset


# Called for each batch. A negated errno ends the iteration.
ctypedef int (*Visit)(void* visitor, LogSegment* segment, const BatchHeader* header, int64_t position) noexcept nogil

cdef struct Replay:
    void* producers              # ProducerStateManager
    bint indexes_aborted


cdef int visit_batches(LogSegment* segment, int64_t offset, Visit visit, void* visitor) noexcept nogil:
    """Visits the batches of an open segment with records at or above `offset`."""
    cdef BatchHeader header
    cdef int64_t position = 0
    cdef int outcome = segment_find_offset(segment, offset, segment.size_bytes, &header, &position)
    while outcome == BATCH_FOUND:
        if header.magic == 2:
            outcome = visit(visitor, segment, &header, position)
        if outcome >= 0:
            outcome = segment_find_batch(segment, offset, position + header.size_bytes, segment.size_bytes, &header,
                                         &position)
    return outcome


cdef int replay_batch(void* visitor, LogSegment* segment, const BatchHeader* header, int64_t position) noexcept nogil:
    """Updates producer state for one batch. A data batch needs only its header, a control batch is read completely."""
    cdef Replay* replay = <Replay*>visitor
    cdef AbortedTransaction aborted
    cdef uint8_t* batch
    cdef int64_t outcome
    if not header.attributes & CONTROL_MASK:
        (<ProducerStateManager>replay.producers).append(header, NULL, segment.base_offset, position, &aborted)
        return 0
    batch = <uint8_t*>malloc(<size_t>header.size_bytes)
    if batch == NULL:
        return -ENOMEM
    outcome = segment.disk.pread(segment.disk.context, segment.descriptor, batch, <size_t>header.size_bytes, position)
    if outcome == header.size_bytes:
        outcome = 0
        if ((<ProducerStateManager>replay.producers).append(header, batch, segment.base_offset, position, &aborted)
                and replay.indexes_aborted):
            outcome = transaction_index_append(segment, &aborted)
    elif outcome >= 0:
        outcome = -EBADMSG
    free(batch)
    return <int>outcome


cdef int replay_segment(ProducerStateManager producers, LogSegment* segment, int64_t offset,
                        bint indexes_aborted) noexcept nogil:
    cdef Replay replay
    cdef int outcome
    replay.producers = <void*>producers
    replay.indexes_aborted = indexes_aborted
    segment_acquire(segment)
    outcome = segment_open(segment)
    if outcome >= 0:
        outcome = visit_batches(segment, offset, replay_batch, &replay)
    segment_release(segment)
    return outcome


cdef int recall_batch(void* visitor, LogSegment* segment, const BatchHeader* header, int64_t position) noexcept nogil:
    cdef ProducerEntry* producer = <ProducerEntry*>visitor
    if (header.producer_id == producer.producer_id and header.producer_epoch == producer.producer_epoch
            and not header.attributes & CONTROL_MASK):
        keep_batch(producer, header)
    return 0


cdef int recall_batches(LogSegment* segment, int64_t window_bytes, ProducerEntry* producer) noexcept nogil:
    cdef int64_t offset = segment.base_offset
    cdef int outcome
    segment_acquire(segment)
    outcome = segment_open(segment)
    if outcome >= 0:
        if segment.size_bytes > window_bytes:
            offset = max(offset, offset_index_upper_bound(&segment.offset_index, segment.base_offset,
                                                          segment.size_bytes - window_bytes))
        outcome = visit_batches(segment, offset, recall_batch, producer)
    segment_release(segment)
    return outcome
