"""Produce, API key 0, versions 3 to 13, encoded and decoded natively.

    3-8   transactional id, acks, timeout ms, [name, [index, records]]
    9-12  the same with compact strings, arrays and tagged fields
    13    topics by id instead of name (KIP-516)
    response: [name or id, [index, error code, base offset, log append time (2+), log start offset (5+),
    [batch index, reason] and a text (8+), current leader (10+, tag 0)]], throttle time, node endpoints (10+, tag 0)

A request contains at most one batch per partition. Its other bytes ("glue") are in one buffer, and batches are sent
from where they are: the frame is a list of parts.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.client.network.client_request cimport ClientRequest
from kcore.client.producer.producer_batch cimport ProducerBatch
from kcore.cursor cimport Cursor
from kcore.platform.disk cimport iovec
from kcore.protocol.output cimport Output

cdef enum:
    LOWEST_PRODUCE_VERSION = 3
    HIGHEST_PRODUCE_VERSION = 13
    FIRST_FLEXIBLE_VERSION = 9
    FIRST_VERSION_BY_ID = 13
    # Two parts per batch; writev accepts 1024 (IOV_MAX).
    BATCHES_PER_REQUEST = 500

# The fields that all requests of a producer share.
cdef struct ProduceSettings:
    const uint8_t* client_id
    int32_t client_id_size         # -1: none
    const uint8_t* transactional_id
    int32_t transactional_id_size  # -1: none
    int16_t acks
    int32_t timeout_ms

cdef struct ProduceRequest:
    ClientRequest request          # the engine's view; its context is this struct
    void* sender
    ProduceRequest* next
    ProducerBatch** batches
    int32_t batch_count
    int32_t batch_capacity
    size_t size_bytes              # of the batches, before compression
    Output glue
    iovec* parts
    int32_t parts_capacity
    int16_t version

# The response for one partition.
cdef struct PartitionAnswer:
    int32_t index
    int16_t error_code
    int64_t base_offset
    int64_t log_append_time_ms
    int64_t log_start_offset
    const uint8_t* error_text      # points into the frame
    int32_t error_text_size        # -1: none
    Cursor refused                 # [batch index, reason], refused_count of them
    int32_t refused_count
    int32_t leader_id              # -1: not in the response
    int32_t leader_epoch

cdef struct TopicAnswer:
    const uint8_t* name            # points into the frame; from version 13 on, the 16 bytes of the id
    int32_t name_size
    int32_t partition_count

cdef ProduceRequest* produce_request_new() noexcept nogil
cdef void produce_request_free(ProduceRequest* request) noexcept nogil
cdef bint produce_request_add(ProduceRequest* request, ProducerBatch* batch) noexcept nogil
# Writes the glue and lists the parts. Batches must be sealed and sorted by topic. False if memory cannot be allocated.
cdef bint produce_request_write(ProduceRequest* request, int16_t version, const ProduceSettings* settings) noexcept nogil
# To read, call `answer_begin` for the number of topics, then read topics and partitions. Check cursor.failed.
cdef int32_t answer_begin(Cursor* cursor, int16_t version) noexcept nogil
cdef void answer_next_topic(Cursor* cursor, int16_t version, TopicAnswer* topic) noexcept nogil
cdef void answer_next_partition(Cursor* cursor, int16_t version, PartitionAnswer* partition) noexcept nogil
cdef void answer_end_topic(Cursor* cursor, int16_t version) noexcept nogil
cdef int32_t answer_end(Cursor* cursor, int16_t version) noexcept nogil   # the throttle time, ms
cdef int32_t next_refused(Cursor* cursor, int16_t version, const uint8_t** text, int32_t* text_size) noexcept nogil
