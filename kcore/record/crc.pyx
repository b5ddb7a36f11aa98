"""CRC-32C (Castagnoli), the checksum of record batches of magic 2 (KIP-98, RFC 3720).

The work is done in crc32c.h; this module chooses the implementation once, when it is imported, and gives Python a
face. Concurrency: pure functions; `checksum` and `software_checksum` release the GIL for large buffers.
"""

from libc.stdint cimport uint8_t, uint32_t

cdef extern from "crc32c.h" nogil:
    void kcore_crc32c_initialize()
    bint kcore_crc32c_is_hardware()
    uint32_t kcore_crc32c_update(uint32_t crc, const uint8_t* data, size_t size)
    uint32_t kcore_crc32c_software(uint32_t crc, const uint8_t* data, size_t size)

# Below this size releasing the GIL costs more than the checksum.
cdef enum:
    GIL_RELEASE_BYTES = 16384

kcore_crc32c_initialize()

HARDWARE = bool(kcore_crc32c_is_hardware())


cdef uint32_t crc32c(const uint8_t* data, size_t size) noexcept nogil:
    return kcore_crc32c_update(0, data, size)


cdef uint32_t crc32c_update(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil:
    return kcore_crc32c_update(crc, data, size)


def checksum(const uint8_t[::1] data not None, uint32_t crc=0):
    """The CRC-32C of a buffer, continuing from `crc`."""
    cdef size_t size = <size_t>data.shape[0]
    cdef const uint8_t* start = &data[0] if size else NULL
    cdef uint32_t result
    if size < GIL_RELEASE_BYTES:
        return kcore_crc32c_update(crc, start, size)
    with nogil:
        result = kcore_crc32c_update(crc, start, size)
    return result


def software_checksum(const uint8_t[::1] data not None, uint32_t crc=0):
    """The same by tables alone, which `checksum` falls back to where the CPU lacks the instructions."""
    cdef size_t size = <size_t>data.shape[0]
    cdef const uint8_t* start = &data[0] if size else NULL
    cdef uint32_t result
    with nogil:
        result = kcore_crc32c_software(crc, start, size)
    return result
