"""What appends to a log."""

from libc.stdint cimport int16_t, int32_t, uint8_t
from kcore.record.validator cimport ValidationResult
from kcore.storage.log cimport AppendResult, Log

# Validates, assigns offsets, checks sequences, rolls when due, writes with one pwritev. `records` is patched.
cdef int16_t append_as_leader(Log log, uint8_t* records, size_t size, int32_t leader_epoch, int origin,
                              ValidationResult* validated, AppendResult* result) noexcept nogil
# Validates without a lock what `append_as_leader` then takes as `validated`, which is NULL elsewhere: it does both under
# the append lock. Release `validated` with free_validation_result.
cdef void validate_for_leader(Log log, uint8_t* records, size_t size, int origin,
                              ValidationResult* validated) noexcept nogil
# Batches as the leader wrote them; an incomplete batch at their end is left out.
cdef int16_t append_as_follower(Log log, uint8_t* records, size_t size, AppendResult* result) noexcept nogil
