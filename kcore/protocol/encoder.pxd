"""Writes messages with compiled plans."""

from kcore.protocol.plan cimport Plan
from kcore.protocol.writer cimport Writer

# Appends a message, or a mapping of its fields, to the buffer. Raises EncodeError.
cdef int write_struct(Writer* writer, Plan plan, object value) except -1
