"""What the version of a produce request demands of its records."""

from libc.stdint cimport int16_t, int64_t, uint8_t

# A wire error, with a static sentence in *message; NONE when the log may have them. `records` may be NULL.
cdef int16_t check_produce_records(const uint8_t* records, int64_t size, int16_t version,
                                   const char** message) noexcept nogil
# Whether the first batch is whole, of magic 2 and transactional.
cdef bint is_transactional(const uint8_t* records, size_t size) noexcept nogil
# Whether the batch may become larger than `inline_bytes` once it is decompressed.
cdef bint is_large(const uint8_t* records, size_t size, int64_t inline_bytes) noexcept nogil
