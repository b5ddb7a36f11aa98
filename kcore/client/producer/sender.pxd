"""Sender: sends batches to the leaders of their partitions and applies the responses (Kafka's Sender).

It is a driver of the network engine: `turn` is called between two polls, on the polling thread, without the GIL. A turn
fails batches past delivery.timeout.ms, drains ready batches into one request per node and pass, and submits the
requests. The engine calls `finish` for each, with a response or the reason why there is none. Work that needs Python
(metadata, producer ids, transactions, callbacks) is left to the background thread in `events`.

There are three kinds of errors. After a retriable error the batch is put back in the order of batch numbers. After an
error of the batch, only the batch fails. Fatal and abortable errors are reported to the TransactionManager with
`EVENT_ERROR`.
Concurrency: the accumulator's mutex guards all fields, except those of requests that are being written.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from kcore.client.network.client_request cimport ClientRequest, ReceivedFrame, ReplyStatus
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.network.wakeup cimport Wakeup
from kcore.client.producer.partition_queue cimport PartitionQueue
from kcore.client.producer.produce_request cimport PartitionAnswer, ProduceRequest, ProduceSettings
from kcore.client.producer.producer_batch cimport ProducerBatch
from kcore.client.producer.record_accumulator cimport RecordAccumulator

cdef enum SenderEvent:
    EVENT_DONE = 1             # batches with callbacks are done
    EVENT_METADATA = 2         # a leader is not known, was not the leader, or cannot be reached
    EVENT_PRODUCER_ID = 4      # there is no producer id yet, or its epochs are used up
    EVENT_ERROR = 8            # `error_code` is fatal, or ends the transaction
    EVENT_PARTITIONS = 32      # batches wait until their partitions are added to the transaction
    EVENT_LEADERS = 64         # responses contained newer leaders (`named_leader` of their partitions)

cdef struct SenderNode:
    int32_t in_flight          # requests
    int64_t ready_ns           # when it last had batches to send, and when it last accepted one
    int64_t drained_ns
    int32_t throttle_ms        # throttle time of the last response, applied from the next turn on (KIP-219)
    int64_t throttled_until_ns
    int64_t doubted_ns         # it could not be connected to: when to request metadata again
    int8_t may_take            # in this turn: 0 not checked yet, 1 yes, -1 no
    ProduceRequest* building   # the request of this pass


cdef class Sender:
    cdef NetworkClient network
    cdef RecordAccumulator accumulator
    cdef ProduceSettings settings
    cdef bytes client_id, transactional_id
    cdef int codec
    cdef int32_t level
    cdef int32_t max_in_flight
    cdef int32_t retries
    cdef size_t max_request_bytes
    cdef int64_t request_timeout_ns
    cdef int64_t availability_timeout_ns
    cdef bint is_idempotent
    cdef bint is_transactional
    cdef bint is_in_order                      # one request in flight: its partitions are muted meanwhile
    cdef bint uses_transactions_v2             # KIP-890: Produce 12 adds partitions to the transaction
    cdef int64_t producer_id
    cdef int16_t producer_epoch
    cdef bint epoch_must_rise
    cdef int16_t fatal_error                   # NONE if there is none
    cdef int16_t error_code                    # the last error for the TransactionManager
    cdef PartitionQueue* first_troubled
    cdef SenderNode* nodes
    cdef int32_t node_count
    cdef ProduceRequest* built
    cdef ProduceRequest* last_built
    cdef ProduceRequest* spare
    cdef int32_t request_count                 # in flight
    cdef uint32_t events
    cdef Wakeup background
    cdef bint[256] is_retriable

    cdef int64_t turn(self, int64_t now_ns) noexcept nogil
    # Call the following with the mutex held.
    cdef void tell_background(self, uint32_t events) noexcept nogil
    cdef void set_producer_id(self, int64_t producer_id, int16_t producer_epoch) noexcept nogil
    cdef void fail_all(self, int16_t error_code) noexcept nogil
    cdef void fail_undrained(self, int16_t error_code) noexcept nogil

    cdef bint reserve_node(self, int32_t node) noexcept nogil
    cdef void expire(self, int64_t now_ns) noexcept nogil
    cdef void mend_troubled(self) noexcept nogil
    cdef void note_trouble(self, PartitionQueue* queue) noexcept nogil
    cdef void raise_epoch(self) noexcept nogil
    cdef bint may_drain(self) noexcept nogil
    cdef int64_t drain(self, int64_t now_ns) noexcept nogil
    cdef bint drain_pass(self, int64_t now_ns, int64_t* next_ns) noexcept nogil
    cdef bint drain_queue(self, PartitionQueue* queue, int64_t now_ns, int64_t* next_ns) noexcept nogil
    cdef bint node_may_take(self, int32_t node, int64_t now_ns, int64_t* next_ns) noexcept nogil
    cdef bint sequence_allows(self, PartitionQueue* queue, ProducerBatch* batch) noexcept nogil
    cdef ProduceRequest* request_for(self, int32_t node, size_t size) noexcept nogil
    cdef void send(self, ProduceRequest* request, int64_t now_ns) noexcept nogil
    cdef void finished(self, ProduceRequest* request, ReplyStatus status, ReceivedFrame* frame,
                       size_t body) noexcept nogil
    cdef void take_answers(self, ProduceRequest* request, ReceivedFrame* frame, size_t body) noexcept nogil
    cdef void take_answer(self, ProducerBatch* batch, const PartitionAnswer* answer,
                          const ProduceRequest* request) noexcept nogil
    cdef void take_error(self, ProducerBatch* batch, const PartitionAnswer* answer,
                         const ProduceRequest* request) noexcept nogil
    cdef void note_leader(self, PartitionQueue* queue, const PartitionAnswer* answer) noexcept nogil
    cdef bint may_retry(self, ProducerBatch* batch, const PartitionAnswer* answer) noexcept nogil
    cdef void give_up(self, ProducerBatch* batch, int16_t error_code, bint was_refused) noexcept nogil
