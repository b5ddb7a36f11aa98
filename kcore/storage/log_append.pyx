"""Appending to a log: validation, sequence check, roll if due, one write, index updates (`UnifiedLog.append`).

The header of a leader's batch is not parsed again here: `validate_and_assign` returns it as it is written.

Crash policy: the batch is written to the file. Indexes, producer state and epochs are updated in memory only, so a
crash loses at most the records that were not flushed. A failed write takes the log offline, unless the disk is full:
then the append is refused and the log stays in service (shortage). The part of a failed write that reached the file is
beyond the log end offset. It is never read, and is cut off at once or by the next start.

Concurrency: the append lock is held from validation, which assigns the offsets, until the new log end offset is
published. A flush that the append has to wait for runs after the lock is released. A batch that takes long to
decompress is validated before the lock is taken (`validate_for_leader`); under the lock it only gets its offsets.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset
from kcore.errors cimport CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR, MESSAGE_TOO_LARGE, NONE, RECORD_LIST_TOO_LARGE
from kcore.metrics.histogram cimport count
from kcore.platform.sync cimport pthread_mutex_lock, pthread_mutex_unlock
from kcore.record.batch cimport (
    BatchHeader, ReceivedBatch, read_batch_header, set_base_offset, set_partition_leader_epoch,
)
from kcore.record.record_errors cimport RecordErrors
from kcore.record.validator cimport (
    ORIGIN_REPLICATION, ValidationResult, ValidationRules, free_validation_result, validate_and_assign,
    validate_replicated,
)
from kcore.storage.log cimport DESCRIPTOR_REMEDY, ROOM_REMEDY, AppendResult, Log
from kcore.storage.producer_state cimport SequenceVerdict
from kcore.storage.segment cimport LogSegment, segment_index_batch, segment_release, segment_write
from kcore.storage.shortage cimport is_full, lacks_descriptors
from kcore.storage.transaction_index cimport AbortedTransaction, transaction_index_append


cdef void count_append(Log log, size_t size, const ValidationResult* validated,
                       const AppendResult* result) noexcept nogil:
    """BrokerTopicMetrics by the rules of `ReplicaManager.appendToLocalLog`: an idempotent retry counts again."""
    count(&log.appended.produce_requests, 1)
    if result.error == NONE:
        count(&log.appended.messages_in, result.last_offset - result.base_offset + 1)
        count(&log.appended.bytes_in, <int64_t>size)
        if validated.rebuilt.data != NULL:
            count(&log.appended.converted_messages, result.record_count)
    elif result.error == MESSAGE_TOO_LARGE or result.error == RECORD_LIST_TOO_LARGE:
        count(&log.appended.bytes_rejected, <int64_t>size)
    elif result.error != CORRUPT_MESSAGE and result.error != KAFKA_STORAGE_ERROR:
        count(&log.appended.failed_produce_requests, 1)


cdef int account_for_batch(Log log, LogSegment* active, const BatchHeader* header, const uint8_t* batch,
                           int64_t position) noexcept nogil:
    """Updates epochs, indexes and producer state for a batch that was written at `position`.

    Returns 0, or a negated errno if the entry of an aborted transaction could not be written to the transaction index.
    """
    cdef AbortedTransaction aborted
    if header.magic == 2 and header.partition_leader_epoch > log.leader_epochs.latest_epoch():
        log.leader_epochs.assign(header.partition_leader_epoch, header.base_offset)
    segment_index_batch(active, header, position, log.limits.index_interval_bytes)
    if not log.producer_state.append(header, batch, active.base_offset, position, &aborted):
        return 0
    log.directory_changed = True
    return transaction_index_append(active, &aborted)


cdef int account_for_replicated(Log log, LogSegment* active, const uint8_t* records, size_t size) noexcept nogil:
    """Does the same for each batch of a follower's append."""
    cdef BatchHeader header
    cdef int64_t position = active.size_bytes
    cdef size_t at = 0
    cdef int outcome = 0, indexed
    while at < size:
        read_batch_header(records + at, size - at, &header)
        indexed = account_for_batch(log, active, &header, records + at, position)
        outcome = min(outcome, indexed)
        at += <size_t>header.size_bytes
        position += header.size_bytes
    return outcome


cdef LogSegment* segment_for(Log log, size_t size, const ValidationResult* validated, int64_t now_ms,
                             int* outcome) noexcept nogil:
    """Opens the segment to append to, after a roll if one is due. The caller releases it unless it is NULL."""
    cdef LogSegment* active = log.hold_active(outcome)
    if outcome[0] >= 0 and log.must_roll(<int64_t>size, validated.max_timestamp, validated.last_offset, now_ms):
        segment_release(active)
        outcome[0] = log.roll_to(max(validated.first_offset, log.next_offset), now_ms)
        if outcome[0] < 0:
            return NULL
        active = log.hold_active(outcome)
    return active


cdef int write_batches(Log log, uint8_t* records, size_t size, int origin, const ValidationResult* validated,
                       int64_t now_ms) noexcept nogil:
    cdef int outcome = 0
    cdef LogSegment* active = segment_for(log, size, validated, now_ms, &outcome)
    if outcome >= 0:
        outcome = segment_write(active, records, size)
    if outcome < 0:
        if active != NULL:
            segment_release(active)
        return outcome
    if origin == ORIGIN_REPLICATION:
        outcome = account_for_replicated(log, active, records, size)
    else:
        outcome = account_for_batch(log, active, &validated.header, records, active.size_bytes)
    if outcome < 0:
        # Without the index entry readers would see the aborted transaction. The records are not published, and the log
        # goes offline.
        segment_release(active)
        return log.offline_unless_done(outcome, b"appending to the log")
    pthread_mutex_lock(&log.segments_lock)
    log.publish_append(<int64_t>size, validated.last_offset)
    log.refresh_first_unstable()
    pthread_mutex_unlock(&log.segments_lock)
    segment_release(active)
    return 0


cdef bint passes_sequence_check(Log log, const uint8_t* batch, int origin, const ValidationResult* validated,
                                AppendResult* result) noexcept nogil:
    """Whether to write the batch. If not, `result` has the error, or the offsets of the batch that it repeats."""
    cdef SequenceVerdict verdict
    cdef const BatchHeader* header = &validated.header
    cdef int outcome
    result.error = log.producer_state.check(header, batch, origin, &verdict)
    if verdict.abridged:
        outcome = log.recall_producer(header.producer_id, header.producer_epoch)
        if outcome < 0:
            result.error = log.fail(outcome, b"reading what a producer wrote before")
            return False
        result.error = log.producer_state.check(header, batch, origin, &verdict)
    result.message = verdict.message
    if result.error == NONE and verdict.duplicate:
        result.duplicate = True
        result.base_offset = verdict.original.last_offset - verdict.original.offset_delta
        result.last_offset = verdict.original.last_offset
        if validated.log_append_time_ms >= 0:
            result.log_append_time_ms = verdict.original.timestamp
    return result.error == NONE and not verdict.duplicate


cdef int16_t append_validated(Log log, uint8_t* records, size_t size, int origin, int64_t now_ms,
                              const ValidationResult* validated, AppendResult* result) noexcept nogil:
    cdef int outcome
    if size > <size_t>log.limits.segment_bytes:
        result.error = RECORD_LIST_TOO_LARGE
        result.message = "The record batches are larger than segment.bytes."
        return result.error
    if origin != ORIGIN_REPLICATION and not passes_sequence_check(log, records, origin, validated, result):
        return result.error
    outcome = write_batches(log, records, size, origin, validated, now_ms)
    if outcome < 0:
        result.error = log.fail(outcome, b"appending to the log")
        if lacks_descriptors(outcome):
            result.message = DESCRIPTOR_REMEDY
        elif is_full(outcome):
            result.message = ROOM_REMEDY
        return result.error
    result.base_offset = validated.first_offset
    result.last_offset = validated.last_offset
    result.log_append_time_ms = validated.log_append_time_ms
    result.record_count = validated.record_count
    return NONE


cdef void validate_for_leader(Log log, const ReceivedBatch* batch, int origin,
                              ValidationResult* validated) noexcept nogil:
    cdef ValidationRules rules
    pthread_mutex_lock(&log.append_lock)
    rules = log.limits.validation
    pthread_mutex_unlock(&log.append_lock)
    validate_and_assign(batch, &rules, origin, 0, -1, log.disk.now_ms(log.disk.context), validated)


cdef void place_validated(ValidationResult* validated, uint8_t* records, int64_t base_offset,
                          int32_t leader_epoch) noexcept nogil:
    """Moves a batch that was validated at offset 0 to its offset. The checksum covers neither of the two fields."""
    cdef uint8_t* batch = validated.rebuilt.data if validated.rebuilt.data != NULL else records
    set_base_offset(batch, &validated.header, base_offset)
    set_partition_leader_epoch(batch, &validated.header, leader_epoch)
    validated.first_offset += base_offset
    validated.last_offset += base_offset
    validated.offset_of_max_timestamp += base_offset


cdef void clear_append_result(AppendResult* result) noexcept nogil:
    memset(result, 0, sizeof(AppendResult))
    result.base_offset = result.last_offset = result.log_append_time_ms = -1


cdef int16_t append_as_leader(Log log, const ReceivedBatch* batch, int32_t leader_epoch, int origin,
                              ValidationResult* validated, AppendResult* result) noexcept nogil:
    cdef ValidationResult own
    cdef int64_t now_ms
    memset(&own, 0, sizeof(own))
    clear_append_result(result)
    pthread_mutex_lock(&log.append_lock)
    if log.closed or log.is_offline():
        result.error = KAFKA_STORAGE_ERROR
    else:
        now_ms = log.disk.now_ms(log.disk.context)
        if validated == NULL:
            validated = &own
            validate_and_assign(batch, &log.limits.validation, origin, log.next_offset, leader_epoch, now_ms, &own)
        elif validated.error == NONE:
            place_validated(validated, batch.data, log.next_offset, leader_epoch)
        result.error = validated.error
        result.message = validated.message
        result.record_errors = validated.record_errors
        memset(&validated.record_errors, 0, sizeof(RecordErrors))
        if result.error == NONE and validated.rebuilt.data != NULL:
            append_validated(log, validated.rebuilt.data, validated.rebuilt.size, origin, now_ms, validated, result)
        elif result.error == NONE:
            append_validated(log, batch.data, batch.size_bytes, origin, now_ms, validated, result)
    result.log_start_offset = log.first_offset
    result.log_end_offset = log.next_offset
    count_append(log, batch.size_bytes, validated if validated != NULL else &own, result)
    pthread_mutex_unlock(&log.append_lock)
    free_validation_result(&own)
    if result.error == NONE:
        # Also for a duplicate: the batch that it repeats may not be flushed yet.
        result.error = log.flush_if_due()
    return result.error


cdef int16_t append_as_follower(Log log, uint8_t* records, size_t size, AppendResult* result) noexcept nogil:
    cdef ValidationResult validated
    memset(&validated, 0, sizeof(validated))
    clear_append_result(result)
    pthread_mutex_lock(&log.append_lock)
    if log.closed or log.is_offline():
        result.error = KAFKA_STORAGE_ERROR
    else:
        result.error = validate_replicated(records, size, log.next_offset, &validated)
        result.message = validated.message
        if result.error == NONE and validated.valid_bytes > 0:
            append_validated(log, records, <size_t>validated.valid_bytes, ORIGIN_REPLICATION,
                             log.disk.now_ms(log.disk.context), &validated, result)
    result.log_start_offset = log.first_offset
    result.log_end_offset = log.next_offset
    pthread_mutex_unlock(&log.append_lock)
    free_validation_result(&validated)
    if result.error == NONE:
        result.error = log.flush_if_due()
    return result.error
