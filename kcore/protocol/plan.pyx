"""Compiles a structure of the notation for one version.

A plan holds what the codec would otherwise look up in Python objects: the fields, their encoding, and their place in a
message object. Messages keep their fields in slots. The member descriptors give the positions of the slots, so the
codec fills a message without attribute look-ups. Plans are compiled under the GIL when a version is first used, and are
immutable afterwards.
"""

import sys

from libc.stdlib cimport calloc, free
from kcore.protocol import message as messages
from kcore.protocol.notation import includes


cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member


cdef dict KINDS = {
    "bool": KIND_BOOL,
    "int8": KIND_INT8,
    "int16": KIND_INT16,
    "uint16": KIND_UINT16,
    "int32": KIND_INT32,
    "uint32": KIND_UINT32,
    "int64": KIND_INT64,
    "float64": KIND_FLOAT64,
    "string": KIND_STRING,
    "bytes": KIND_BYTES,
    "records": KIND_RECORDS,
    "uuid": KIND_UUID,
}


cdef class Plan:
    """One structure in one version, made by `compile_plan`."""

    def __cinit__(self, struct, int version, bint flexible):
        self.name = struct.name
        self.version = version
        self.flexible = flexible
        self.message_class = messages.message_class(struct)
        self.tags_slot = slot_position(messages.Message._unknown_tags)
        self.minimum = 1 if flexible else 0
        self.owned = []
        self.steps = <Step*>calloc(max(1, len(struct.fields)), sizeof(Step))
        if self.steps == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.steps)

    cdef int add(self, object field, bint is_present) except -1:
        cdef Step* step = &self.steps[self.count]
        cdef Kind kind = <Kind><int>KINDS.get(field.element, KIND_STRUCT)
        cdef Plan inner
        step.kind = KIND_ARRAY if field.is_array else kind
        step.element = kind
        step.compact = self.flexible and not field.inflexible
        step.nullable = includes(field.nullable, self.version)
        step.ignorable = field.ignorable
        step.tag = field.tag if is_present and includes(field.tagged, self.version) else -1
        step.slot = slot_position(getattr(self.message_class, field.name))
        step.name = self.own(sys.intern(field.name))
        step.default_value = self.own(field.default)
        if field.struct is not None:
            inner = compile_plan(field.struct, self.version, self.flexible)
            step.inner = self.own(inner)
            step.element_minimum = max(<size_t>1, inner.minimum)
        elif field.is_array:
            step.element_minimum = minimum_of(kind, step.compact)
        if field.has_fresh_default:
            step.default_kind = DEFAULT_LIST if field.is_array else DEFAULT_STRUCT
        if is_present and step.tag < 0:
            self.minimum += minimum_of_step(step)
        self.count += 1
        return 0

    cdef PyObject* own(self, object value) except NULL:
        self.owned.append(value)
        return <PyObject*>value

    cdef Step* find_tag(self, int32_t tag) noexcept:
        cdef int index
        for index in range(self.present, self.present + self.tagged):
            if self.steps[index].tag == tag:
                return &self.steps[index]
        return NULL


cdef Py_ssize_t slot_position(object descriptor) except -1:
    return (<PyMemberDescrObject*>descriptor).d_member.offset


cdef size_t minimum_of(Kind kind, bint compact) noexcept:
    if kind == KIND_BOOL or kind == KIND_INT8:
        return 1
    if kind == KIND_INT16 or kind == KIND_UINT16:
        return 2
    if kind == KIND_INT32 or kind == KIND_UINT32:
        return 4
    if kind == KIND_INT64 or kind == KIND_FLOAT64:
        return 8
    if kind == KIND_UUID:
        return 16
    if compact:
        return 1
    return 2 if kind == KIND_STRING else 4


cdef size_t minimum_of_step(const Step* step) noexcept:
    if step.kind != KIND_STRUCT:
        return minimum_of(step.kind, step.compact)
    return 1 if step.nullable else (<Plan>step.inner).minimum


def compile_plan(struct, int version, bint flexible) -> Plan:
    """Compiles a structure (`notation.Struct`) for one version."""
    cdef Plan plan = Plan(struct, version, flexible)
    cdef list there = [field for field in struct.fields if includes(field.versions, version)]
    cdef list tagged = [field for field in there if includes(field.tagged, version)]
    cdef list untagged = [field for field in there if field not in tagged]
    for field in untagged:
        plan.add(field, True)
    for field in sorted(tagged, key=lambda field: field.tag):
        plan.add(field, True)
    for field in struct.fields:
        if field not in there:
            plan.add(field, False)
    plan.present = len(untagged)
    plan.tagged = len(tagged)
    return plan


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
