"""Checksums and multiplication of remainders; see records_checksum.pxd.

The bits of remainders are reversed, as usual with this polynomial: bit 31 is the coefficient of x^0.
"""

from libc.stdint cimport uint8_t, uint32_t
from kcore.record.crc cimport crc32c_update

cdef enum:
    POLYNOMIAL = 0x82F63B78
    ONE = 0x80000000           # x^0
    POWERS = 64

# Entry i is x^(8 * 2^i), the factor for a checksum that is followed by 2^i more bytes.
cdef uint32_t[POWERS] powers


cdef uint32_t product(uint32_t one, uint32_t other) noexcept nogil:
    """Multiply two remainders."""
    cdef uint32_t sum = 0
    cdef uint32_t bit = ONE
    while bit != 0:
        if one & bit:
            sum ^= other
        other = (other >> 1) ^ (<uint32_t>POLYNOMIAL if other & 1 else <uint32_t>0)
        bit >>= 1
    return sum


cdef void fill_powers() noexcept nogil:
    cdef int i
    powers[0] = <uint32_t>ONE >> 8
    for i in range(1, POWERS):
        powers[i] = product(powers[i - 1], powers[i - 1])


fill_powers()


cdef void sum_records(RecordsChecksum* checksum, const uint8_t* records, size_t size, size_t step) noexcept nogil:
    if size <= checksum.size or size - checksum.size < step:
        return
    checksum.crc = crc32c_update(checksum.crc, records + checksum.size, size - checksum.size)
    checksum.size = size


cdef uint32_t joined_checksum(uint32_t first, uint32_t second, size_t second_size) noexcept nogil:
    cdef int i = 0
    while second_size != 0:
        if second_size & 1:
            first = product(first, powers[i])
        second_size >>= 1
        i += 1
    return first ^ second
