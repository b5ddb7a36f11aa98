"""The interface of the codec: a message type parses its schema, decodes bytes to messages and encodes messages.

`decode` raises an error for bytes after the message: they mean that both sides disagree about the layout.
`decode_prefix` leaves them to the caller. The broker uses it for requests: Kafka ignores bytes after a request, and
some clients rely on that (librdkafka's Metadata 13 for all topics has three extra bytes).

Everything runs under the GIL. The only state are the plans, which are compiled when their version is first used.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport free

from kcore.cursor cimport cursor_over
from kcore.protocol.decoder cimport Reader, read_struct
from kcore.protocol.encoder cimport write_struct
from kcore.protocol.plan cimport Plan
from kcore.protocol.writer cimport Writer, write_bytes

from kcore.errors import UnsupportedVersionError
from kcore.protocol.message import message_class
from kcore.protocol.notation import NEWEST, parse_schema
from kcore.protocol.plan import compile_plan
from kcore.protocol.protocol_errors import MessageError, ProtocolError


cdef class MessageType:
    """A message in all its versions. Decodes and encodes it, and creates `Message` objects."""

    cdef readonly str name
    cdef readonly int oldest_version
    cdef readonly int latest_version
    cdef readonly int first_flexible
    cdef readonly object struct
    cdef list plans

    def __init__(self, str name, str schema, int latest_version, int first_flexible=NEWEST, int oldest_version=0):
        self.name = name
        self.oldest_version = oldest_version
        self.latest_version = latest_version
        self.first_flexible = first_flexible
        self.struct = parse_schema(name, schema)
        self.plans = [None] * (latest_version + 1)

    def __call__(self, **fields):
        """Creates a message. Fields that you do not pass have their default."""
        return message_class(self.struct)(**fields)

    def decode(self, int version, buffer, Py_ssize_t position=0):
        """Decodes the message that fills `buffer` from `position` on. Raises ProtocolError."""
        message, end = self.decode_prefix(version, buffer, position)
        if end != len(buffer):
            error = ProtocolError(f"{len(buffer) - end} bytes are left over", end)
            error.of(self.name, version)
            raise error
        return message

    def decode_prefix(self, int version, buffer, Py_ssize_t position=0, int64_t max_elements=INT64_MAX):
        """Decodes the message at `position`. Returns it and the position after it. Raises ProtocolError.

        `max_elements` limits the total number of array elements and unknown tagged fields.
        """
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
            reader.max_elements = reader.elements_left = max_elements
            message = read_struct(&reader, plan)
            return message, reader.cursor.position - reader.start
        except MessageError as error:
            error.of(self.name, version)
            raise
        finally:
            PyBuffer_Release(&view)

    def encode(self, int version, fields, bytes prefix=b""):
        """Encodes a `Message` or a mapping of its fields, after the bytes of `prefix`. Raises EncodeError."""
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
