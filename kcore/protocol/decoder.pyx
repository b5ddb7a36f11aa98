"""Reads messages with compiled plans.

The wire format (KIP-482 for flexible versions): integers are big endian. A string has a length of two bytes; an array
or bytes have one of four; -1 means null. In flexible versions each length is an unsigned varint of the length plus one,
0 meaning null, and every structure ends with its tagged fields: their count, then tag, size and value of each.

This is stricter than Kafka: lengths below -1, text that is not UTF-8, and a tagged field whose value does not fill its
size are errors. An array is allocated only if the remaining bytes can hold it. The caller can limit the total number of
array elements, as the broker does.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT16_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcore.cursor cimport (
    Cursor, read_int8, read_int16, read_int32, read_int64, read_unsigned_varint, remaining, take,
)
from kcore.protocol.plan cimport (
    KIND_ARRAY, KIND_BOOL, KIND_BYTES, KIND_INT8, KIND_INT16, KIND_INT32, KIND_INT64, KIND_RECORDS, KIND_STRING,
    KIND_STRUCT, KIND_UINT16, KIND_UINT32, KIND_UUID, UUID_SIZE, Kind, Plan, Step, new_default, new_message, put,
)

from kcore.protocol.protocol_errors import MessageError, ProtocolError


cdef object malformed(Reader* reader, str reason):
    return ProtocolError(reason, reader.cursor.position - reader.start)


cdef int check(Reader* reader) except -1:
    if reader.cursor.failed:
        raise malformed(reader, "the bytes end here, or a varint is too long")
    return 0


cdef int64_t read_length(Reader* reader, Kind kind, bint compact, bint nullable) except -2:
    """Reads the length of a string, of bytes or of an array; -1 for null."""
    cdef int64_t length
    cdef Cursor before = reader.cursor
    if compact:
        length = <int64_t>read_unsigned_varint(&reader.cursor) - 1
    elif kind == KIND_STRING:
        length = read_int16(&reader.cursor)
    else:
        length = read_int32(&reader.cursor)
    if reader.cursor.failed:
        reader.cursor = before
        raise malformed(reader, "the bytes end within a length, or it is too long")
    if length < -1 or (length == -1 and not nullable) or (kind == KIND_STRING and length > INT16_MAX):
        reader.cursor = before
        raise malformed(reader, "null is not allowed here" if length == -1 else f"{length} is no length")
    return length


cdef object read_bytes(Reader* reader, Kind kind, bint compact, bint nullable):
    cdef int64_t length = read_length(reader, kind, compact, nullable)
    cdef const uint8_t* bytes
    cdef Py_ssize_t position
    if length < 0:
        return None
    position = reader.cursor.position - reader.start
    bytes = take(&reader.cursor, length)
    if bytes == NULL:
        raise malformed(reader, f"{length} bytes are announced, {remaining(&reader.cursor)} are left")
    if kind == KIND_RECORDS:
        return memoryview(<object>reader.source).cast("B")[position : position + length]
    if kind == KIND_BYTES:
        return PyBytes_FromStringAndSize(<const char*>bytes, length)
    try:
        return PyUnicode_DecodeUTF8(<const char*>bytes, length, NULL)
    except UnicodeDecodeError:
        raise ProtocolError("the text is not UTF-8", position) from None


cdef object read_float64(Reader* reader):
    cdef uint64_t raw = <uint64_t>read_int64(&reader.cursor)
    cdef double value
    memcpy(&value, &raw, sizeof(value))
    return PyFloat_FromDouble(value)


cdef object read_uuid(Reader* reader):
    cdef const uint8_t* bytes = take(&reader.cursor, UUID_SIZE)
    check(reader)
    return PyBytes_FromStringAndSize(<const char*>bytes, UUID_SIZE)


cdef int take_elements(Reader* reader, int64_t count) except -1:
    """Counts elements against the limit: each becomes an object many times its wire size, created under the GIL."""
    reader.elements_left -= count
    if reader.elements_left < 0:
        raise malformed(reader, f"more than {reader.max_elements} elements in all (kcli.request.max.elements)")
    return 0


cdef object read_array(Reader* reader, const Step* step):
    cdef int64_t length = read_length(reader, KIND_ARRAY, step.compact, step.nullable)
    cdef int64_t index = 0
    cdef list items
    cdef object item
    if length < 0:
        return None
    if <uint64_t>length > remaining(&reader.cursor) // step.element_minimum:
        raise malformed(reader, f"{length} elements are announced, {remaining(&reader.cursor)} bytes are left")
    take_elements(reader, length)
    items = PyList_New(length)
    try:
        for index in range(length):
            item = read_value(reader, step, step.element, False)
            Py_INCREF(item)
            PyList_SET_ITEM(items, index, item)
    except MessageError as error:
        error.within(f"[{index}]")
        raise
    return items


cdef object read_value(Reader* reader, const Step* step, Kind kind, bint nullable):
    cdef object value
    if kind == KIND_STRUCT:
        if nullable:
            if read_int8(&reader.cursor) < 0:
                return None
            check(reader)
        return read_struct(reader, <Plan>step.inner)
    if kind == KIND_ARRAY:
        return read_array(reader, step)
    if kind == KIND_STRING or kind == KIND_BYTES or kind == KIND_RECORDS:
        return read_bytes(reader, kind, step.compact, nullable)
    if kind == KIND_INT32:
        value = read_int32(&reader.cursor)
    elif kind == KIND_INT64:
        value = read_int64(&reader.cursor)
    elif kind == KIND_INT16:
        value = read_int16(&reader.cursor)
    elif kind == KIND_INT8:
        value = read_int8(&reader.cursor)
    elif kind == KIND_BOOL:
        value = read_int8(&reader.cursor) != 0
    elif kind == KIND_UUID:
        value = read_uuid(reader)
    elif kind == KIND_UINT16:
        value = <uint16_t>read_int16(&reader.cursor)
    elif kind == KIND_UINT32:
        value = <uint32_t>read_int32(&reader.cursor)
    else:
        value = read_float64(reader)
    check(reader)
    return value


cdef object read_struct(Reader* reader, Plan plan):
    cdef object message = new_message(plan)
    cdef const Step* step = NULL
    cdef int index
    try:
        for index in range(plan.present):
            step = &plan.steps[index]
            put(message, step, read_value(reader, step, step.kind, step.nullable))
    except MessageError as error:
        error.within(<object>step.name)
        raise
    for index in range(plan.present, plan.count):
        step = &plan.steps[index]
        put(message, step, new_default(step))
    if plan.flexible:
        read_tagged_fields(reader, plan, message)
    return message


cdef int read_tagged_fields(Reader* reader, Plan plan, object message) except -1:
    cdef uint32_t count = read_unsigned_varint(&reader.cursor)
    cdef uint32_t tag, size
    cdef Step* step
    while count > 0:
        count -= 1
        tag = read_unsigned_varint(&reader.cursor)
        size = read_unsigned_varint(&reader.cursor)
        check(reader)
        if size > remaining(&reader.cursor):
            raise malformed(reader, f"tagged field {tag} has {size} bytes, {remaining(&reader.cursor)} are left")
        step = plan.find_tag(<int>tag)
        if step == NULL:
            take_elements(reader, 1)
            message.unknown_tags[tag] = PyBytes_FromStringAndSize(<const char*>take(&reader.cursor, size), size)
        else:
            read_tagged_field(reader, step, size, message)
    return check(reader)


cdef object read_tagged_nullable_struct(Reader* reader, const Step* step):
    """Reads a nullable structure: a varint 0 means null, where an untagged structure has a byte -1."""
    if read_unsigned_varint(&reader.cursor) == 0:
        check(reader)
        return None
    check(reader)
    return read_struct(reader, <Plan>step.inner)


cdef int read_tagged_field(Reader* reader, const Step* step, uint32_t size, object message) except -1:
    """Reads a tagged field within its size. The value must neither exceed the size nor leave bytes unread."""
    cdef const uint8_t* end = reader.cursor.end
    reader.cursor.end = reader.cursor.position + size
    try:
        if step.kind == KIND_STRUCT and step.nullable:
            put(message, step, read_tagged_nullable_struct(reader, step))
        else:
            put(message, step, read_value(reader, step, step.kind, step.nullable))
        if reader.cursor.position != reader.cursor.end:
            raise malformed(reader, f"the tagged field has {remaining(&reader.cursor)} bytes too many")
    except MessageError as error:
        error.within(<object>step.name)
        raise
    reader.cursor.end = end
    return 0
