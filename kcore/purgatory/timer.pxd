"""Python callables that run after a delay, on a handler thread."""

from kcore.purgatory.delayed_operation cimport DelayedOperation
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink
from kcore.purgatory.purgatory cimport Purgatory

cdef struct CallbackOperation:
    HandlerEvent event           # first: the sink queues a pointer to it
    DelayedOperation operation
    void* handle                 # TimerHandle; NULL once it is freed; accessed with the GIL only
    void* sink                   # HandlerEventSink


cdef class Timer:
    cdef Purgatory purgatory
    cdef HandlerEventSink sink
    cdef set live


cdef class TimerHandle:
    cdef CallbackOperation* native
    cdef Timer timer
    cdef object on_expiration
    cdef object on_complete
    cdef bint is_settled

    cdef bint settle(self)
    cdef void fire(self)
