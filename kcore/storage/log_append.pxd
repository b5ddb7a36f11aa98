"""What appends to a log."""

from libc.stdint cimport int16_t, int32_t, uint8_t
from kcore.storage.log cimport AppendResult, Log

# Validates, assigns offsets, checks sequences, rolls when due, writes with one pwritev. `records` is patched.
cdef int16_t append_as_leader(Log log, uint8_t* records, size_t size, int32_t leader_epoch, int origin,
                              AppendResult* result) noexcept nogil
# Batches as the leader wrote them; an incomplete batch at their end is left out.
cdef int16_t append_as_follower(Log log, uint8_t* records, size_t size, AppendResult* result) noexcept nogil
