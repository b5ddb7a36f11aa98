"""What native threads leave for a handler thread to do in Python.

A reaper or a processor must never wait for the GIL, so it pushes an event to a sink; a handler thread, which holds the
GIL anyway, runs it. The sink's implementation stands above this floor (RequestChannel): only its face is here.
"""


cdef struct HandlerEvent:
    HandlerEvent* next           # the sink's own while the event is queued
    # Called once, with the GIL, by a handler thread; or `drop` when the sink closes before that. Either frees the event.
    void (*run)(HandlerEvent* event) noexcept
    void (*drop)(HandlerEvent* event) noexcept nogil


cdef class HandlerEventSink:
    # Takes the event over, from any thread. Answers False, having taken nothing, when the sink is closed.
    cdef bint push_event(self, HandlerEvent* event) noexcept nogil
