"""Reads messages by their plans."""

from libc.stdint cimport int64_t, uint8_t
from cpython.object cimport PyObject
from kcore.cursor cimport Cursor
from kcore.protocol.plan cimport Plan

cdef struct Reader:
    Cursor cursor
    const uint8_t* start
    PyObject* source             # what is read from; records are views of it
    int64_t max_elements         # how many array elements and unknown tagged fields it may have in all
    int64_t elements_left        # of these

# The message at the cursor; raises ProtocolError.
cdef object read_struct(Reader* reader, Plan plan)
