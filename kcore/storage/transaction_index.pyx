"""The aborted transactions of a segment (Kafka's `TransactionIndex`): `<base offset>.txnindex`.

Entries of 34 bytes, big endian, one for every abort marker of the segment, in the order of the markers:

    version int16 = 0 | producer id int64 | first offset int64 | last offset int64 | last stable offset int64

`first offset` and `last offset` are those of the transaction's first record and of its marker. `last stable offset` is
the one after the marker: transactions that end later have no records below it, so a search can stop there. There is no
file while no transaction was aborted. A fetch with read_committed returns the aborted transactions in its range, and
the consumer drops their records.

Crash policy: the index is derived from the log. An entry is written with its marker, and synced before the recovery
point passes its segment. Recovery rebuilds it for the segments it scans (log_recovery). A clean segment without the
file had no aborted transaction.

Concurrency: entries are appended under the log's append lock, and `aborted_count` is published after the entry is
written. No entry is kept in memory: a read_committed fetch from a segment with aborted transactions opens the file and
searches it.
"""

from libc.errno cimport EBADMSG, ENOENT, ENOMEM
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy
from posix.fcntl cimport O_CREAT, O_RDONLY, O_RDWR
from kcore.cursor cimport Cursor, cursor_over, read_int16, read_int64
from kcore.platform.disk cimport FILE_MODE, DiskStat, iovec
from kcore.platform.sync cimport (
    atomic_load_32, atomic_store_32, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.storage.segment cimport LogSegment, segment_file_path

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)

cdef enum:
    VERSION = 0
    ENTRY_BYTES = 34
    READ_ENTRIES = 64
    PATH_CAPACITY = 4096
    FIRST_CAPACITY = 8


cdef void aborted_transactions_free(AbortedTransactions* list) noexcept nogil:
    free(list.entries)
    list.entries = NULL
    list.count = list.capacity = 0


cdef int add(AbortedTransactions* list, const AbortedTransaction* aborted) noexcept nogil:
    cdef AbortedTransaction* grown
    cdef int32_t capacity = max(<int32_t>FIRST_CAPACITY, 2 * list.capacity)
    if list.count == list.capacity:
        grown = <AbortedTransaction*>realloc(list.entries, <size_t>capacity * sizeof(AbortedTransaction))
        if grown == NULL:
            return -ENOMEM
        list.entries = grown
        list.capacity = capacity
    list.entries[list.count] = aborted[0]
    list.count += 1
    return 0


cdef int open_index(LogSegment* segment, int flags) noexcept nogil:
    """Opens the index. The lock keeps the segment from being renamed between building the path and opening it."""
    cdef char path[PATH_CAPACITY]
    cdef int outcome
    pthread_mutex_lock(&segment.open_lock)
    outcome = segment_file_path(segment, ".txnindex", path, sizeof(path))
    if outcome >= 0:
        outcome = segment.disk.open(segment.disk.context, path, flags, FILE_MODE)
    pthread_mutex_unlock(&segment.open_lock)
    return outcome


cdef bint parse_entry(const uint8_t* data, AbortedTransaction* out) noexcept nogil:
    cdef Cursor cursor = cursor_over(data, ENTRY_BYTES)
    cdef int version = read_int16(&cursor)
    out.producer_id = read_int64(&cursor)
    out.first_offset = read_int64(&cursor)
    out.last_offset = read_int64(&cursor)
    out.last_stable_offset = read_int64(&cursor)
    return version == VERSION and not cursor.failed


cdef int read_entries(LogSegment* segment, int descriptor, int32_t position, int32_t count, uint8_t* out) noexcept nogil:
    """Reads up to `count` entries and returns how many whole entries there were."""
    cdef int64_t got = segment.disk.pread(segment.disk.context, descriptor, out, <size_t>count * ENTRY_BYTES,
                                          <int64_t>position * ENTRY_BYTES)
    return <int>got if got < 0 else <int>(got // ENTRY_BYTES)


cdef int check_entries(LogSegment* segment, int descriptor, int32_t count) noexcept nogil:
    """Returns -EBADMSG unless all entries have the known version and fit the segment, in order of their markers."""
    cdef uint8_t data[READ_ENTRIES * ENTRY_BYTES]
    cdef AbortedTransaction entry
    cdef int64_t lowest = segment.base_offset
    cdef int32_t position = 0
    cdef int got, i
    while position < count:
        got = read_entries(segment, descriptor, position, min(<int32_t>READ_ENTRIES, count - position), data)
        if got <= 0:
            return got if got < 0 else -EBADMSG
        for i in range(got):
            if (not parse_entry(data + i * ENTRY_BYTES, &entry) or entry.last_offset < lowest
                    or entry.first_offset < 0 or entry.first_offset > entry.last_offset):
                return -EBADMSG
            lowest = entry.last_offset
        position += got
    return 0


cdef int transaction_index_load(LogSegment* segment) noexcept nogil:
    cdef DiskStat stat
    cdef int outcome
    cdef int descriptor = open_index(segment, O_RDONLY)
    atomic_store_32(&segment.aborted_count, 0)
    if descriptor < 0:
        return 0 if descriptor == -ENOENT else descriptor
    outcome = segment.disk.fstat(segment.disk.context, descriptor, &stat)
    if outcome >= 0 and (stat.size_bytes % ENTRY_BYTES != 0 or stat.size_bytes // ENTRY_BYTES > INT32_MAX):
        outcome = -EBADMSG
    if outcome >= 0:
        outcome = check_entries(segment, descriptor, <int32_t>(stat.size_bytes // ENTRY_BYTES))
    if outcome >= 0:
        atomic_store_32(&segment.aborted_count, <int32_t>(stat.size_bytes // ENTRY_BYTES))
    segment.disk.close(segment.disk.context, descriptor)
    return outcome


cdef inline void put_int64(uint8_t* target, int64_t value) noexcept nogil:
    cdef uint64_t raw = htobe64(<uint64_t>value)
    memcpy(target, &raw, 8)


cdef int transaction_index_append(LogSegment* segment, const AbortedTransaction* aborted) noexcept nogil:
    cdef uint8_t entry[ENTRY_BYTES]
    cdef iovec part
    cdef int64_t outcome
    cdef int32_t count = atomic_load_32(&segment.aborted_count)
    cdef int descriptor = open_index(segment, O_RDWR | O_CREAT)
    if descriptor < 0:
        return descriptor
    entry[0] = entry[1] = VERSION
    put_int64(entry + 2, aborted.producer_id)
    put_int64(entry + 10, aborted.first_offset)
    put_int64(entry + 18, aborted.last_offset)
    put_int64(entry + 26, aborted.last_stable_offset)
    part.iov_base = entry
    part.iov_len = ENTRY_BYTES
    outcome = segment.disk.pwritev(segment.disk.context, descriptor, &part, 1, <int64_t>count * ENTRY_BYTES)
    segment.disk.close(segment.disk.context, descriptor)
    if outcome < 0:
        return <int>outcome
    atomic_store_32(&segment.indexes_unsynced, 1)
    atomic_store_32(&segment.aborted_count, count + 1)
    return 0


cdef int first_ending_from(LogSegment* segment, int descriptor, int64_t offset, int32_t count) noexcept nogil:
    """The position of the first entry whose transaction ended at or above `offset`; `count` if there is none."""
    cdef uint8_t data[ENTRY_BYTES]
    cdef AbortedTransaction entry
    cdef int32_t low = 0
    cdef int32_t high = count
    cdef int32_t middle
    cdef int got
    while low < high:
        middle = low + (high - low) // 2
        got = read_entries(segment, descriptor, middle, 1, data)
        if got < 0:
            return got
        if got == 0:
            # A truncation has removed it since it was counted.
            high = middle
        elif not parse_entry(data, &entry):
            return -EBADMSG
        elif entry.last_offset < offset:
            low = middle + 1
        else:
            high = middle
    return low


cdef int collect_from(LogSegment* segment, int descriptor, int64_t offset, int64_t upper_bound, int32_t count,
                      AbortedTransactions* list, bint* complete) noexcept nogil:
    cdef uint8_t data[READ_ENTRIES * ENTRY_BYTES]
    cdef AbortedTransaction entry
    cdef int position = first_ending_from(segment, descriptor, offset, count)
    cdef int got = 1
    cdef int outcome, i
    while 0 <= position < count and got > 0:
        got = read_entries(segment, descriptor, position, min(<int32_t>READ_ENTRIES, count - position), data)
        for i in range(got):
            if not parse_entry(data + i * ENTRY_BYTES, &entry):
                return -EBADMSG
            if entry.first_offset < upper_bound:
                outcome = add(list, &entry)
                if outcome < 0:
                    return outcome
            if entry.last_stable_offset >= upper_bound:
                complete[0] = True
                return 0
        position += got
    return min(position, min(got, 0))


cdef int transaction_index_collect(LogSegment* segment, int64_t offset, int64_t upper_bound,
                                   AbortedTransactions* list, bint* complete) noexcept nogil:
    cdef int32_t count = atomic_load_32(&segment.aborted_count)
    cdef int descriptor, outcome
    complete[0] = False
    if count == 0:
        return 0
    descriptor = open_index(segment, O_RDONLY)
    if descriptor < 0:
        # The file existed. Without it, readers would get aborted records.
        return -EBADMSG if descriptor == -ENOENT else descriptor
    outcome = collect_from(segment, descriptor, offset, upper_bound, count, list, complete)
    segment.disk.close(segment.disk.context, descriptor)
    return outcome


cdef int transaction_index_truncate(LogSegment* segment, int64_t offset) noexcept nogil:
    cdef int32_t count = atomic_load_32(&segment.aborted_count)
    cdef int descriptor = open_index(segment, O_RDWR)
    cdef int kept, outcome
    if descriptor < 0:
        return 0 if descriptor == -ENOENT else descriptor
    kept = first_ending_from(segment, descriptor, offset, count)
    outcome = min(kept, 0)
    if outcome >= 0:
        outcome = segment.disk.ftruncate(segment.disk.context, descriptor, <int64_t>kept * ENTRY_BYTES)
    if outcome >= 0:
        atomic_store_32(&segment.aborted_count, kept)
        atomic_store_32(&segment.indexes_unsynced, 1)
    segment.disk.close(segment.disk.context, descriptor)
    return outcome
