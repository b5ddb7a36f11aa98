"""Wakeup: lets an application's thread wait, without the GIL, for another thread."""

from libc.stdint cimport int32_t, int64_t

cdef enum WaitOutcome:
    WAIT_WOKEN = 0
    WAIT_TIMED_OUT = 1
    WAIT_INTERRUPTED = 2         # a signal arrived that Python must handle


cdef class Wakeup:
    cdef int descriptor
    cdef int32_t is_set          # atomic; avoids a system call if it is set already

    cdef void set(self) noexcept nogil
    # Waits until it is set, and resets it. `deadline_ns` is in CLOCK_MONOTONIC.
    cdef WaitOutcome wait(self, int64_t deadline_ns) noexcept nogil
