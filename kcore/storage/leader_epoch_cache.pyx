"""The leader epochs of a log and their start offsets, with the file `leader-epoch-checkpoint`.

The file is text, one item a line: version `0`, the number of entries, then `epoch start-offset` per entry. Crash
policy: the file is replaced as a whole (temporary file, sync, rename). A new epoch is assigned in memory only, so
becoming leader costs no I/O. The file is written before the recovery point passes the records of a new epoch, on
truncation and on close. Recovery learns the epochs above the recovery point from the batches, and all epochs if the
file cannot be read. An epoch without records may be lost: the next epoch gives the same answers.

Concurrency: one lock, which is also held while the file is written: epochs change with leadership, not with appends.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport strdup
from libcpp.vector cimport vector
from kcore.platform.disk cimport Disk, write_file_atomically
from kcore.platform.sync cimport (
    atomic_load_32, atomic_store_32, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock,
)

ctypedef vector[EpochEntry] EpochList

cdef enum:
    LINE_CAPACITY = 40           # two integers, a space and a line's end

FILE_NAME = "leader-epoch-checkpoint"
VERSION = 0


cdef class LeaderEpochCache:
    """The epochs of one log."""

    def __cinit__(self, Disk disk not None, bytes path not None):
        pthread_mutex_init(&self.lock, NULL)
        self.entries = new EpochList()
        self.written = new EpochList()
        self.latest = UNDEFINED_EPOCH
        self.disk_owner = disk
        self.disk = &disk.operations
        self.path = strdup(path)
        if self.path == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef EpochList* entries = <EpochList*>self.entries
        cdef EpochList* written = <EpochList*>self.written
        del entries
        del written
        free(self.path)
        pthread_mutex_destroy(&self.lock)

    cdef void refresh_latest(self) noexcept nogil:
        cdef EpochList* entries = <EpochList*>self.entries
        atomic_store_32(&self.latest, entries.back().epoch if entries.size() else UNDEFINED_EPOCH)

    cdef int32_t latest_epoch(self) noexcept nogil:
        return atomic_load_32(&self.latest)

    cdef void assign(self, int32_t epoch, int64_t start_offset) noexcept nogil:
        cdef EpochList* entries = <EpochList*>self.entries
        cdef EpochEntry entry
        if epoch < 0 or epoch == self.latest_epoch():
            return
        entry.epoch = epoch
        entry.start_offset = start_offset
        pthread_mutex_lock(&self.lock)
        # Drop epochs that are not lower, or did not start earlier: they are not part of this log's history.
        while entries.size() and (entries.back().epoch >= epoch or entries.back().start_offset >= start_offset):
            entries.pop_back()
        entries.push_back(entry)
        self.refresh_latest()
        pthread_mutex_unlock(&self.lock)

    cdef int write_when_changed(self, int64_t end_offset) noexcept nogil:
        cdef int outcome = 0
        pthread_mutex_lock(&self.lock)
        if not same_below(<EpochList*>self.entries, <EpochList*>self.written, end_offset):
            outcome = self.save()
        pthread_mutex_unlock(&self.lock)
        return outcome

    cdef int save(self) noexcept nogil:
        """Writes the file. The caller holds the lock."""
        cdef EpochList* entries = <EpochList*>self.entries
        cdef size_t capacity = (entries.size() + 2) * LINE_CAPACITY
        cdef char* text = <char*>malloc(capacity)
        cdef int length, outcome
        cdef size_t i
        if text == NULL:
            return -ENOMEM
        length = snprintf(text, capacity, "0\n%zu\n", entries.size())
        for i in range(entries.size()):
            length += snprintf(text + length, capacity - <size_t>length, "%d %lld\n", dereferenced(entries, i).epoch,
                               <long long>dereferenced(entries, i).start_offset)
        outcome = write_file_atomically(self.disk, self.path, text, <size_t>length)
        free(text)
        if outcome >= 0:
            (<EpochList*>self.written)[0] = entries[0]
        return outcome

    cdef EpochEntry end_offset_for(self, int32_t epoch, int64_t log_end_offset) noexcept nogil:
        cdef EpochList* entries = <EpochList*>self.entries
        cdef EpochEntry answer
        cdef size_t higher = 0
        answer.epoch = UNDEFINED_EPOCH
        answer.start_offset = UNDEFINED_EPOCH_OFFSET
        if epoch == UNDEFINED_EPOCH:
            return answer
        pthread_mutex_lock(&self.lock)
        while higher < entries.size() and dereferenced(entries, higher).epoch <= epoch:
            higher += 1
        if higher == entries.size():
            if entries.size() and entries.back().epoch == epoch:
                answer.epoch = epoch
                answer.start_offset = log_end_offset
        else:
            answer.epoch = dereferenced(entries, higher - 1).epoch if higher > 0 else epoch
            answer.start_offset = dereferenced(entries, higher).start_offset
        pthread_mutex_unlock(&self.lock)
        return answer

    cdef int32_t epoch_of(self, int64_t offset) noexcept nogil:
        """The epoch in which the record at `offset` was written; -1 if it is not known."""
        cdef EpochList* entries = <EpochList*>self.entries
        cdef int32_t epoch = UNDEFINED_EPOCH
        cdef size_t i
        pthread_mutex_lock(&self.lock)
        for i in range(entries.size()):
            if dereferenced(entries, i).start_offset <= offset:
                epoch = dereferenced(entries, i).epoch
        pthread_mutex_unlock(&self.lock)
        return epoch

    cdef void truncate_from_end(self, int64_t end_offset) noexcept nogil:
        """Removes the epochs that start at or above the new log end offset."""
        cdef EpochList* entries = <EpochList*>self.entries
        pthread_mutex_lock(&self.lock)
        while entries.size() and entries.back().start_offset >= end_offset:
            entries.pop_back()
        self.refresh_latest()
        pthread_mutex_unlock(&self.lock)

    cdef void truncate_from_start(self, int64_t start_offset) noexcept nogil:
        """Removes the epochs that ended before the new log start offset; the one that contains it now starts there."""
        cdef EpochList* entries = <EpochList*>self.entries
        cdef size_t passed = 0
        pthread_mutex_lock(&self.lock)
        while passed < entries.size() and dereferenced(entries, passed).start_offset <= start_offset:
            passed += 1
        if passed and (passed > 1 or entries.front().start_offset < start_offset):
            entries.erase(entries.begin(), entries.begin() + (passed - 1))
            dereferenced(entries, 0).start_offset = start_offset
        pthread_mutex_unlock(&self.lock)

    # --- Python interface -------------------------------------------------------------------------------------------

    def load(self):
        """Reads the file. Returns False if it is missing or invalid."""
        try:
            content = self.disk_owner.read_file((<bytes>self.path).decode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            return False
        parsed = parse(content)
        if parsed is not None:
            self.replace(parsed)
            (<EpochList*>self.written)[0] = (<EpochList*>self.entries)[0]
        return parsed is not None

    def replace(self, list parsed not None):
        """Replaces the entries by `(epoch, start offset)` pairs, in memory only."""
        cdef EpochEntry entry
        (<EpochList*>self.entries).clear()
        for entry.epoch, entry.start_offset in parsed:
            (<EpochList*>self.entries).push_back(entry)
        self.refresh_latest()

    def snapshot(self):
        """The `(epoch, start offset)` pairs, oldest first."""
        cdef EpochList* entries = <EpochList*>self.entries
        cdef EpochList copied
        cdef size_t i
        with nogil:
            pthread_mutex_lock(&self.lock)
            copied = entries[0]
            pthread_mutex_unlock(&self.lock)
        return [(copied[i].epoch, copied[i].start_offset) for i in range(copied.size())]


cdef inline EpochEntry* dereferenced(EpochList* entries, size_t position) noexcept nogil:
    return &entries[0][position]


cdef bint same_below(EpochList* left, EpochList* right, int64_t end_offset) noexcept nogil:
    """Whether both lists have the same epochs for records below `end_offset`."""
    cdef size_t i = 0
    cdef bint in_left, in_right
    while True:
        in_left = i < left.size() and dereferenced(left, i).start_offset < end_offset
        in_right = i < right.size() and dereferenced(right, i).start_offset < end_offset
        if not in_left or not in_right:
            return in_left == in_right
        if (dereferenced(left, i).epoch != dereferenced(right, i).epoch
                or dereferenced(left, i).start_offset != dereferenced(right, i).start_offset):
            return False
        i += 1


def parse(bytes content not None):
    """The `(epoch, start offset)` pairs in the content of the file, or None if it is invalid."""
    lines = content.split(b"\n")
    try:
        if len(lines) < 2 or int(lines[0]) != VERSION:
            return None
        count = int(lines[1])
        pairs = [(int(epoch), int(offset)) for epoch, offset in (line.split() for line in lines[2:] if line.strip())]
    except ValueError:
        return None
    if len(pairs) != count or pairs != sorted(pairs):
        return None
    if any(not 0 <= epoch <= INT32_MAX or not 0 <= offset <= INT64_MAX for epoch, offset in pairs):
        return None
    return pairs
