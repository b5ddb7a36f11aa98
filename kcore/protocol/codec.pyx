"""The face of the codec: a message type knows its schema, reads bytes into messages and writes messages into bytes.

`decode` refuses bytes that are left over, because they show that the two sides disagree about the layout.
`decode_prefix` leaves them to the caller. A broker reads requests with it: Kafka ignores what follows a request, and
clients rely on that (librdkafka's Metadata 13 for all topics has three bytes too many).

Everything runs under the GIL and keeps no state besides the plans, which are compiled when their version is first used.
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
    """A message in all its versions: reads and writes it, and makes `Message` objects of it."""

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

    def decode_prefix(self, int version, buffer, Py_ssize_t position=0, int64_t max_elements=INT64_MAX):
        """The message that starts at `position`, and the position of what follows it; raises ProtocolError.

        `max_elements` bounds the elements of all its arrays, and its unknown tagged fields, together.
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
