"""The face of whatever lets a handler thread run Python code on behalf of a thread without the GIL."""


cdef class HandlerEventSink:
    """Base of RequestChannel; on its own it refuses everything, as a closed sink does."""

    cdef bint push_event(self, HandlerEvent* event) noexcept nogil:
        return False
