"""A batch of one partition: records are encoded in place as they come, closed once, sent as often as needed.

    61 bytes for the header | record | record | ...          (`data`, a buffer of the pool)

A batch belongs to the application while it is open (appended to under the accumulator's mutex) and to the sender once
it is closed; what became of it (`outcome`) is written once, by the sender, and read by futures. It is counted: the
accumulator holds it until it is done, each future holds it as long as it lives; the buffer goes back to the pool when
the batch is done and its last request is over, whatever futures hold.
The records stay uncompressed in `data`, so that a batch that is too large can be split (ProducerBatch of Apache Kafka).
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
    # Why a batch ended without a broker's word; beside Kafka's codes, which are -1 and up.
    ERROR_DELIVERY_TIMEOUT = -100
    ERROR_CLOSED = -101
    ERROR_ABORTED = -102       # its transaction was
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

# Whom a record's fate is told. `target` is an owned reference: native code moves it, only Python's threads touch it.
cdef struct RecordCallback:
    void* target
    int64_t timestamp_ms
    int32_t index
    int32_t key_size
    int32_t value_size
    int8_t kind

# A record that spoilt its batch (KIP-467).
cdef struct RefusedRecord:
    int32_t index
    int32_t text_size          # -1: the broker gave no reason
    uint8_t* text

cdef struct ProducerBatch:
    int32_t holders            # atomic
    int32_t outcome            # atomic: a BatchOutcome, set when everything below is
    void* queue                # its PartitionQueue
    ProducerBatch* next        # in the queue's deque
    ProducerBatch* previous
    ProducerBatch* next_incomplete        # among all that are not done, oldest first
    ProducerBatch* previous_incomplete
    ProducerBatch* next_numbered          # among those of its partition that carry a sequence number, lowest first
    ProducerBatch* next_done              # where callbacks wait for their thread
    int64_t number             # counts up as batches are begun; parts of a split one keep it
    int32_t first_record       # where a part began in the batch that was split
    int64_t created_ns
    int64_t retry_pause_ns     # from the next turn on
    int64_t retry_at_ns
    int32_t attempts
    int32_t partition
    bint is_open
    bint is_in_request         # bytes of it are being sent: the buffer must stay
    bint is_renumbered         # its sequence was assigned anew after it had been sent
    bint is_listed             # among the incomplete
    # Records
    uint8_t* data
    size_t capacity
    size_t size
    RecordsChecksum checksum   # of the records in `data`, as far as they are summed
    int32_t record_count
    int32_t largest_record_bytes
    int64_t base_timestamp_ms
    int64_t max_timestamp_ms
    # What is sent
    int64_t producer_id
    int16_t producer_epoch
    int32_t base_sequence
    bint is_transactional
    uint8_t[16] topic_id       # as it was when the batch was drained: metadata may replace the topic's at any time
    bint has_topic_id
    Bytes compressed           # header and compressed records; not there without a codec
    bint is_sealed             # `compressed` is there, where a codec is
    # What became of it
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
    # The last `send_batch` that put records here, and which part of it they are
    int64_t call
    int64_t call_part
    # Who is told
    RecordCallback* callbacks
    int32_t callback_count
    int32_t callback_capacity

cdef ProducerBatch* batch_new(uint8_t* data, size_t capacity, int64_t now_ns) noexcept nogil
cdef void batch_hold(ProducerBatch* batch) noexcept nogil
# The last one frees it. A batch with callbacks or a buffer must not be let go of for the last time.
cdef void batch_release(ProducerBatch* batch) noexcept nogil
cdef bint batch_add_callback(ProducerBatch* batch, void* target, int8_t kind, int32_t index, int64_t timestamp_ms,
                             int32_t key_size, int32_t value_size) noexcept nogil
# Sums what was appended while it is still in the caches; for batches that will not be compressed.
cdef void batch_sum_ahead(ProducerBatch* batch) noexcept nogil
# Compresses once and writes the header; again after the numbers changed. `data` (or `compressed`) then holds the batch.
cdef CodecStatus batch_seal(ProducerBatch* batch, int codec, int32_t level) noexcept nogil
cdef const uint8_t* batch_bytes(const ProducerBatch* batch, size_t* size) noexcept nogil
# Parts of `target_bytes` at most, or of one record; their buffers are malloc'ed. 0 without memory or with unreadable records.
cdef int32_t batch_split(ProducerBatch* batch, size_t target_bytes) noexcept nogil
cdef void batch_free_bytes(ProducerBatch* batch) noexcept nogil
# The batch and index that a record of a split batch is in now.
cdef ProducerBatch* batch_holding(ProducerBatch* batch, int32_t* index) noexcept nogil


cdef inline bint batch_append(ProducerBatch* batch, RecordView* record, int64_t timestamp_ms) noexcept nogil:
    """Encodes a record behind the others; False when there is no room for it. Sets its delta fields."""
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
