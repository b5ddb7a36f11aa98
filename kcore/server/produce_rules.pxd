"""What a produce request may carry, by its version."""

from libc.stdint cimport int16_t, int64_t
from kcore.record.batch cimport ReceivedBatch

# A wire error, with a static sentence in *message; NONE when the batch may be appended.
cdef int16_t check_produced_batch(const ReceivedBatch* batch, int16_t version, const char** message) noexcept nogil
# Whether the batch is complete, of magic 2 and transactional.
cdef bint is_transactional(const ReceivedBatch* batch) noexcept nogil
# Whether the batch may become larger than `inline_bytes` when it is decompressed.
cdef bint is_large(const ReceivedBatch* batch, int64_t inline_bytes) noexcept nogil
