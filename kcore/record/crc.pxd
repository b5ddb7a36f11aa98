"""CRC-32C (Castagnoli), in hardware where the CPU has it, chosen once at import."""

from libc.stdint cimport uint8_t, uint32_t

cdef uint32_t crc32c(const uint8_t* data, size_t size) noexcept nogil
# Continues a checksum: crc32c_update(crc32c(a), b) == crc32c(a + b).
cdef uint32_t crc32c_update(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil
