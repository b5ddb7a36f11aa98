"""Reads messages by their plans."""

from libc.stdint cimport uint8_t
from cpython.object cimport PyObject
from kcore.cursor cimport Cursor
from kcore.protocol.plan cimport Plan

cdef struct Reader:
    Cursor cursor
    const uint8_t* start
    PyObject* source             # what is read from; records are views of it

# The message at the cursor; raises ProtocolError.
cdef object read_struct(Reader* reader, Plan plan)
