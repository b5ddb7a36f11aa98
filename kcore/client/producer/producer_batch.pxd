"""ProducerBatch: a batch of one partition. Records are encoded in place, it is closed once, and may be sent repeatedly.

    61 bytes for the header | record | record | ...          (`data`, a buffer from the pool)

An open batch belongs to the application, which appends to it under the accumulator's mutex. A closed batch belongs to
the sender. The sender writes the result (`outcome`) once, and futures read it. The batch is reference-counted: the
accumulator holds it until it is done, and each future holds it. The buffer returns to the pool when the batch is done
and its last request has finished, even if futures still hold the batch.
The records in `data` stay uncompressed, so that a batch that is too large can be split (Kafka's ProducerBatch).
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from kcore.client.producer.records_checksum cimport RecordsChecksum
from kcore.record.batch cimport BATCH_HEADER_SIZE
from kcore.record.compression cimport Bytes, CodecStatus
from kcore.record.record cimport RecordView, put_record_up_to_headers, record_body_size, varlong_size

cdef enum BatchOutcome:
    OUTCOME_PENDING = 0
    OUTCOME_ACKNOWLEDGED = 1
    OUTCOME_FAILED = 2
    OUTCOME_SPLIT = 3          # its records are in `children`

cdef enum LocalError:
    # Errors that no broker reported. Kafka's codes are -1 and higher.
    ERROR_DELIVERY_TIMEOUT = -100
    ERROR_CLOSED = -101
    ERROR_ABORTED = -102       # its transaction was aborted
    ERROR_NO_MEMORY = -103
    ERROR_UNREADABLE_ANSWER = -104
    ERROR_RECORD_REFUSED = -105   # another record of its batch was refused

cdef enum:
    NO_SEQUENCE = -1
    NO_PRODUCER = -1
    NO_TIMESTAMP = -1
    NO_OFFSET = -1

cdef enum CallbackKind:
    CALLBACK_DELIVERY = 0      # called with a RecordMetadata and None, or None and an exception
    CALLBACK_FUTURE = 1        # a future that has callbacks of its own

# Callback of a record. `target` is an owned reference. Native code moves it; only threads with the GIL use it.
cdef struct RecordCallback:
    void* target
    int64_t timestamp_ms
    int32_t index
    int32_t key_size
    int32_t value_size
    int8_t kind

# A record because of which its batch was rejected (KIP-467).
cdef struct RefusedRecord:
    int32_t index
    int32_t text_size          # -1: the broker gave no reason
    uint8_t* text

cdef struct ProducerBatch:
    int32_t holders            # atomic
    int32_t outcome            # atomic: a BatchOutcome, set after all fields of the result
    void* queue                # its PartitionQueue
    ProducerBatch* next        # in the queue's deque
    ProducerBatch* previous
    ProducerBatch* next_incomplete        # in the list of batches that are not done, oldest first
    ProducerBatch* previous_incomplete
    ProducerBatch* next_numbered          # in its partition's list of batches with sequence numbers, lowest first
    ProducerBatch* next_done              # in the list of batches whose callbacks are due
    int64_t number             # increases with each new batch; parts of a split batch have the same number
    int32_t first_record       # index of a part's first record in the batch that was split
    int64_t created_ns
    int64_t retry_pause_ns     # starts with the next turn
    int64_t retry_at_ns
    int32_t attempts
    int32_t partition
    bint is_open
    bint is_in_request         # a request uses its bytes: the buffer must stay
    bint is_renumbered         # its sequence number was changed after it was sent
    bint is_listed             # in the list of incomplete batches
    # Records
    uint8_t* data
    size_t capacity
    size_t size
    RecordsChecksum checksum   # of the leading records in `data`
    int32_t record_count
    int32_t largest_record_bytes
    int64_t base_timestamp_ms
    int64_t max_timestamp_ms
    # For the request
    int64_t producer_id
    int16_t producer_epoch
    int32_t base_sequence
    bint is_transactional
    uint8_t[16] topic_id       # at the time of draining, because metadata may change the topic's id at any time
    bint has_topic_id
    Bytes compressed           # header and compressed records; empty without a codec
    bint is_sealed             # `compressed` is filled, if there is a codec
    # The result
    int16_t error_code
    int64_t base_offset
    int64_t log_append_time_ms
    uint8_t* error_text
    int32_t error_text_size    # -1: none
    RefusedRecord* refused
    int32_t refused_count
    ProducerBatch** children
    int32_t* children_first    # the index of each child's first record
    int32_t children_count
    # The last `send_batch` that appended records here, and the number of its part
    int64_t call
    int64_t call_part
    # Callbacks
    RecordCallback* callbacks
    int32_t callback_count
    int32_t callback_capacity

cdef ProducerBatch* batch_new(uint8_t* data, size_t capacity, int64_t now_ns) noexcept nogil
cdef void batch_hold(ProducerBatch* batch) noexcept nogil
# The last release frees the batch. It must not have callbacks or a buffer then.
cdef void batch_release(ProducerBatch* batch) noexcept nogil
cdef bint batch_add_callback(ProducerBatch* batch, void* target, int8_t kind, int32_t index, int64_t timestamp_ms,
                             int32_t key_size, int32_t value_size) noexcept nogil
# Computes the checksum of appended records while they are in the CPU's caches. For batches that will not be compressed.
cdef void batch_sum_ahead(ProducerBatch* batch) noexcept nogil
# Compresses on the first call and writes the header; call it again after numbers have changed. See `batch_bytes`.
cdef CodecStatus batch_seal(ProducerBatch* batch, int codec, int32_t level) noexcept nogil
cdef const uint8_t* batch_bytes(const ProducerBatch* batch, size_t* size) noexcept nogil
# Splits into parts of at most `target_bytes`, or of one record, with malloc'ed buffers. Returns their number; 0 if
# memory cannot be allocated or the records are invalid.
cdef int32_t batch_split(ProducerBatch* batch, size_t target_bytes) noexcept nogil
cdef void batch_free_bytes(ProducerBatch* batch) noexcept nogil
# Returns the batch that contains a record of a split batch now, and updates its index.
cdef ProducerBatch* batch_holding(ProducerBatch* batch, int32_t* index) noexcept nogil


cdef inline bint batch_append(ProducerBatch* batch, RecordView* record, int64_t timestamp_ms) noexcept nogil:
    """Append an encoded record and set its delta fields. Returns False if there is no room."""
    cdef size_t body_size, needed
    cdef uint8_t* target
    if batch.record_count == 0:
        batch.base_timestamp_ms = timestamp_ms
    record.offset_delta = batch.record_count
    record.timestamp_delta = timestamp_ms - batch.base_timestamp_ms
    body_size = record_body_size(record)
    needed = body_size + varlong_size(<int64_t>body_size)
    if needed > batch.capacity - batch.size:
        return False
    target = put_record_up_to_headers(batch.data + batch.size, record, body_size)
    if record.headers_size != 0:
        memcpy(target, record.headers, record.headers_size)
    batch.size += needed
    batch.record_count += 1
    if timestamp_ms > batch.max_timestamp_ms:
        batch.max_timestamp_ms = timestamp_ms
    if <int32_t>needed > batch.largest_record_bytes:
        batch.largest_record_bytes = <int32_t>needed
    return True
