"""Appending to a log."""

from libc.stdint cimport int16_t, int32_t, uint8_t
from kcore.record.batch cimport ReceivedBatch
from kcore.record.validator cimport ValidationResult
from kcore.storage.log cimport AppendResult, Log

# Validates, assigns offsets, checks sequences, rolls if due, and writes with one pwritev. Patches the bytes of `batch`.
# `validated` is the result of `validate_for_leader`, or NULL to validate under the append lock.
cdef int16_t append_as_leader(Log log, const ReceivedBatch* batch, int32_t leader_epoch, int origin,
                              ValidationResult* validated, AppendResult* result) noexcept nogil
# Validates without holding a lock. Release `validated` with free_validation_result.
cdef void validate_for_leader(Log log, const ReceivedBatch* batch, int origin,
                              ValidationResult* validated) noexcept nogil
# Appends batches as the leader wrote them. An incomplete batch at the end is ignored.
cdef int16_t append_as_follower(Log log, uint8_t* records, size_t size, AppendResult* result) noexcept nogil
