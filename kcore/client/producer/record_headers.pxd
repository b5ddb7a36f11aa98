"""Converts keys, values and headers from the application to bytes. Inline, because it is called for every record."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t
from kcore.record.record cimport put_sized, varlong_size


cdef inline bytes as_bytes(object value, str what, str topic):
    """Return a key, value or header as bytes. It must be bytes or support the buffer protocol."""
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
    """Return headers as pairs of bytes, and their encoded size in `size`."""
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
