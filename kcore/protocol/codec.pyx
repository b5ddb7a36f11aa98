"""Reads and writes messages by their plans.

The wire's grammar (KIP-482 for the flexible versions): integers are big endian; a string has a length of two bytes, an
array or bytes one of four, -1 meaning null; in flexible versions each is an unsigned varint of the length plus one, 0
meaning null, and every structure ends with its tagged fields: their count, then tag, size and value of each.

Stricter than Kafka, which ignores them: bytes left over after a message, lengths below -1, and a tagged field whose
value does not fill its size are errors, because they show that the two sides disagree about the layout. `decode_prefix` is for
messages that may be followed by something else. An array is not allocated before the bytes that are left could hold it.

Thread policy: everything runs under the GIL and keeps no state besides the plans, which are compiled when first used.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError
from cpython.float cimport PyFloat_FromDouble
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT16_MAX, INT32_MAX, INT64_MAX, INT64_MIN, UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from kcore.cursor cimport (
    Cursor, cursor_over, read_int8, read_int16, read_int32, read_int64, read_unsigned_varint, remaining, take,
)
from kcore.protocol.plan cimport (
    DEFAULT_LIST, DEFAULT_SHARED, DEFAULT_STRUCT, KIND_ARRAY, KIND_BOOL, KIND_BYTES, KIND_FLOAT64, KIND_INT8, KIND_INT16,
    KIND_INT32, KIND_INT64, KIND_RECORDS, KIND_STRING, KIND_STRUCT, KIND_UINT16, KIND_UINT32, KIND_UUID, Kind, Plan, Step,
    slot_of,
)
from kcore.protocol.writer cimport (
    Writer, write_bytes, write_int8, write_int16, write_int32, write_int64, write_unsigned_varint,
)

from kcore.errors import UnsupportedVersionError
from kcore.protocol.message import message_class
from kcore.protocol.notation import NEWEST, parse_schema
from kcore.protocol.plan import compile_plan
from kcore.protocol.protocol_errors import EncodeError, MessageError, ProtocolError, UnsupportedFieldError

cdef extern from "Python.h":
    object PyType_GenericAlloc(PyTypeObject* type, Py_ssize_t items)
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    int64_t PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef enum:
    UUID_SIZE = 16

cdef struct Reader:
    Cursor cursor
    const uint8_t* start
    PyObject* source             # what is read from; records are views of it


# ---- Messages ----

cdef inline void put(object message, const Step* step, object value) noexcept:
    """Stores a field, replacing what was there."""
    cdef PyObject** slot = slot_of(<PyObject*>message, step.slot)
    cdef PyObject* old = slot[0]
    Py_INCREF(value)
    slot[0] = <PyObject*>value
    Py_XDECREF(old)


cdef inline object new_message(Plan plan):
    """A message without its fields; the caller puts every one of them."""
    cdef object message = PyType_GenericAlloc(<PyTypeObject*>plan.message_class, 0)
    Py_INCREF(None)
    slot_of(<PyObject*>message, plan.tags_slot)[0] = <PyObject*>None
    return message


cdef object new_default(const Step* step):
    cdef Plan plan
    cdef object message
    cdef int index
    if step.default_kind == DEFAULT_SHARED:
        return <object>step.default_value
    if step.default_kind == DEFAULT_LIST:
        return []
    plan = <Plan>step.inner
    message = new_message(plan)
    for index in range(plan.count):
        put(message, &plan.steps[index], new_default(&plan.steps[index]))
    return message


# ---- Reading ----

cdef object malformed(Reader* reader, str reason):
    return ProtocolError(reason, reader.cursor.position - reader.start)


cdef int check(Reader* reader) except -1:
    if reader.cursor.failed:
        raise malformed(reader, "the bytes end here, or a varint is too long")
    return 0


cdef int64_t read_length(Reader* reader, Kind kind, bint compact, bint nullable) except -2:
    """A length of a string, bytes or an array; -1 for null."""
    cdef int64_t length
    cdef Cursor before = reader.cursor
    if compact:
        length = <int64_t>read_unsigned_varint(&reader.cursor) - 1
    elif kind == KIND_STRING:
        length = read_int16(&reader.cursor)
    else:
        length = read_int32(&reader.cursor)
    check(reader)
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


cdef object read_array(Reader* reader, const Step* step):
    cdef int64_t length = read_length(reader, KIND_ARRAY, step.compact, step.nullable)
    cdef int64_t index = 0
    cdef list items
    cdef object item
    if length < 0:
        return None
    if <uint64_t>length > remaining(&reader.cursor) // step.element_minimum:
        raise malformed(reader, f"{length} elements are announced, {remaining(&reader.cursor)} bytes are left")
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
            message.unknown_tags[tag] = PyBytes_FromStringAndSize(<const char*>take(&reader.cursor, size), size)
        else:
            read_tagged_field(reader, step, size, message)
    return check(reader)


cdef int read_tagged_field(Reader* reader, const Step* step, uint32_t size, object message) except -1:
    """Within its own bounds: a value can neither reach beyond its size nor leave a part of it unread."""
    cdef const uint8_t* end = reader.cursor.end
    reader.cursor.end = reader.cursor.position + size
    try:
        put(message, step, read_value(reader, step, step.kind, step.nullable))
        if reader.cursor.position != reader.cursor.end:
            raise malformed(reader, f"the tagged field has {remaining(&reader.cursor)} bytes too many")
    except MessageError as error:
        error.within(<object>step.name)
        raise
    reader.cursor.end = end
    return 0


# ---- Writing ----

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
    """Bytes, records or a uuid, from whatever offers its memory."""
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
    """What a structure may be given as: a message of its class, or any mapping as a dict."""
    if type(value) is plan.message_class or PyDict_CheckExact(value):
        return value
    if hasattr(value, "keys"):
        return dict(value)
    raise EncodeError(f"a {plan.name} is expected, not {value!r}")


cdef inline PyObject* field_of(object value, bint is_dict, const Step* step) except? NULL:
    """Borrowed; NULL where a dict has no such key."""
    if is_dict:
        return PyDict_GetItemWithError(value, <object>step.name)
    return slot_of(<PyObject*>value, step.slot)[0]


cdef int write_struct(Writer* writer, Plan plan, object value) except -1:
    cdef object fields = fields_of(plan, value)
    cdef bint is_dict = PyDict_CheckExact(fields)
    cdef const Step* step = NULL
    cdef PyObject* field
    cdef int index
    cdef Py_ssize_t found = 0
    try:
        for index in range(plan.count):
            step = &plan.steps[index]
            field = field_of(fields, is_dict, step)
            if field != NULL:
                found += 1
            if index < plan.present:
                write_value(writer, step, step.kind, step.nullable, <object>field if field != NULL else new_default(step))
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
    """Whether a field holds what it holds when it was never set."""
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
    """Those that are not at their default, and unknown ones, all in ascending order of tags (KIP-482)."""
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
        write_value(&writer, step, step.kind, step.nullable, value)
        return PyBytes_FromStringAndSize(<const char*>writer.data, writer.size)
    except MessageError as error:
        error.within(<object>step.name)
        raise
    finally:
        free(writer.data)


# ---- The Python face ----

cdef class MessageType:
    """A message in all its versions: reads and writes it, and makes `Message` objects of it."""

    cdef readonly str name
    cdef readonly int oldest_version
    cdef readonly int latest_version
    cdef readonly int first_flexible
    cdef object struct
    cdef list plans

    def __init__(self, str name, str schema, int latest_version, int first_flexible=NEWEST, int oldest_version=0):
        self.name = name
        self.oldest_version = oldest_version
        self.latest_version = latest_version
        self.first_flexible = first_flexible
        self.struct = parse_schema(name, schema)
        self.plans = [None] * (latest_version + 1)

    def __call__(self, **fields):
        """A new message; fields that are not given hold their default."""
        return message_class(self.struct)(**fields)

    def decode(self, int version, buffer, Py_ssize_t position=0):
        """The message that takes all bytes of `buffer` from `position` on; raises ProtocolError."""
        message, end = self.decode_prefix(version, buffer, position)
        if end != len(buffer):
            error = ProtocolError(f"{len(buffer) - end} bytes are left over", end)
            error.of(self.name, version)
            raise error
        return message

    def decode_prefix(self, int version, buffer, Py_ssize_t position=0):
        """The message that starts at `position`, and the position of what follows it; raises ProtocolError."""
        cdef Plan plan = self.plan(version)
        cdef Reader reader
        cdef Py_buffer view
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            if not 0 <= position <= view.len:
                raise ProtocolError(f"there are {view.len} bytes only", position)
            reader.start = <const uint8_t*>view.buf
            reader.cursor = cursor_over(reader.start + position, view.len - position)
            reader.source = <PyObject*>buffer
            message = read_struct(&reader, plan)
            return message, reader.cursor.position - reader.start
        except MessageError as error:
            error.of(self.name, version)
            raise
        finally:
            PyBuffer_Release(&view)

    def encode(self, int version, fields, bytes prefix=b""):
        """The bytes of a message given as a `Message` or a mapping, after `prefix`; raises EncodeError."""
        cdef Plan plan = self.plan(version)
        cdef Writer writer = Writer(NULL, 0, 0)
        try:
            write_bytes(&writer, PyBytes_AS_STRING(prefix), PyBytes_GET_SIZE(prefix))
            write_struct(&writer, plan, fields)
            return PyBytes_FromStringAndSize(<const char*>writer.data, writer.size)
        except MessageError as error:
            error.of(self.name, version)
            raise
        finally:
            free(writer.data)

    cdef Plan plan(self, int version):
        if not self.oldest_version <= version <= self.latest_version:
            known = f"{self.oldest_version} to {self.latest_version}"
            raise UnsupportedVersionError(f"{self.name} has no version {version}: versions {known} are known")
        if self.plans[version] is None:
            self.plans[version] = compile_plan(self.struct, version, version >= self.first_flexible)
        return <Plan>self.plans[version]
