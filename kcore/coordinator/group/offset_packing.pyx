"""Packs keys and values of committed offsets natively, since these are the most frequent records.

    key    version int16 (1) | group string | topic string | partition int32
    value  version int16 (3) | offset int64 | leader epoch int32 | metadata string | commit timestamp int64

Strings have a length of two bytes. `records.py` has the schema of all versions. The codec produces the same bytes.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport INT16_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)
    uint32_t htobe32(uint32_t)
    uint16_t htobe16(uint16_t)

cdef enum:
    KEY_VERSION = 1
    VALUE_VERSION = 3


def pack_key(str group_id not None, str topic not None, int32_t partition) -> bytes:
    """The key of a committed offset. Raises OverflowError for names that are too long, UnicodeEncodeError if invalid."""
    cdef Py_ssize_t group_size, topic_size
    cdef const char* group = PyUnicode_AsUTF8AndSize(group_id, &group_size)
    cdef const char* name = PyUnicode_AsUTF8AndSize(topic, &topic_size)
    check_size(group_size)
    check_size(topic_size)
    cdef bytes key = PyBytes_FromStringAndSize(NULL, 2 + 2 + group_size + 2 + topic_size + 4)
    cdef uint8_t* target = <uint8_t*>PyBytes_AS_STRING(key)
    target = put_int16(target, KEY_VERSION)
    target = put_string(target, group, group_size)
    target = put_string(target, name, topic_size)
    put_int32(target, partition)
    return key


def pack_value(int64_t offset, int32_t leader_epoch, str metadata not None, int64_t commit_timestamp_ms) -> bytes:
    """The value of an offset without an expiry. Raises the same errors as `pack_key`."""
    cdef Py_ssize_t size
    cdef const char* text = PyUnicode_AsUTF8AndSize(metadata, &size)
    check_size(size)
    cdef bytes value = PyBytes_FromStringAndSize(NULL, 2 + 8 + 4 + 2 + size + 8)
    cdef uint8_t* target = <uint8_t*>PyBytes_AS_STRING(value)
    target = put_int16(target, VALUE_VERSION)
    target = put_int64(target, offset)
    target = put_int32(target, leader_epoch)
    target = put_string(target, text, size)
    put_int64(target, commit_timestamp_ms)
    return value


cdef int check_size(Py_ssize_t size) except -1:
    if size > INT16_MAX:
        raise OverflowError(f"a string of {size} bytes has no length of two bytes")
    return 0


cdef inline uint8_t* put_int16(uint8_t* target, int16_t value) noexcept:
    cdef uint16_t raw = htobe16(<uint16_t>value)
    memcpy(target, &raw, 2)
    return target + 2


cdef inline uint8_t* put_int32(uint8_t* target, int32_t value) noexcept:
    cdef uint32_t raw = htobe32(<uint32_t>value)
    memcpy(target, &raw, 4)
    return target + 4


cdef inline uint8_t* put_int64(uint8_t* target, int64_t value) noexcept:
    cdef uint64_t raw = htobe64(<uint64_t>value)
    memcpy(target, &raw, 8)
    return target + 8


cdef inline uint8_t* put_string(uint8_t* target, const char* text, Py_ssize_t size) noexcept:
    target = put_int16(target, <int16_t>size)
    memcpy(target, text, <size_t>size)
    return target + size
