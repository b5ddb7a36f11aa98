"""Implementation of Waiter. Each wait uses a new eventfd, because waits are rare and long."""

from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrno
from libc.errno cimport EINTR, errno
from libc.stdint cimport INT64_MAX, int64_t, uint64_t
from posix.unistd cimport close, read, write
from kcore.platform.epoll cimport EFD_CLOEXEC, EFD_NONBLOCK, POLLIN, eventfd, poll, pollfd
from kcore.platform.sync cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef enum:
    # Deadlines are rounded up to milliseconds for poll. Longer waits are divided into pieces of this length.
    LONGEST_POLL_MS = 1_000_000

cdef double LONGEST_MS = 1e12
cdef int64_t NS_PER_MS = 1_000_000


cdef inline int64_t monotonic_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec


cdef int64_t deadline_after(object timeout_ms) except -1:
    if timeout_ms is None:
        return INT64_MAX
    return monotonic_ns() + <int64_t>(min(max(timeout_ms, 0), LONGEST_MS) * NS_PER_MS)


cdef int waiter_open(Waiter* waiter) except -1:
    waiter.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    waiter.wanted = 0
    waiter.subject = NULL
    waiter.next = waiter.previous = NULL
    if waiter.event < 0:
        PyErr_SetFromErrno(OSError)
    return 0


cdef void waiter_close(Waiter* waiter) noexcept:
    close(waiter.event)


cdef bint wait_for(Waiter* waiter, int64_t deadline_ns) except -1:
    cdef pollfd descriptor
    cdef uint64_t count
    cdef int64_t left_ns
    cdef int answer, error
    descriptor.fd = waiter.event
    descriptor.events = POLLIN
    while True:
        with nogil:
            left_ns = max(deadline_ns - monotonic_ns(), <int64_t>0)
            descriptor.revents = 0
            answer = poll(&descriptor, 1, <int>min((left_ns + 999_999) // 1_000_000, <int64_t>LONGEST_POLL_MS))
            error = errno
            if answer > 0:
                read(waiter.event, &count, sizeof(count))
        if answer > 0:
            return True
        if answer < 0 and error != EINTR:
            PyErr_SetFromErrno(OSError)
        PyErr_CheckSignals()
        if monotonic_ns() >= deadline_ns:
            return False


cdef void waiter_join(WaitList* waiters, Waiter* waiter) noexcept nogil:
    waiter.next = NULL
    waiter.previous = waiters.last
    if waiters.last == NULL:
        waiters.first = waiter
    else:
        waiters.last.next = waiter
    waiters.last = waiter


cdef void waiter_leave(WaitList* waiters, Waiter* waiter) noexcept nogil:
    if waiter.previous == NULL:
        waiters.first = waiter.next
    else:
        waiter.previous.next = waiter.next
    if waiter.next == NULL:
        waiters.last = waiter.previous
    else:
        waiter.next.previous = waiter.previous


cdef void waiter_tell(Waiter* waiter) noexcept nogil:
    cdef uint64_t one = 1
    write(waiter.event, &one, sizeof(one))
