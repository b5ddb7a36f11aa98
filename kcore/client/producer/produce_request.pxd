"""Produce, key 0, versions 3 to 13: written and read natively.

    3-8   transactional id, acks, timeout ms, [name, [index, records]]
    9-12  the same with compact strings, arrays and tagged fields
    13    topics by id instead of name (KIP-516)
    the answer: [name or id, [index, error code, base offset, log append time (2+), log start offset (5+),
    [batch index, reason] and a text (8+), current leader (10+, tag 0)]], throttle time, node endpoints (10+, tag 0)

A request carries at most one batch of a partition. Its glue (everything but the batches) stands in one buffer, the
batches stay where they are: the frame is a list of parts.
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
    # Two parts a batch, and writev takes 1024 (IOV_MAX).
    BATCHES_PER_REQUEST = 500

# What all requests of a producer have in common.
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

# What one partition was answered.
cdef struct PartitionAnswer:
    int32_t index
    int16_t error_code
    int64_t base_offset
    int64_t log_append_time_ms
    int64_t log_start_offset
    const uint8_t* error_text      # in the frame
    int32_t error_text_size        # -1: none
    Cursor refused                 # [batch index, reason], refused_count of them
    int32_t refused_count
    int32_t leader_id              # -1: not told
    int32_t leader_epoch

cdef struct TopicAnswer:
    const uint8_t* name            # in the frame; the 16 bytes of its id from version 13 on
    int32_t name_size
    int32_t partition_count

cdef ProduceRequest* produce_request_new() noexcept nogil
cdef void produce_request_free(ProduceRequest* request) noexcept nogil
cdef bint produce_request_add(ProduceRequest* request, ProducerBatch* batch) noexcept nogil
# Writes the glue and lists the parts; the batches are sealed and stand topic by topic. False without memory.
cdef bint produce_request_write(ProduceRequest* request, int16_t version, const ProduceSettings* settings) noexcept nogil
# Reading: `answer_begin` gives the number of topics, then topic by topic and partition by partition. Check cursor.failed.
cdef int32_t answer_begin(Cursor* cursor, int16_t version) noexcept nogil
cdef void answer_next_topic(Cursor* cursor, int16_t version, TopicAnswer* topic) noexcept nogil
cdef void answer_next_partition(Cursor* cursor, int16_t version, PartitionAnswer* partition) noexcept nogil
cdef void answer_end_topic(Cursor* cursor, int16_t version) noexcept nogil
cdef int32_t answer_end(Cursor* cursor, int16_t version) noexcept nogil   # the throttle time, ms
cdef int32_t next_refused(Cursor* cursor, int16_t version, const uint8_t** text, int32_t* text_size) noexcept nogil
