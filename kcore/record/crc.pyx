"""CRC-32C (Castagnoli), the checksum of record batches of magic 2 (KIP-98, RFC 3720).

The implementations are in crc32c.h. This module chooses one at import and wraps it for Python. Concurrency: pure
functions; `checksum` and `software_checksum` release the GIL for large buffers.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t

cdef extern from "crc32c.h" nogil:
    void kcore_crc32c_initialize()
    bint kcore_crc32c_is_hardware()
    uint32_t kcore_crc32c_update(uint32_t crc, const uint8_t* data, size_t size) noexcept
    uint32_t kcore_crc32c_software(uint32_t crc, const uint8_t* data, size_t size) noexcept

ctypedef uint32_t (*crc32c_function)(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil

# Below this size releasing the GIL costs more than the checksum itself.
cdef enum:
    GIL_RELEASE_BYTES = 16384

kcore_crc32c_initialize()

HARDWARE = bool(kcore_crc32c_is_hardware())


cdef uint32_t crc32c(const uint8_t* data, size_t size) noexcept nogil:
    return kcore_crc32c_update(0, data, size)


cdef uint32_t crc32c_update(uint32_t crc, const uint8_t* data, size_t size) noexcept nogil:
    return kcore_crc32c_update(crc, data, size)


cdef uint32_t over_buffer(object data, uint32_t crc, crc32c_function function) except? 0:
    """Applies `function` to an object's bytes. The buffer interface costs half as much as a memoryview."""
    cdef Py_buffer view
    cdef uint32_t result
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    if view.len < GIL_RELEASE_BYTES:
        result = function(crc, <const uint8_t*>view.buf, <size_t>view.len)
    else:
        with nogil:
            result = function(crc, <const uint8_t*>view.buf, <size_t>view.len)
    PyBuffer_Release(&view)
    return result


def checksum(data, uint32_t crc=0):
    """The CRC-32C of a bytes-like object, continuing from `crc`."""
    return over_buffer(data, crc, kcore_crc32c_update)


def software_checksum(data, uint32_t crc=0):
    """The same, computed with tables only. `checksum` uses it if the CPU lacks the instructions."""
    return over_buffer(data, crc, kcore_crc32c_software)
