"""A schema compiled for one version, with one step per field. The codec executes it."""

from libc.stdint cimport int32_t
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

cdef extern from "Python.h":
    object PyType_GenericAlloc(PyTypeObject* type, Py_ssize_t items)

cdef enum:
    UUID_SIZE = 16

cdef enum Kind:
    KIND_BOOL
    KIND_INT8
    KIND_INT16
    KIND_UINT16
    KIND_INT32
    KIND_UINT32
    KIND_INT64
    KIND_FLOAT64
    KIND_STRING
    KIND_BYTES
    KIND_RECORDS
    KIND_UUID
    KIND_STRUCT
    KIND_ARRAY

cdef enum DefaultKind:
    DEFAULT_SHARED               # `default_value` itself
    DEFAULT_LIST                 # a new empty list
    DEFAULT_STRUCT               # a new structure of defaults

# Object pointers are borrowed from the plan's `owned` list.
cdef struct Step:
    Kind kind
    Kind element                 # of an array's elements
    DefaultKind default_kind
    bint compact                 # lengths are unsigned varints of the length plus one
    bint nullable
    bint ignorable
    int32_t tag                  # -1: not tagged
    size_t element_minimum       # the minimum size of an array element, in bytes
    Py_ssize_t slot              # byte offset of the field in a message object
    PyObject* name               # interned
    PyObject* default_value
    PyObject* inner              # Plan of the structure, or of an array's elements; NULL for other types

cdef class Plan:
    cdef readonly str name
    cdef readonly int version
    cdef readonly bint flexible
    cdef type message_class
    cdef Py_ssize_t tags_slot    # of Message._unknown_tags
    cdef size_t minimum          # the minimum size of the structure, in bytes
    # The untagged fields of the version, in order; then its tagged fields, by tag; then the fields that it lacks.
    cdef Step* steps
    cdef int present
    cdef int tagged
    cdef int count
    cdef list owned

    cdef int add(self, object field, bint is_present) except -1
    cdef PyObject* own(self, object value) except NULL
    cdef Step* find_tag(self, int32_t tag) noexcept


cdef inline PyObject** slot_of(PyObject* message, Py_ssize_t slot) noexcept:
    return <PyObject**>(<char*>message + slot)


cdef inline void put(object message, const Step* step, object value) noexcept:
    """Stores a field and releases the old value."""
    cdef PyObject** slot = slot_of(<PyObject*>message, step.slot)
    cdef PyObject* old = slot[0]
    Py_INCREF(value)
    slot[0] = <PyObject*>value
    Py_XDECREF(old)


cdef inline object new_message(Plan plan):
    """Creates a message without fields. The caller must set all of them."""
    cdef object message = PyType_GenericAlloc(<PyTypeObject*>plan.message_class, 0)
    Py_INCREF(None)
    slot_of(<PyObject*>message, plan.tags_slot)[0] = <PyObject*>None
    return message


# The value of a field that was not set.
cdef object new_default(const Step* step)
