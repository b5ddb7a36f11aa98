"""The checksum of a batch's records, kept up while they are appended, and joined to its header's at the end.

A batch of `send_batch` is as large as a request and may wait behind as much as `buffer.memory` holds: summed only when it
is sealed it would come out of memory once more. Summed piece by piece behind the copy it comes out of the caches.
The header stands before the records, but is written last, and again for another attempt with other numbers. CRC-32C is
linear, so the two are summed apart: what the header's sum becomes behind n more bytes is it times x^(8n), modulo the
polynomial.

Concurrency: whoever owns the bytes; pure functions but for the tables, which are written at import.
"""

from libc.stdint cimport uint8_t, uint32_t

cdef struct RecordsChecksum:
    size_t size                # bytes, from the first record's on, that `crc` is of
    uint32_t crc

# Continues over records[0:size], once at least `step` of them are new.
cdef void sum_records(RecordsChecksum* checksum, const uint8_t* records, size_t size, size_t step) noexcept nogil
# The checksum of two pieces, one behind the other, out of theirs: joined(crc(a), crc(b), len(b)) == crc(a + b).
cdef uint32_t joined_checksum(uint32_t first, uint32_t second, size_t second_size) noexcept nogil
