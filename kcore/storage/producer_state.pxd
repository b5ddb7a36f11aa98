"""The state of a log's idempotent and transactional producers (Kafka's `ProducerStateManager`)."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.cursor cimport Cursor
from kcore.platform.disk cimport DiskOperations
from kcore.platform.sync cimport pthread_mutex_t
from kcore.record.batch cimport BatchHeader
from kcore.storage.local_log cimport LogOffsetMetadata
from kcore.storage.transaction_index cimport AbortedTransaction

cdef enum:
    KEPT_BATCHES = 5             # per producer: the latest batches that a retry may repeat
    NO_PRODUCER_ID = -1
    NO_PRODUCER_EPOCH = -1
    NO_SEQUENCE = -1

cdef struct ProducedBatch:
    int32_t last_sequence
    int64_t last_offset
    int32_t offset_delta
    int64_t timestamp

cdef struct ProducerEntry:
    int64_t producer_id
    int16_t producer_epoch
    int32_t coordinator_epoch
    int64_t last_timestamp
    int64_t current_txn_first_offset             # -1 outside a transaction
    ProducedBatch batches[5]                     # oldest first
    int32_t batch_count
    bint abridged                                # loaded from a snapshot, which keeps only the last batch

cdef struct SequenceVerdict:
    int16_t error
    const char* message                          # static; NULL without an error
    bint duplicate
    ProducedBatch original                       # of a duplicate
    bint abridged                                # refused, unless `recall` finds an earlier batch in the log

cdef class ProducerStateManager:
    cdef void* producers                         # std::unordered_map<int64_t, ProducerEntry>
    cdef void* ongoing                           # std::map: first offset -> transaction without a marker yet
    cdef void* unreplicated                      # std::map: first offset -> ended above the high watermark
    cdef pthread_mutex_t lock
    cdef int32_t transaction_count               # ongoing and unreplicated ones
    cdef int64_t map_end_offset                  # everything below it is accounted for
    cdef int64_t last_snapshot_offset
    cdef readonly int64_t expiration_ms
    cdef readonly int32_t damaged_snapshots      # removed when the state was last loaded
    cdef readonly int64_t newest_damaged_snapshot

    # Checks epoch and sequence of a batch before its append, or the epochs of a marker. Sets an error, a duplicate, or
    # neither.
    cdef int16_t check(self, const BatchHeader* header, const uint8_t* batch, int origin,
                       SequenceVerdict* verdict) noexcept nogil
    # Updates the state for a batch that was written at a position; `batch` has header.size_bytes readable bytes.
    # Returns True and fills in `aborted` if it is the marker of an aborted transaction, for the segment's transaction
    # index.
    cdef bint append(self, const BatchHeader* header, const uint8_t* batch, int64_t segment_base_offset,
                     int64_t position, AbortedTransaction* aborted) noexcept nogil
    # Takes over a producer's latest batches that were read from the log, if the last one is the last known one.
    cdef void recall(self, const ProducerEntry* found) noexcept nogil
    cdef void advance_map_end(self, int64_t offset) noexcept nogil
    # Sets the first offset of the earliest undecided transaction. A transaction is decided once its marker is below
    # `high_watermark`. False if there is none.
    cdef bint first_unstable(self, int64_t high_watermark, LogOffsetMetadata* out) noexcept nogil
    cdef void clear(self, int64_t end_offset) noexcept nogil
    # Writes `<directory>/<map end offset>.snapshot` unless it exists. Returns 0 or a negated errno.
    cdef int take_snapshot(self, const DiskOperations* disk, const char* directory) noexcept nogil
    cdef int restore(self, const uint8_t* data, size_t size, int64_t snapshot_offset, int64_t now_ms) noexcept nogil
    # The first offset of a transaction whose position is not known; `place` sets the position.
    cdef bint next_unplaced(self, int64_t* offset) noexcept nogil
    cdef void place(self, int64_t offset, const LogOffsetMetadata* first) noexcept nogil
    cdef bint find(self, int64_t producer_id, ProducerEntry* out) noexcept nogil
    cdef int16_t check_marker(self, const BatchHeader* header, const uint8_t* batch, const ProducerEntry* entry,
                              SequenceVerdict* verdict) noexcept nogil
    cdef bint is_duplicate(self, const ProducerEntry* entry, const BatchHeader* header,
                           SequenceVerdict* verdict) noexcept nogil
    cdef bint is_in_sequence(self, const ProducerEntry* entry, const BatchHeader* header) noexcept nogil
    cdef ProducerEntry* entry_of(self, int64_t producer_id, int16_t producer_epoch) noexcept nogil
    cdef void append_data(self, const BatchHeader* header, int64_t segment_base_offset, int64_t position) noexcept nogil
    cdef bint append_marker(self, const BatchHeader* header, const uint8_t* batch,
                            AbortedTransaction* aborted) noexcept nogil
    cdef void count_transactions(self) noexcept nogil
    cdef int encode(self, uint8_t** out, size_t* size) noexcept nogil
    cdef void restore_entry(self, Cursor* cursor, int64_t now_ms) noexcept nogil

# Adds a data batch to the latest ones of its producer.
cdef void keep_batch(ProducerEntry* entry, const BatchHeader* header) noexcept nogil
