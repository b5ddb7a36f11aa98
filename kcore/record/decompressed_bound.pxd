"""How large a compressed payload can become, without decompressing it."""

from libc.stdint cimport int64_t, uint8_t

# At least as many bytes as `decompress` writes before it ends or refuses the payload; counting stops above `enough`.
cdef int64_t decompressed_bound(int codec, const uint8_t* data, size_t size, int64_t enough) noexcept nogil
# Whether a payload of gzip may have a second member; True is also a coincidence of three bytes.
cdef bint may_have_members(const uint8_t* data, size_t size) noexcept nogil
