"""Reads messages with compiled plans."""

from libc.stdint cimport int64_t, uint8_t
from cpython.object cimport PyObject
from kcore.cursor cimport Cursor
from kcore.protocol.plan cimport Plan

cdef struct Reader:
    Cursor cursor
    const uint8_t* start
    PyObject* source             # the buffer that is read; `records` fields are views of it
    int64_t max_elements         # limit of array elements and unknown tagged fields of a message
    int64_t elements_left        # how many of them are left

# Reads the message at the cursor. Raises ProtocolError.
cdef object read_struct(Reader* reader, Plan plan)
