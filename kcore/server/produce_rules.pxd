"""Rules for the batches of a produce request, by request version."""

from libc.stdint cimport int16_t, int64_t
from kcore.record.batch cimport ReceivedBatch

# Returns NONE if the batch may be appended, or else an error code with a static text in *message.
cdef int16_t check_produced_batch(const ReceivedBatch* batch, int16_t version, const char** message) noexcept nogil
# Whether the batch is complete, of magic 2 and transactional.
cdef bint is_transactional(const ReceivedBatch* batch) noexcept nogil
# Whether the batch may exceed `inline_bytes` when decompressed.
cdef bint is_large(const ReceivedBatch* batch, int64_t inline_bytes) noexcept nogil
