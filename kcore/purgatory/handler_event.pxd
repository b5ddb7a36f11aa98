"""Work that native threads leave for a handler thread to do in Python.

A reaper or a processor must never wait for the GIL, so it pushes an event to a sink. A handler thread, which holds the
GIL anyway, runs it. The sink's implementation is in a higher layer (RequestChannel); only its interface is here.
"""


cdef struct HandlerEvent:
    HandlerEvent* next           # used by the sink while the event is queued
    # A handler thread calls `run` once, with the GIL. If the sink closes before, it calls `drop`. Both free the event.
    void (*run)(HandlerEvent* event) noexcept
    void (*drop)(HandlerEvent* event) noexcept nogil


cdef class HandlerEventSink:
    # Takes over the event, from any thread. Returns False, without taking it, if the sink is closed.
    cdef bint push_event(self, HandlerEvent* event) noexcept nogil
