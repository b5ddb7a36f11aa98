"""The checksum of a batch's records, updated while they are appended, and combined with the header's at the end.

A batch of `send_batch` may be as large as a request, and may wait behind as much as `buffer.memory`. If its checksum
was computed only when it is sealed, its records would have to be read from memory again. Computed right after they are
copied, they come from the CPU's caches. The header precedes the records, but is written last, and again for retries
with other sequence numbers. CRC-32C is linear, so both checksums are computed separately: the header's, followed by n
more bytes, is multiplied by x^(8n) modulo the polynomial.

Concurrency: pure functions over bytes of the caller. The tables are written at import only.
"""

from libc.stdint cimport uint8_t, uint32_t

cdef struct RecordsChecksum:
    size_t size                # number of leading bytes that `crc` covers
    uint32_t crc

# Continues over records[0:size] if at least `step` bytes of them are new.
cdef void sum_records(RecordsChecksum* checksum, const uint8_t* records, size_t size, size_t step) noexcept nogil
# Combines the checksums of two adjacent pieces: joined_checksum(crc(a), crc(b), len(b)) == crc(a + b).
cdef uint32_t joined_checksum(uint32_t first, uint32_t second, size_t second_size) noexcept nogil
