"""The interface through which threads without the GIL have Python code run on a handler thread."""


cdef class HandlerEventSink:
    """The base of RequestChannel. On its own it refuses everything, like a closed sink."""

    cdef bint push_event(self, HandlerEvent* event) noexcept nogil:
        return False
