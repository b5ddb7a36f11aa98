"""Sequence numbers of one partition's batches (KIP-98, KIP-360; TxnPartitionEntry and the rules on it in
TransactionManager of Apache Kafka).

A batch is numbered when it is first drained and keeps its number over its retries, so that a broker that has it already
says so instead of writing it twice. Up to five are in flight. Batches stand in `first_numbered`, in order, from when
they are numbered until they are done; a retry goes out only as the foremost of them. What a timed-out batch became is
not known ("unresolved"): nothing new is drained until the others are answered, and unless those prove that it was
written, the partition begins anew at 0 under the next epoch.
Concurrency: the sender's, under the accumulator's mutex.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.client.producer.producer_batch cimport ProducerBatch

cdef enum:
    NOTHING_ACKED = -1
    SEQUENCE_MODULUS = 0x7FFFFFFF      # sequences are 0 to 2^31 - 1

cdef struct PartitionSequences:
    int64_t producer_id
    int16_t producer_epoch
    int32_t next_sequence
    int32_t last_acked_sequence
    int64_t last_acked_offset
    ProducerBatch* first_numbered
    bint is_unresolved
    int32_t sequence_after_unresolved
    bint must_restart                  # under the next epoch, with what is numbered

cdef enum RetryDecision:
    DO_NOT_RETRY = 0
    RETRY = 1
    RETRY_AFTER_RESTART = 2            # once the epoch was raised and the partition's numbers begin at 0

cdef void sequences_reset(PartitionSequences* sequences, int64_t producer_id, int16_t producer_epoch) noexcept nogil
# Numbers what is drained for the first time.
cdef void sequences_number(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
cdef void sequences_remove(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
cdef void sequences_acked(PartitionSequences* sequences, ProducerBatch* batch, int64_t base_offset) noexcept nogil
# A broker takes any number of a producer that it does not know. Were the first batch refused and the second one taken,
# as happens while a new topic gets its leader, the first could never be written: it is alone until it is acknowledged.
cdef bint sequences_await_first(const PartitionSequences* sequences) noexcept nogil
# What is numbered gets new numbers from 0 on under a new producer id and epoch.
cdef void sequences_restart(PartitionSequences* sequences, int64_t producer_id, int16_t producer_epoch) noexcept nogil
# A batch, numbered still, was refused for good and not written: those behind it move up.
cdef void sequences_close_gap(PartitionSequences* sequences, ProducerBatch* failed) noexcept nogil
# A numbered batch was split: its parts take over its place and numbers.
cdef void sequences_split(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
# Whether what is not known of timed-out batches has been answered by others: what was numbered was written.
cdef bint sequences_are_complete(const PartitionSequences* sequences) noexcept nogil
cdef void sequences_mark_unresolved(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
cdef RetryDecision sequences_may_retry(PartitionSequences* sequences, ProducerBatch* batch, int16_t error_code,
                                       int64_t log_start_offset, bint is_transactional) noexcept nogil
cdef int32_t last_sequence(const ProducerBatch* batch) noexcept nogil
cdef int32_t sequence_plus(int32_t sequence, int32_t increment) noexcept nogil
