"""What an application's thread waits on, without the GIL, until another thread has something for it."""

from libc.stdint cimport int32_t, int64_t

cdef enum WaitOutcome:
    WAIT_WOKEN = 0
    WAIT_TIMED_OUT = 1
    WAIT_INTERRUPTED = 2         # a signal came: Python has to see to it


cdef class Wakeup:
    cdef int descriptor
    cdef int32_t is_set          # atomic; saves the system call where it is set already

    cdef void set(self) noexcept nogil
    # Waits until it is set, and resets it; `deadline_ns` is of CLOCK_MONOTONIC.
    cdef WaitOutcome wait(self, int64_t deadline_ns) noexcept nogil
