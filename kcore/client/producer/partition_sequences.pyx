"""Implementation of the sequence rules; see partition_sequences.pxd for their purpose."""

from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.client.producer.producer_batch cimport NO_OFFSET, ProducerBatch
from kcore.errors cimport OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID


cdef int32_t sequence_plus(int32_t sequence, int32_t increment) noexcept nogil:
    """Add to a sequence number; 2^31 - 1 is followed by 0 (DefaultRecordBatch.incrementSequence)."""
    if sequence > <int32_t>SEQUENCE_MODULUS - increment:
        return increment - (<int32_t>SEQUENCE_MODULUS - sequence) - 1
    return sequence + increment


cdef int32_t last_sequence(const ProducerBatch* batch) noexcept nogil:
    return sequence_plus(batch.base_sequence, batch.record_count - 1)


cdef inline bint is_next(const PartitionSequences* sequences, int32_t sequence) noexcept nogil:
    if sequences.last_acked_sequence == NOTHING_ACKED:
        return sequence == 0
    return sequence == sequence_plus(sequences.last_acked_sequence, 1)


cdef void sequences_reset(PartitionSequences* sequences, int64_t producer_id, int16_t producer_epoch) noexcept nogil:
    sequences.producer_id = producer_id
    sequences.producer_epoch = producer_epoch
    sequences.next_sequence = 0
    sequences.last_acked_sequence = NOTHING_ACKED
    sequences.is_unresolved = False
    sequences.must_restart = False


cdef inline bint is_overtaken(const PartitionSequences* sequences, const ProducerBatch* batch) noexcept nogil:
    """Return whether a later batch was acknowledged already. Numbers are compared modulo 2^31."""
    if sequences.last_acked_sequence == NOTHING_ACKED or batch.is_renumbered:
        return False
    return <int32_t>(
        (<unsigned int>sequences.last_acked_sequence - <unsigned int>last_sequence(batch)) & 0x7FFFFFFF
    ) < 0x40000000


cdef bint sequences_await_first(const PartitionSequences* sequences) noexcept nogil:
    return sequences.last_acked_sequence == NOTHING_ACKED and sequences.first_numbered != NULL


cdef void sequences_number(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil:
    cdef ProducerBatch** place = &sequences.first_numbered
    batch.producer_id = sequences.producer_id
    batch.producer_epoch = sequences.producer_epoch
    batch.base_sequence = sequences.next_sequence
    sequences.next_sequence = sequence_plus(sequences.next_sequence, batch.record_count)
    # The list has at most as many batches as are in flight.
    while place[0] != NULL:
        place = &place[0].next_numbered
    place[0] = batch
    batch.next_numbered = NULL


cdef void sequences_remove(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil:
    cdef ProducerBatch** place = &sequences.first_numbered
    while place[0] != NULL:
        if place[0] == batch:
            place[0] = batch.next_numbered
            batch.next_numbered = NULL
            return
        place = &place[0].next_numbered


cdef void sequences_acked(PartitionSequences* sequences, ProducerBatch* batch, int64_t base_offset) noexcept nogil:
    cdef int32_t last = last_sequence(batch)
    # After a change of leaders, responses arrive in any order. Numbers are compared modulo 2^31.
    if (sequences.last_acked_sequence == NOTHING_ACKED
            or <int32_t>((<unsigned int>last - <unsigned int>sequences.last_acked_sequence) & 0x7FFFFFFF) < 0x40000000):
        sequences.last_acked_sequence = last
    if base_offset != NO_OFFSET and base_offset + batch.record_count - 1 > sequences.last_acked_offset:
        sequences.last_acked_offset = base_offset + batch.record_count - 1
    sequences_remove(sequences, batch)


cdef void sequences_restart(PartitionSequences* sequences, int64_t producer_id, int16_t producer_epoch) noexcept nogil:
    cdef ProducerBatch* batch = sequences.first_numbered
    sequences_reset(sequences, producer_id, producer_epoch)
    while batch != NULL:
        batch.producer_id = producer_id
        batch.producer_epoch = producer_epoch
        batch.base_sequence = sequences.next_sequence
        batch.is_renumbered = True
        sequences.next_sequence = sequence_plus(sequences.next_sequence, batch.record_count)
        batch = batch.next_numbered


cdef void sequences_close_gap(PartitionSequences* sequences, ProducerBatch* failed) noexcept nogil:
    cdef ProducerBatch* batch = failed.next_numbered
    cdef int32_t sequence = failed.base_sequence
    if failed.producer_id != sequences.producer_id or failed.producer_epoch != sequences.producer_epoch:
        return
    while batch != NULL:
        batch.base_sequence = sequence
        batch.is_renumbered = True
        sequence = sequence_plus(sequence, batch.record_count)
        batch = batch.next_numbered
    sequences.next_sequence = sequence


cdef void sequences_split(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil:
    cdef ProducerBatch** place = &sequences.first_numbered
    cdef ProducerBatch* child
    cdef int32_t sequence = batch.base_sequence
    cdef int32_t i
    while place[0] != NULL and place[0] != batch:
        place = &place[0].next_numbered
    if place[0] == NULL:
        return
    for i in range(batch.children_count):
        child = batch.children[i]
        child.producer_id = batch.producer_id
        child.producer_epoch = batch.producer_epoch
        child.base_sequence = sequence
        child.is_renumbered = batch.is_renumbered
        sequence = sequence_plus(sequence, child.record_count)
        child.next_numbered = batch.next_numbered
        place[0] = child
        place = &child.next_numbered
    batch.next_numbered = NULL


cdef bint sequences_are_complete(const PartitionSequences* sequences) noexcept nogil:
    return is_next(sequences, sequences.next_sequence)


cdef void sequences_mark_unresolved(PartitionSequences* sequences, ProducerBatch* batch) noexcept nogil:
    cdef int32_t after = sequence_plus(last_sequence(batch), 1)
    if not sequences.is_unresolved or after > sequences.sequence_after_unresolved:
        sequences.sequence_after_unresolved = after
    sequences.is_unresolved = True


cdef RetryDecision sequences_may_retry(PartitionSequences* sequences, ProducerBatch* batch, int16_t error_code,
                                       int64_t log_start_offset, bint is_transactional) noexcept nogil:
    if error_code == UNKNOWN_PRODUCER_ID:
        # Without a log start offset, the broker was losing the partition. After a restart, late responses are expected.
        if log_start_offset == NO_OFFSET or batch.is_renumbered:
            return RETRY
        # The broker has lost the producer's state, for example through retention: restart at 0 with a new epoch.
        if not is_transactional or sequences.last_acked_offset < log_start_offset:
            return RETRY_AFTER_RESTART
        return DO_NOT_RETRY
    if error_code == OUT_OF_ORDER_SEQUENCE_NUMBER:
        if not sequences.is_unresolved and is_overtaken(sequences, batch):
            # The broker had no state of the producer when it accepted the later batch: this one must be restarted.
            return DO_NOT_RETRY if is_transactional else RETRY_AFTER_RESTART
        # Not the next sequence number: an earlier batch failed, and this one arrived too early.
        if not sequences.is_unresolved and (batch.is_renumbered or not is_next(sequences, batch.base_sequence)):
            return RETRY
        if is_transactional:
            return DO_NOT_RETRY
        if not sequences.is_unresolved or batch.base_sequence == sequences.sequence_after_unresolved:
            return RETRY_AFTER_RESTART
        return RETRY
    return DO_NOT_RETRY
