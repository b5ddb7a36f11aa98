"""Wakeup: an eventfd between a waiting thread and the threads that wake it.

Unlike with a condition variable, a signal ends the wait, so Ctrl-C works at once. A wake-up only says that something
has changed. The waiting thread must check its condition after each wait.

Concurrency: any thread may set it, with or without the GIL. One thread at a time may wait.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.errno cimport errno
from libc.stdint cimport int64_t, uint64_t
from kcore.client.network.network_client cimport monotonic_ns
from kcore.platform.epoll cimport EFD_CLOEXEC, EFD_NONBLOCK, POLLIN, eventfd, eventfd_read, eventfd_write, poll, pollfd
from kcore.platform.sync cimport atomic_load_32, atomic_store_32, atomic_swap_32_if

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)

cdef enum:
    NANOSECONDS_PER_MS = 1000000
    # A signal just before the wait does not interrupt it. This limits the delay until Python handles the signal.
    LONGEST_WAIT_MS = 1000


cdef class Wakeup:
    def __cinit__(self):
        self.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
        if self.descriptor < 0:
            raise OSError(errno, "cannot create an eventfd")

    def __dealloc__(self):
        if self.descriptor >= 0:
            close_descriptor(self.descriptor)

    cdef void set(self) noexcept nogil:
        if atomic_swap_32_if(&self.is_set, 0, 1):
            eventfd_write(self.descriptor, 1)

    cdef WaitOutcome wait(self, int64_t deadline_ns) noexcept nogil:
        cdef pollfd watched
        cdef uint64_t word
        cdef int64_t wait_ms
        cdef int ready
        wait_ms = (deadline_ns - monotonic_ns() + NANOSECONDS_PER_MS - 1) // NANOSECONDS_PER_MS
        if wait_ms < 0:
            wait_ms = 0
        watched.fd = self.descriptor
        watched.events = POLLIN
        watched.revents = 0
        ready = poll(&watched, 1, <int>wait_ms if wait_ms < LONGEST_WAIT_MS else LONGEST_WAIT_MS)
        if ready > 0:
            # Read before the reset, so that a later `set` writes again.
            eventfd_read(self.descriptor, &word)
            atomic_store_32(&self.is_set, 0)
            return WAIT_WOKEN
        if ready < 0 or wait_ms > LONGEST_WAIT_MS:
            return WAIT_INTERRUPTED
        return WAIT_TIMED_OUT

    def notify(self) -> None:
        """End the wait of another thread, or its next one."""
        with nogil:
            self.set()

    def wait_for(self, timeout_ms: float) -> bool:
        """Wait without the GIL. Returns True after a wake-up, False after the timeout. Handles signals meanwhile."""
        cdef int64_t deadline_ns = monotonic_ns() + <int64_t>(min(timeout_ms, 1e12) * NANOSECONDS_PER_MS)
        cdef WaitOutcome outcome = WAIT_INTERRUPTED
        while outcome == WAIT_INTERRUPTED:
            with nogil:
                outcome = self.wait(deadline_ns)
            PyErr_CheckSignals()
        return outcome == WAIT_WOKEN
