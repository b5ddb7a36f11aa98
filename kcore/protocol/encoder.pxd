"""Writes messages by their plans."""

from kcore.protocol.plan cimport Plan
from kcore.protocol.writer cimport Writer

# A message, or a mapping of its fields, at the end of the buffer; raises EncodeError.
cdef int write_struct(Writer* writer, Plan plan, object value) except -1
