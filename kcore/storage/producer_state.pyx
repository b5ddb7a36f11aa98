"""Sequences, epochs and open transactions of a log's producers, and their snapshot (KIP-98, `ProducerStateManager`).

`<offset, 20 digits>.snapshot` holds the state of everything below the offset; big endian:

    version int16 = 1 | crc uint32 | producer count int32 | per producer:
        producer id int64 | producer epoch int16 | last sequence int32 | last offset int64 | offset delta int32
        timestamp int64 | coordinator epoch int32 | current transaction's first offset int64

The checksum is a CRC-32C of everything after itself. Producers are sorted by id. Crash policy: a snapshot is derived
from the log. A damaged one is deleted, and the state is replayed from an older snapshot or from the start of the log. A
snapshot is written at every roll and at a clean shutdown, and is deleted with the segment that starts at its offset.

Concurrency: one lock for everything, held for a few instructions. A snapshot copies all entries under it.
"""

from libc.errno cimport EBADMSG, ENAMETOOLONG, ENOMEM
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove, memset
from libcpp.algorithm cimport sort
from libcpp.map cimport map as ordered_map
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector
from cython.operator cimport dereference, preincrement
from kcore.cursor cimport (
    Cursor, cursor_over, read_int8, read_int16, read_int32, read_int64, read_varint, read_varlong, remaining, take,
)
from kcore.errors cimport (
    INVALID_PRODUCER_EPOCH, NONE, OUT_OF_ORDER_SEQUENCE_NUMBER, TRANSACTION_COORDINATOR_FENCED,
)
from kcore.platform.disk cimport DiskOperations, write_file_atomically
from kcore.platform.sync cimport (
    atomic_load_32, atomic_load_64, atomic_store_32, atomic_store_64, pthread_mutex_destroy, pthread_mutex_init,
    pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.record.batch cimport BATCH_HEADER_SIZE, CONTROL_MASK, TRANSACTIONAL_MASK, BatchHeader
from kcore.record.crc cimport crc32c
from kcore.record.validator cimport ORIGIN_CLIENT, ORIGIN_REPLICATION
from kcore.storage.local_log cimport LogOffsetMetadata

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)
    uint32_t htobe32(uint32_t)

cdef enum:
    SNAPSHOT_VERSION = 1
    SNAPSHOT_CRC_POSITION = 2
    SNAPSHOT_CHECKED_FROM = 6
    SNAPSHOT_HEAD_BYTES = 10
    SNAPSHOT_ENTRY_BYTES = 46
    PATH_CAPACITY = 4096
    CONTROL_ABORT = 0
    CONTROL_COMMIT = 1

cdef cppclass Transaction:
    int64_t producer_id
    int64_t last_offset                          # -1 while ongoing
    LogOffsetMetadata first

ctypedef unordered_map[int64_t, ProducerEntry] ProducerMap
ctypedef ordered_map[int64_t, Transaction] TransactionMap

cdef struct EndTransactionMarker:
    bint valid
    bint commit
    int32_t coordinator_epoch


cdef inline int32_t last_sequence_of(const BatchHeader* header) noexcept nogil:
    """Sequences wrap from 2^31 - 1 to 0."""
    if header.base_sequence > INT32_MAX - header.last_offset_delta:
        return header.last_offset_delta - (INT32_MAX - header.base_sequence) - 1
    return header.base_sequence + header.last_offset_delta


cdef inline int32_t first_sequence_of(const ProducedBatch* batch) noexcept nogil:
    if batch.last_sequence < batch.offset_delta:
        return INT32_MAX - (batch.offset_delta - batch.last_sequence) + 1
    return batch.last_sequence - batch.offset_delta


cdef inline bint follows(int32_t last_sequence, int32_t first_sequence) noexcept nogil:
    return first_sequence == (0 if last_sequence == INT32_MAX else last_sequence + 1)


cdef void keep_batch(ProducerEntry* entry, const BatchHeader* header) noexcept nogil:
    cdef ProducedBatch* batch
    if header.base_sequence == NO_SEQUENCE:
        return
    if entry.batch_count == KEPT_BATCHES:
        memmove(&entry.batches[0], &entry.batches[1], (KEPT_BATCHES - 1) * sizeof(ProducedBatch))
        entry.batch_count -= 1
    batch = &entry.batches[entry.batch_count]
    batch.last_sequence = last_sequence_of(header)
    batch.last_offset = header.last_offset
    batch.offset_delta = header.last_offset_delta
    batch.timestamp = header.max_timestamp
    entry.batch_count += 1


cdef EndTransactionMarker read_marker(const uint8_t* batch, const BatchHeader* header) noexcept nogil:
    """Parses a control record: key (version int16, type int16), value (version int16, coordinator epoch int32)."""
    cdef EndTransactionMarker marker
    cdef Cursor cursor = cursor_over(batch + BATCH_HEADER_SIZE, <size_t>header.size_bytes - BATCH_HEADER_SIZE)
    cdef int32_t key_bytes
    cdef int16_t kind
    marker.valid = False
    read_varint(&cursor)
    read_int8(&cursor)
    read_varlong(&cursor)
    read_varint(&cursor)
    key_bytes = read_varint(&cursor)
    read_int16(&cursor)
    kind = read_int16(&cursor)
    if key_bytes < 4 or take(&cursor, key_bytes - 4) == NULL:
        return marker
    if (kind != CONTROL_ABORT and kind != CONTROL_COMMIT) or read_varint(&cursor) < 6:
        return marker
    read_int16(&cursor)
    marker.coordinator_epoch = read_int32(&cursor)
    marker.commit = kind == CONTROL_COMMIT
    marker.valid = not cursor.failed
    return marker


cdef bint by_producer_id(const ProducerEntry& left, const ProducerEntry& right) noexcept nogil:
    return left.producer_id < right.producer_id


cdef inline uint8_t* put_int64(uint8_t* target, int64_t value) noexcept nogil:
    cdef uint64_t raw = htobe64(<uint64_t>value)
    memcpy(target, &raw, 8)
    return target + 8


cdef inline uint8_t* put_int32(uint8_t* target, int32_t value) noexcept nogil:
    cdef uint32_t raw = htobe32(<uint32_t>value)
    memcpy(target, &raw, 4)
    return target + 4


cdef inline uint8_t* put_int16(uint8_t* target, int16_t value) noexcept nogil:
    target[0] = <uint8_t>(value >> 8)
    target[1] = <uint8_t>(value & 0xFF)
    return target + 2


cdef uint8_t* put_entry(uint8_t* target, const ProducerEntry* entry) noexcept nogil:
    cdef ProducedBatch last
    if entry.batch_count > 0:
        last = entry.batches[entry.batch_count - 1]
    else:
        last.last_sequence = NO_SEQUENCE
        last.last_offset = -1
        last.offset_delta = 0
        last.timestamp = entry.last_timestamp
    target = put_int64(target, entry.producer_id)
    target = put_int16(target, entry.producer_epoch)
    target = put_int32(target, last.last_sequence)
    target = put_int64(target, last.last_offset)
    target = put_int32(target, last.offset_delta)
    target = put_int64(target, entry.last_timestamp)
    target = put_int32(target, entry.coordinator_epoch)
    return put_int64(target, entry.current_txn_first_offset)


cdef class ProducerStateManager:
    """The producers of one log."""

    def __cinit__(self, int64_t expiration_ms=86_400_000):
        pthread_mutex_init(&self.lock, NULL)
        self.producers = new ProducerMap()
        self.ongoing = new TransactionMap()
        self.unreplicated = new TransactionMap()
        self.expiration_ms = expiration_ms
        self.last_snapshot_offset = -1

    def __dealloc__(self):
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef TransactionMap* ongoing = <TransactionMap*>self.ongoing
        cdef TransactionMap* unreplicated = <TransactionMap*>self.unreplicated
        del producers
        del ongoing
        del unreplicated
        pthread_mutex_destroy(&self.lock)

    # --- before an append -------------------------------------------------------------------------------------------

    cdef int16_t check(self, const BatchHeader* header, const uint8_t* batch, int origin,
                       SequenceVerdict* verdict) noexcept nogil:
        cdef ProducerEntry entry
        cdef bint known
        memset(verdict, 0, sizeof(SequenceVerdict))
        if header.producer_id < 0:
            return NONE
        pthread_mutex_lock(&self.lock)
        known = self.find(header.producer_id, &entry)
        pthread_mutex_unlock(&self.lock)
        if header.attributes & CONTROL_MASK:
            return self.check_marker(header, batch, &entry, verdict) if known else <int16_t>NONE
        if known and origin == ORIGIN_CLIENT and self.is_duplicate(&entry, header, verdict):
            return NONE
        if known and header.producer_epoch < entry.producer_epoch and origin != ORIGIN_REPLICATION:
            verdict.error = INVALID_PRODUCER_EPOCH
            verdict.message = "The producer's epoch is older than the one that the partition knows."
        elif origin == ORIGIN_CLIENT and known and not self.is_in_sequence(&entry, header):
            verdict.error = OUT_OF_ORDER_SEQUENCE_NUMBER
            verdict.message = "The producer's first sequence does not follow the last one of the partition."
            verdict.abridged = entry.abridged
        return verdict.error

    cdef int16_t check_marker(self, const BatchHeader* header, const uint8_t* batch, const ProducerEntry* entry,
                              SequenceVerdict* verdict) noexcept nogil:
        """`ProducerAppendInfo.appendEndTxnMarker`: refuses an older producer epoch or coordinator epoch."""
        cdef EndTransactionMarker marker = read_marker(batch, header)
        if header.producer_epoch < entry.producer_epoch:
            verdict.error = INVALID_PRODUCER_EPOCH
            verdict.message = "The marker's producer epoch is older than the one that the partition knows."
        elif marker.valid and marker.coordinator_epoch < entry.coordinator_epoch:
            verdict.error = TRANSACTION_COORDINATOR_FENCED
            verdict.message = "The marker's coordinator epoch is older than the one that the partition knows."
        return verdict.error

    cdef bint find(self, int64_t producer_id, ProducerEntry* out) noexcept nogil:
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef ProducerMap.iterator found = producers.find(producer_id)
        if found == producers.end():
            return False
        out[0] = dereference(found).second
        return True

    cdef bint is_duplicate(self, const ProducerEntry* entry, const BatchHeader* header,
                           SequenceVerdict* verdict) noexcept nogil:
        """Whether a kept batch has the same epoch and the same first and last sequence."""
        cdef int32_t i
        if header.producer_epoch != entry.producer_epoch:
            return False
        for i in range(entry.batch_count):
            if (first_sequence_of(&entry.batches[i]) == header.base_sequence
                    and entry.batches[i].last_sequence == last_sequence_of(header)):
                verdict.duplicate = True
                verdict.original = entry.batches[i]
                return True
        return False

    cdef bint is_in_sequence(self, const ProducerEntry* entry, const BatchHeader* header) noexcept nogil:
        """Whether the batch follows the last one of a known producer. An unknown producer may start at any sequence:
        retention or expiry may have removed everything it wrote before."""
        if entry.producer_epoch == NO_PRODUCER_EPOCH:
            return True
        if header.producer_epoch != entry.producer_epoch:
            return header.base_sequence == 0
        if entry.batch_count == 0:
            return header.base_sequence == 0
        return follows(entry.batches[entry.batch_count - 1].last_sequence, header.base_sequence)

    # --- after an append, and while a log is read back ----------------------------------------------------------------

    cdef bint append(self, const BatchHeader* header, const uint8_t* batch, int64_t segment_base_offset,
                     int64_t position, AbortedTransaction* aborted) noexcept nogil:
        cdef bint has_aborted = False
        if header.producer_id >= 0:
            pthread_mutex_lock(&self.lock)
            if header.attributes & CONTROL_MASK:
                has_aborted = self.append_marker(header, batch, aborted)
            else:
                self.append_data(header, segment_base_offset, position)
            pthread_mutex_unlock(&self.lock)
        self.advance_map_end(header.last_offset + 1)
        return has_aborted

    cdef void advance_map_end(self, int64_t offset) noexcept nogil:
        atomic_store_64(&self.map_end_offset, offset)

    cdef ProducerEntry* entry_of(self, int64_t producer_id, int16_t producer_epoch) noexcept nogil:
        """Returns the producer's entry, created if it is new. A new epoch drops its batches."""
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef ProducerMap.iterator found = producers.find(producer_id)
        cdef ProducerEntry* entry
        if found == producers.end():
            entry = &dereference(producers)[producer_id]
            memset(entry, 0, sizeof(ProducerEntry))
            entry.producer_id = producer_id
            entry.producer_epoch = NO_PRODUCER_EPOCH
            entry.coordinator_epoch = -1
            entry.last_timestamp = -1
            entry.current_txn_first_offset = -1
        else:
            entry = &dereference(found).second
        if entry.producer_epoch != producer_epoch:
            entry.batch_count = 0
            entry.abridged = False
            entry.producer_epoch = producer_epoch
        return entry

    cdef void append_data(self, const BatchHeader* header, int64_t segment_base_offset,
                          int64_t position) noexcept nogil:
        cdef ProducerEntry* entry = self.entry_of(header.producer_id, header.producer_epoch)
        cdef Transaction transaction
        keep_batch(entry, header)
        entry.last_timestamp = header.max_timestamp
        if header.attributes & TRANSACTIONAL_MASK and entry.current_txn_first_offset < 0:
            entry.current_txn_first_offset = header.base_offset
            transaction.producer_id = header.producer_id
            transaction.last_offset = -1
            transaction.first.offset = header.base_offset
            transaction.first.segment_base_offset = segment_base_offset
            transaction.first.position = position
            dereference(<TransactionMap*>self.ongoing)[header.base_offset] = transaction
            self.count_transactions()

    cdef void recall(self, const ProducerEntry* found) noexcept nogil:
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef ProducerMap.iterator i
        cdef ProducerEntry* entry
        pthread_mutex_lock(&self.lock)
        i = producers.find(found.producer_id)
        if i != producers.end():
            entry = &dereference(i).second
            entry.abridged = False
            if (found.batch_count > entry.batch_count > 0 and found.batches[found.batch_count - 1].last_offset
                    == entry.batches[entry.batch_count - 1].last_offset):
                memcpy(entry.batches, found.batches, sizeof(entry.batches))
                entry.batch_count = found.batch_count
        pthread_mutex_unlock(&self.lock)

    cdef bint append_marker(self, const BatchHeader* header, const uint8_t* batch,
                            AbortedTransaction* aborted) noexcept nogil:
        """Ends the producer's transaction. Returns True if it aborts one with records, for the transaction index."""
        cdef EndTransactionMarker marker = read_marker(batch, header)
        cdef ProducerEntry* entry
        cdef TransactionMap* ongoing = <TransactionMap*>self.ongoing
        cdef TransactionMap.iterator found
        cdef bint has_aborted = False
        if not marker.valid:
            return False
        entry = self.entry_of(header.producer_id, header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = header.max_timestamp
        if entry.current_txn_first_offset >= 0:
            found = ongoing.find(entry.current_txn_first_offset)
            if found != ongoing.end():
                dereference(found).second.last_offset = header.last_offset
                dereference(<TransactionMap*>self.unreplicated)[dereference(found).first] = dereference(found).second
                ongoing.erase(found)
            has_aborted = not marker.commit
            aborted.producer_id = header.producer_id
            aborted.first_offset = entry.current_txn_first_offset
            aborted.last_offset = header.last_offset
            # The start of the earliest ongoing transaction (`ProducerStateManager.lastStableOffset`).
            aborted.last_stable_offset = header.last_offset + 1
            if ongoing.size():
                aborted.last_stable_offset = dereference(ongoing.begin()).first
            entry.current_txn_first_offset = -1
            self.count_transactions()
        return has_aborted

    cdef void count_transactions(self) noexcept nogil:
        atomic_store_32(&self.transaction_count, <int32_t>((<TransactionMap*>self.ongoing).size()
                                                          + (<TransactionMap*>self.unreplicated).size()))

    cdef bint first_unstable(self, int64_t high_watermark, LogOffsetMetadata* out) noexcept nogil:
        cdef TransactionMap* ongoing = <TransactionMap*>self.ongoing
        cdef TransactionMap* unreplicated = <TransactionMap*>self.unreplicated
        cdef TransactionMap.iterator i
        cdef bint found = False
        if atomic_load_32(&self.transaction_count) == 0:
            return False
        pthread_mutex_lock(&self.lock)
        i = unreplicated.begin()
        while i != unreplicated.end():
            if dereference(i).second.last_offset < high_watermark:
                i = unreplicated.erase(i)
            else:
                preincrement(i)
        self.count_transactions()
        if ongoing.size():
            out[0] = dereference(ongoing.begin()).second.first
            found = True
        if unreplicated.size() and (not found or dereference(unreplicated.begin()).first < out.offset):
            out[0] = dereference(unreplicated.begin()).second.first
            found = True
        pthread_mutex_unlock(&self.lock)
        return found

    # --- snapshots --------------------------------------------------------------------------------------------------

    cdef void clear(self, int64_t end_offset) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        (<ProducerMap*>self.producers).clear()
        (<TransactionMap*>self.ongoing).clear()
        (<TransactionMap*>self.unreplicated).clear()
        self.count_transactions()
        pthread_mutex_unlock(&self.lock)
        self.last_snapshot_offset = -1
        self.advance_map_end(end_offset)

    cdef int encode(self, uint8_t** out, size_t* size) noexcept nogil:
        cdef vector[ProducerEntry] entries
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef ProducerMap.iterator i
        cdef uint8_t* target
        cdef size_t position
        pthread_mutex_lock(&self.lock)
        entries.reserve(producers.size())
        i = producers.begin()
        while i != producers.end():
            entries.push_back(dereference(i).second)
            preincrement(i)
        pthread_mutex_unlock(&self.lock)
        sort(entries.begin(), entries.end(), by_producer_id)
        size[0] = SNAPSHOT_HEAD_BYTES + entries.size() * SNAPSHOT_ENTRY_BYTES
        out[0] = <uint8_t*>malloc(size[0])
        if out[0] == NULL:
            return -ENOMEM
        put_int16(out[0], SNAPSHOT_VERSION)
        target = put_int32(out[0] + SNAPSHOT_CHECKED_FROM, <int32_t>entries.size())
        for position in range(entries.size()):
            target = put_entry(target, &entries[position])
        put_int32(out[0] + SNAPSHOT_CRC_POSITION,
                  <int32_t>crc32c(out[0] + SNAPSHOT_CHECKED_FROM, size[0] - SNAPSHOT_CHECKED_FROM))
        return 0

    cdef int take_snapshot(self, const DiskOperations* disk, const char* directory) noexcept nogil:
        cdef char path[PATH_CAPACITY]
        cdef uint8_t* data = NULL
        cdef size_t size = 0
        cdef int64_t offset = atomic_load_64(&self.map_end_offset)
        cdef int outcome
        # There is no state before offset 0.
        if offset <= max(self.last_snapshot_offset, <int64_t>0):
            return 0
        if snprintf(path, sizeof(path), "%s/%020lld.snapshot", directory, <long long>offset) >= <int>sizeof(path):
            return -ENAMETOOLONG
        outcome = self.encode(&data, &size)
        if outcome >= 0:
            outcome = write_file_atomically(disk, path, data, size)
        free(data)
        if outcome >= 0:
            self.last_snapshot_offset = offset
        return outcome

    cdef int restore(self, const uint8_t* data, size_t size, int64_t snapshot_offset, int64_t now_ms) noexcept nogil:
        """Loads the producers of a snapshot, except expired ones. Returns -EBADMSG if the snapshot is damaged."""
        cdef Cursor cursor = cursor_over(data, size)
        cdef int16_t version = read_int16(&cursor)
        cdef uint32_t checksum = <uint32_t>read_int32(&cursor)
        cdef int32_t count = read_int32(&cursor), i
        if cursor.failed or version != SNAPSHOT_VERSION or count < 0:
            return -EBADMSG
        if crc32c(data + SNAPSHOT_CHECKED_FROM, size - SNAPSHOT_CHECKED_FROM) != checksum:
            return -EBADMSG
        if <int64_t>remaining(&cursor) != <int64_t>count * SNAPSHOT_ENTRY_BYTES:
            return -EBADMSG
        self.clear(snapshot_offset)
        pthread_mutex_lock(&self.lock)
        for i in range(count):
            self.restore_entry(&cursor, now_ms)
        self.count_transactions()
        pthread_mutex_unlock(&self.lock)
        self.last_snapshot_offset = snapshot_offset
        return 0

    cdef void restore_entry(self, Cursor* cursor, int64_t now_ms) noexcept nogil:
        cdef ProducerEntry entry
        cdef Transaction transaction
        memset(&entry, 0, sizeof(entry))
        entry.producer_id = read_int64(cursor)
        entry.producer_epoch = read_int16(cursor)
        entry.batches[0].last_sequence = read_int32(cursor)
        entry.batches[0].last_offset = read_int64(cursor)
        entry.batches[0].offset_delta = read_int32(cursor)
        entry.batches[0].timestamp = entry.last_timestamp = read_int64(cursor)
        entry.coordinator_epoch = read_int32(cursor)
        entry.current_txn_first_offset = read_int64(cursor)
        entry.batch_count = 1 if entry.batches[0].last_offset >= 0 else 0
        entry.abridged = entry.batch_count > 0
        if entry.current_txn_first_offset < 0 and now_ms - entry.last_timestamp >= self.expiration_ms:
            return
        dereference(<ProducerMap*>self.producers)[entry.producer_id] = entry
        if entry.current_txn_first_offset >= 0:
            transaction.producer_id = entry.producer_id
            transaction.last_offset = -1
            # The position is not in the snapshot. It is looked up after the log is loaded.
            transaction.first.offset = entry.current_txn_first_offset
            transaction.first.segment_base_offset = transaction.first.position = -1
            dereference(<TransactionMap*>self.ongoing)[entry.current_txn_first_offset] = transaction

    cdef bint next_unplaced(self, int64_t* offset) noexcept nogil:
        cdef TransactionMap* ongoing = <TransactionMap*>self.ongoing
        cdef TransactionMap.iterator i = ongoing.begin()
        while i != ongoing.end():
            if dereference(i).second.first.position < 0:
                offset[0] = dereference(i).first
                return True
            preincrement(i)
        return False

    cdef void place(self, int64_t offset, const LogOffsetMetadata* first) noexcept nogil:
        dereference(<TransactionMap*>self.ongoing)[offset].first = first[0]

    # --- Python interface -------------------------------------------------------------------------------------------

    def remove_expired(self, int64_t now_ms):
        """Removes producers without an open transaction that were silent for `expiration_ms`. Returns how many."""
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef ProducerMap.iterator i
        cdef int32_t removed = 0
        with nogil:
            pthread_mutex_lock(&self.lock)
            i = producers.begin()
            while i != producers.end():
                if (dereference(i).second.current_txn_first_offset < 0
                        and now_ms - dereference(i).second.last_timestamp >= self.expiration_ms):
                    i = producers.erase(i)
                    removed += 1
                else:
                    preincrement(i)
            pthread_mutex_unlock(&self.lock)
        return removed

    def active_producers(self):
        """A dict for each producer, as in a DescribeProducers response, sorted by producer id."""
        cdef vector[ProducerEntry] entries
        cdef ProducerMap* producers = <ProducerMap*>self.producers
        cdef ProducerMap.iterator i
        cdef size_t position
        with nogil:
            pthread_mutex_lock(&self.lock)
            i = producers.begin()
            while i != producers.end():
                entries.push_back(dereference(i).second)
                preincrement(i)
            pthread_mutex_unlock(&self.lock)
            sort(entries.begin(), entries.end(), by_producer_id)
        return [described(&entries[position]) for position in range(entries.size())]


cdef dict described(const ProducerEntry* entry):
    cdef int32_t last = entry.batch_count - 1
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.producer_epoch,
        "last_sequence": entry.batches[last].last_sequence if last >= 0 else NO_SEQUENCE,
        "last_offset": entry.batches[last].last_offset if last >= 0 else -1,
        "last_timestamp": entry.last_timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_start_offset": entry.current_txn_first_offset,
        "sequences": [(first_sequence_of(&entry.batches[i]), entry.batches[i].last_sequence)
                      for i in range(entry.batch_count)],
    }
