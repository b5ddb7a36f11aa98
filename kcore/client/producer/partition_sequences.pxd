"""Sequence numbers of one partition's batches (KIP-98, KIP-360; Kafka's TxnPartitionEntry and TransactionManager).

A batch gets its sequence number when it is first drained, and keeps it for its retries. So a broker recognises a
duplicate instead of writing it again. Up to five batches are in flight. Batches are in `first_numbered`, in order, from
when they are numbered until they are done. Only the first of them is retried. Whether a timed-out batch was written is
not known ("unresolved"). Then no new batch is drained until the others are answered. Unless their responses prove that
it was written, the partition restarts at sequence 0 with the next epoch.
Concurrency: used by the sender, under the accumulator's mutex.
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
    bint must_restart                  # restart the numbered batches with the next epoch

cdef enum RetryDecision:
    DO_NOT_RETRY = 0
    RETRY = 1
    RETRY_AFTER_RESTART = 2            # after the epoch is raised and the partition restarts at 0

cdef void sequences_reset(PartitionSequences* sequences, int64_t producer_id, int16_t producer_epoch) noexcept nogil
# Numbers a batch that is drained for the first time.
cdef void sequences_number(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
cdef void sequences_remove(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
cdef void sequences_acked(PartitionSequences* sequences, ProducerBatch* batch, int64_t base_offset) noexcept nogil
# A broker accepts any sequence number from a producer that it does not know. If it rejected the first batch and
# accepted the second, as may happen while a new topic gets its leader, the first one could never be written. So the
# first batch is alone in flight until it is acknowledged.
cdef bint sequences_await_first(const PartitionSequences* sequences) noexcept nogil
# Renumbers the numbered batches from 0 on, with a new producer id and epoch.
cdef void sequences_restart(PartitionSequences* sequences, int64_t producer_id, int16_t producer_epoch) noexcept nogil
# A numbered batch has failed and was not written: the batches after it take over its numbers.
cdef void sequences_close_gap(PartitionSequences* sequences, ProducerBatch* failed) noexcept nogil
# A numbered batch was split: its parts replace it and use its numbers.
cdef void sequences_split(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
# Returns whether the responses to other batches prove that all numbered batches were written.
cdef bint sequences_are_complete(const PartitionSequences* sequences) noexcept nogil
cdef void sequences_mark_unresolved(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil
cdef RetryDecision sequences_may_retry(PartitionSequences* sequences, ProducerBatch* batch, int16_t error_code,
                                       int64_t log_start_offset, bint is_transactional) noexcept nogil
cdef int32_t last_sequence(const ProducerBatch* batch) noexcept nogil
cdef int32_t sequence_plus(int32_t sequence, int32_t increment) noexcept nogil
