"""Writes messages with compiled plans, in the format that decoder.pyx describes.

A structure is a message or a mapping; absent fields have their default. As in Kafka, a field that the version lacks
must have its default, unless it is ignorable. A tagged field is written only if it differs from its default.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport INT16_MAX, INT32_MAX, INT64_MAX, INT64_MIN, UINT32_MAX, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from kcore.protocol.plan cimport (
    DEFAULT_LIST, DEFAULT_SHARED, KIND_ARRAY, KIND_BOOL, KIND_BYTES, KIND_INT8, KIND_INT16, KIND_INT32, KIND_INT64,
    KIND_RECORDS, KIND_STRING, KIND_STRUCT, KIND_UINT16, KIND_UINT32, KIND_UUID, UUID_SIZE, Kind, Plan, Step,
    new_default, slot_of,
)
from kcore.protocol.writer cimport (
    Writer, write_bytes, write_int8, write_int16, write_int32, write_int64, write_unsigned_varint,
)

from kcore.protocol.protocol_errors import EncodeError, MessageError, UnsupportedFieldError

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    int64_t PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1


cdef int64_t as_integer(object value, int64_t low, int64_t high) except? -1:
    cdef int overflow = 0
    cdef int64_t number
    try:
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
    except TypeError:
        raise EncodeError(f"{value!r} is no integer") from None
    if overflow or not low <= number <= high:
        raise EncodeError(f"{value!r} is not between {low} and {high}")
    return number


cdef int write_length(Writer* writer, Kind kind, bint compact, int64_t length) except -1:
    if length > (INT16_MAX if kind == KIND_STRING else INT32_MAX - 1):
        raise EncodeError(f"a length of {length} is too large")
    if compact:
        return write_unsigned_varint(writer, <uint32_t>(length + 1))
    if kind == KIND_STRING:
        return write_int16(writer, length)
    return write_int32(writer, length)


cdef int write_string(Writer* writer, bint compact, object value) except -1:
    cdef const char* text
    cdef Py_ssize_t size
    if not isinstance(value, str):
        raise EncodeError(f"{value!r} is no string")
    try:
        text = PyUnicode_AsUTF8AndSize(value, &size)
    except UnicodeEncodeError:
        raise EncodeError(f"{value!r} has no UTF-8") from None
    write_length(writer, KIND_STRING, compact, size)
    return write_bytes(writer, text, size)


cdef int write_buffer(Writer* writer, Kind kind, bint compact, object value) except -1:
    """Writes bytes, records or a uuid from an object with the buffer protocol."""
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    except (TypeError, BufferError):
        raise EncodeError(f"{value!r} offers no bytes") from None
    try:
        if kind != KIND_UUID:
            write_length(writer, kind, compact, view.len)
        elif view.len != UUID_SIZE:
            raise EncodeError(f"a uuid has {UUID_SIZE} bytes, not {view.len}")
        return write_bytes(writer, view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef int write_null(Writer* writer, Kind kind, bint compact, bint nullable) except -1:
    if not nullable:
        raise EncodeError("null is not allowed here")
    if kind == KIND_STRUCT:
        return write_int8(writer, -1)
    return write_length(writer, kind, compact, -1)


cdef int write_float64(Writer* writer, double value) except -1:
    cdef uint64_t raw
    memcpy(&raw, &value, sizeof(raw))
    return write_int64(writer, <int64_t>raw)


cdef int write_array(Writer* writer, const Step* step, object value) except -1:
    cdef object items = value
    cdef object item
    cdef Py_ssize_t index = 0
    if not isinstance(value, (list, tuple)):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
            raise EncodeError(f"{value!r} is no list")
        items = list(value)
    write_length(writer, KIND_ARRAY, step.compact, len(items))
    try:
        for index, item in enumerate(items):
            write_value(writer, step, step.element, False, item)
    except MessageError as error:
        error.within(f"[{index}]")
        raise
    return 0


cdef int write_value(Writer* writer, const Step* step, Kind kind, bint nullable, object value) except -1:
    if value is None:
        return write_null(writer, kind, step.compact, nullable)
    if kind == KIND_INT32:
        return write_int32(writer, as_integer(value, -INT32_MAX - 1, INT32_MAX))
    if kind == KIND_STRING:
        return write_string(writer, step.compact, value)
    if kind == KIND_ARRAY:
        return write_array(writer, step, value)
    if kind == KIND_STRUCT:
        if nullable:
            write_int8(writer, 1)
        return write_struct(writer, <Plan>step.inner, value)
    if kind == KIND_INT16:
        return write_int16(writer, as_integer(value, -INT16_MAX - 1, INT16_MAX))
    if kind == KIND_INT64:
        return write_int64(writer, as_integer(value, INT64_MIN, INT64_MAX))
    if kind == KIND_BYTES or kind == KIND_RECORDS or kind == KIND_UUID:
        return write_buffer(writer, kind, step.compact, value)
    if kind == KIND_BOOL:
        return write_int8(writer, as_integer(value, 0, 1))
    if kind == KIND_INT8:
        return write_int8(writer, as_integer(value, -128, 127))
    if kind == KIND_UINT16:
        return write_int16(writer, as_integer(value, 0, 0xFFFF))
    if kind == KIND_UINT32:
        return write_int32(writer, as_integer(value, 0, 0xFFFFFFFF))
    if not isinstance(value, (int, float)):
        raise EncodeError(f"{value!r} is no number")
    return write_float64(writer, value)


cdef object fields_of(Plan plan, object value):
    """A structure as a message of its class, or as a dict."""
    if type(value) is plan.message_class or PyDict_CheckExact(value):
        return value
    if hasattr(value, "keys"):
        return dict(value)
    raise EncodeError(f"a {plan.name} is expected, not {value!r}")


cdef inline PyObject* field_of(object value, bint is_dict, const Step* step) except? NULL:
    """Returns a borrowed reference; NULL if a dict lacks the key."""
    if is_dict:
        return PyDict_GetItemWithError(value, <object>step.name)
    return slot_of(<PyObject*>value, step.slot)[0]


cdef int write_struct(Writer* writer, Plan plan, object value) except -1:
    cdef object fields = fields_of(plan, value)
    cdef bint is_dict = PyDict_CheckExact(fields)
    cdef const Step* step = NULL
    cdef PyObject* field
    cdef object given
    cdef int index
    cdef Py_ssize_t found = 0
    try:
        for index in range(plan.count):
            step = &plan.steps[index]
            field = field_of(fields, is_dict, step)
            if field != NULL:
                found += 1
            if index < plan.present:
                given = <object>field if field != NULL else new_default(step)
                write_value(writer, step, step.kind, step.nullable, given)
            elif index >= plan.present + plan.tagged and field != NULL and not step.ignorable:
                if not is_default(step, <object>field):
                    raise UnsupportedFieldError("this version has no such field")
    except MessageError as error:
        error.within(<object>step.name)
        raise
    if is_dict and found != len(fields):
        refuse_unknown_fields(plan, fields)
    if plan.flexible:
        write_tagged_fields(writer, plan, fields, is_dict)
    return 0


cdef int refuse_unknown_fields(Plan plan, dict fields) except -1:
    cdef int index
    cdef set unknown = set(fields)
    unknown.discard("unknown_tags")
    for index in range(plan.count):
        unknown.discard(<object>plan.steps[index].name)
    if unknown:
        raise EncodeError(f"{plan.name} has no field {', '.join(map(repr, sorted(unknown, key=repr)))}")
    return 0


cdef bint is_default(const Step* step, object value) except -1:
    """Whether a field has its default value."""
    cdef Plan plan
    cdef object fields
    cdef bint is_dict
    cdef PyObject* field
    cdef int index
    if step.default_kind == DEFAULT_SHARED:
        return value is <object>step.default_value or value == <object>step.default_value
    if value is None:
        return False
    if step.default_kind == DEFAULT_LIST:
        return not value
    plan = <Plan>step.inner
    fields = fields_of(plan, value)
    is_dict = PyDict_CheckExact(fields)
    for index in range(plan.count):
        field = field_of(fields, is_dict, &plan.steps[index])
        if field != NULL and not is_default(&plan.steps[index], <object>field):
            return False
    return not unknown_tags_of(plan, fields, is_dict)


cdef object unknown_tags_of(Plan plan, object fields, bint is_dict):
    if is_dict:
        return (<dict>fields).get("unknown_tags")
    return <object>slot_of(<PyObject*>fields, plan.tags_slot)[0]


cdef int write_tagged_fields(Writer* writer, Plan plan, object fields, bint is_dict) except -1:
    """Writes tagged fields that differ from their default, and unknown ones, in ascending order of tags (KIP-482)."""
    cdef list values = []
    cdef object unknown = unknown_tags_of(plan, fields, is_dict)
    cdef PyObject* field
    cdef Step* step
    cdef int index
    for index in range(plan.present, plan.present + plan.tagged):
        step = &plan.steps[index]
        field = field_of(fields, is_dict, step)
        if field != NULL and not is_default(step, <object>field):
            values.append((step.tag, tagged_value(step, <object>field)))
    if unknown:
        values.extend(unknown_tagged_values(plan, unknown))
        values.sort()
    write_unsigned_varint(writer, <uint32_t>len(values))
    for tag, value in values:
        write_unsigned_varint(writer, tag)
        write_unsigned_varint(writer, <uint32_t>len(value))
        write_bytes(writer, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return 0


cdef list unknown_tagged_values(Plan plan, object unknown):
    cdef list values = []
    for tag, value in unknown.items():
        if plan.find_tag(<int><uint32_t>as_integer(tag, 0, UINT32_MAX)) != NULL:
            raise EncodeError(f"tag {tag} is not an unknown one")
        values.append((tag, bytes(value)))
    return values


cdef bytes tagged_value(const Step* step, object value):
    cdef Writer writer = Writer(NULL, 0, 0)
    try:
        if step.kind == KIND_STRUCT and step.nullable:
            # A varint says whether it is present, where an untagged structure has a byte.
            write_unsigned_varint(&writer, value is not None)
            if value is not None:
                write_struct(&writer, <Plan>step.inner, value)
        else:
            write_value(&writer, step, step.kind, step.nullable, value)
        return PyBytes_FromStringAndSize(<const char*>writer.data, writer.size)
    except MessageError as error:
        error.within(<object>step.name)
        raise
    finally:
        free(writer.data)
