"""An upper bound of a compressed payload's size, without decompressing it."""

from libc.stdint cimport int64_t, uint8_t

# At least the number of bytes that `decompress` writes before it ends or fails. Counting stops above `enough`.
cdef int64_t decompressed_bound(int codec, const uint8_t* data, size_t size, int64_t enough) noexcept nogil
# Whether a gzip payload may have a second member. Three matching bytes also give True.
cdef bint may_have_members(const uint8_t* data, size_t size) noexcept nogil
