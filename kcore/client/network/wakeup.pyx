"""Wakeup: an eventfd between a thread that waits and those that have something for it.

Unlike a condition variable it lets a signal end the wait, so that Ctrl-C works at once; who waits is the one to look, after
each wait, whether what it waits for is there: a wake-up says only that something has changed.

Concurrency: set by any thread, GIL or not; waited on by one at a time.
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
    # A signal that comes just before the wait does not end it: so long at most goes by before Python sees to it.
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
            # Read before it is reset: whoever sets it afterwards writes again.
            eventfd_read(self.descriptor, &word)
            atomic_store_32(&self.is_set, 0)
            return WAIT_WOKEN
        if ready < 0 or wait_ms > LONGEST_WAIT_MS:
            return WAIT_INTERRUPTED
        return WAIT_TIMED_OUT

    def notify(self) -> None:
        """Ends the wait of another thread, or the next one."""
        with nogil:
            self.set()

    def wait_for(self, timeout_ms: float) -> bool:
        """Waits without the GIL: True once it was set, False when the time is over. Signals are seen to meanwhile."""
        cdef int64_t deadline_ns = monotonic_ns() + <int64_t>(min(timeout_ms, 1e12) * NANOSECONDS_PER_MS)
        cdef WaitOutcome outcome = WAIT_INTERRUPTED
        while outcome == WAIT_INTERRUPTED:
            with nogil:
                outcome = self.wait(deadline_ns)
            PyErr_CheckSignals()
        return outcome == WAIT_WOKEN
