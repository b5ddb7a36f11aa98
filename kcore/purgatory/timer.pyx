"""Timers for the coordinators: session timeouts, rebalance delays, waiting joins.

The reaper must never wait for the GIL, so it pushes expired callbacks to a sink (the request channel), and a handler
thread runs them. A callback is settled exactly once, by the first of these under the GIL: `cancel`, `complete`, or the
handler thread. `cancel` succeeds even after the delay, as long as no handler thread has begun to run the callback.

Ownership: the timer holds every callback that may still fire. The native part is reference-counted. It learns under the
GIL that its callback is gone.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from kcore.purgatory.delayed_operation cimport (
    DelayedOperation, operation_acquire, operation_init, operation_release,
)
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink
from kcore.purgatory.purgatory cimport Purgatory

from kcore.logger import get_logger

LOG = get_logger("kcore.purgatory.timer")


cdef bint never_by_itself(DelayedOperation* operation) noexcept nogil:
    return False


cdef void push_when_expired(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef CallbackOperation* native = <CallbackOperation*>operation.context
    if not expired:
        return
    operation_acquire(operation)
    if not (<HandlerEventSink>native.sink).push_event(&native.event):
        operation_release(operation)


cdef void free_callback(DelayedOperation* operation) noexcept nogil:
    free(operation.context)


cdef void run_callback(HandlerEvent* event) noexcept:
    cdef CallbackOperation* native = <CallbackOperation*>event
    cdef TimerHandle handle
    if native.handle != NULL:
        handle = <TimerHandle>native.handle  # own reference: fire() drops the timer's
        handle.fire()
    operation_release(&native.operation)


cdef void drop_callback(HandlerEvent* event) noexcept nogil:
    operation_release(&(<CallbackOperation*>event).operation)


cdef class TimerHandle:
    """The result of `Timer.schedule`. At most one of its two callables runs, at most once."""

    def __dealloc__(self):
        if self.native != NULL:
            self.native.handle = NULL
            operation_release(&self.native.operation)

    cdef bint settle(self):
        """Settles the callback and takes it out of the wheel. Returns False if it was settled before."""
        cdef CallbackOperation* native = self.native
        cdef Purgatory purgatory = self.timer.purgatory
        cdef bint was_waiting
        if self.is_settled:
            return False
        self.is_settled = True
        with nogil:
            was_waiting = purgatory.complete_by_force(&native.operation, False)
        if was_waiting:
            self.timer.live.discard(self)
        return True

    def cancel(self) -> bool:
        """True: neither callable will run. False: one has run or begun, or the callback was cancelled before."""
        return self.settle()

    def complete(self) -> bool:
        """Runs `on_complete` now, on this thread, unless the callback is settled. Returns whether it did."""
        if not self.settle():
            return False
        if self.on_complete is not None:
            self.on_complete()
        return True

    @property
    def settled(self) -> bool:
        """Whether the callback was cancelled, completed, or has fired."""
        return self.is_settled

    cdef void fire(self):
        """Runs `on_expiration`. A handler thread calls this after the wheel and the sink have dropped the callback."""
        self.timer.live.discard(self)
        if self.is_settled:
            return
        self.is_settled = True
        try:
            self.on_expiration()
        except Exception as error:
            LOG.error("A delayed callback failed: %r", error, cause=error)


cdef class Timer:
    """Schedules callables. `sink` is the request channel, whose handler threads run them."""

    def __init__(self, HandlerEventSink sink not None, str name="timer", Purgatory purgatory=None):
        self.sink = sink
        self.live = set()
        if purgatory is None:
            purgatory = Purgatory(name)
            purgatory.start()
        self.purgatory = purgatory
        purgatory.kept = sink

    def schedule(self, int64_t delay_ms, on_expiration, on_complete=None) -> TimerHandle:
        """Runs `on_expiration` on a handler thread after `delay_ms`, unless it is cancelled or completed before."""
        cdef TimerHandle handle = TimerHandle.__new__(TimerHandle)
        cdef CallbackOperation* native = <CallbackOperation*>malloc(sizeof(CallbackOperation))
        cdef Purgatory purgatory = self.purgatory
        if native == NULL:
            raise MemoryError
        native.event.run = run_callback
        native.event.drop = drop_callback
        native.handle = <void*>handle
        native.sink = <void*>self.sink
        native.operation.context = native
        native.operation.try_complete = never_by_itself
        native.operation.complete = push_when_expired
        native.operation.release = free_callback
        handle.timer = self
        handle.on_expiration = on_expiration
        handle.on_complete = on_complete
        self.live.add(handle)
        operation_init(&native.operation)
        handle.native = native
        with nogil:
            purgatory.begin(&native.operation, NULL, 0, delay_ms)
        return handle

    @property
    def scheduled(self) -> int:
        """The number of callbacks that may still fire, including some that were cancelled just before they run."""
        return len(self.live)

    def shutdown(self) -> None:
        """Cancels the remaining callbacks and ends the reaper."""
        for handle in list(self.live):
            handle.cancel()
        self.purgatory.shutdown()
        self.live.clear()
