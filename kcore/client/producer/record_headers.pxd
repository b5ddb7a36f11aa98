"""A record's bytes and headers as an application passes them. Inline: only the producer uses this, for every record."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t
from kcore.record.record cimport put_sized, varlong_size


cdef inline bytes as_bytes(object value, str what, str topic):
    """A key, value or header without a serializer: bytes, or an object with the buffer protocol."""
    if isinstance(value, str):
        raise TypeError(
            f"topic {topic}: the {what} is a str, not bytes. Encode it, or set {what}.serializer to 'string'"
        )
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise TypeError(
            f"topic {topic}: the {what} is a {type(value).__name__}, not bytes. Serialize it, or set {what}.serializer"
        ) from None


cdef inline list header_pairs(object headers, size_t* size):
    """Headers as pairs of bytes; `size` becomes their encoded size in a record."""
    cdef list pairs = []
    cdef bytes name, value
    size[0] = 0
    for header_name, header_value in headers.items() if isinstance(headers, dict) else headers:
        name = (<str>header_name).encode("utf-8", "surrogateescape") if type(header_name) is str else bytes(header_name)
        value = None if header_value is None else as_bytes(header_value, "header", "")
        size[0] += varlong_size(PyBytes_GET_SIZE(name)) + <size_t>PyBytes_GET_SIZE(name)
        if value is None:
            size[0] += 1
        else:
            size[0] += varlong_size(PyBytes_GET_SIZE(value)) + <size_t>PyBytes_GET_SIZE(value)
        pairs.append((name, value))
    return pairs


cdef inline void put_headers(uint8_t* target, list pairs):
    cdef bytes name, value
    for name, value in pairs:
        target = put_sized(target, <const uint8_t*>PyBytes_AS_STRING(name), <int32_t>PyBytes_GET_SIZE(name))
        if value is None:
            target = put_sized(target, NULL, -1)
        else:
            target = put_sized(target, <const uint8_t*>PyBytes_AS_STRING(value), <int32_t>PyBytes_GET_SIZE(value))
