"""Waiter: a thread of the application that waits, without the GIL, for the network thread.

A waiter is on the waiting thread's stack, and in a list that a mutex guards. It is woken through its eventfd. Signals
interrupt `wait_for`, so that Ctrl-C works while a producer's buffer is full.
"""

from libc.stdint cimport int64_t

cdef struct Waiter:
    int event                  # an eventfd
    int64_t wanted             # bytes, or the number of a batch; compared by the list's owner
    void* subject              # the batch waited for, or NULL
    Waiter* next
    Waiter* previous

cdef struct WaitList:
    Waiter* first
    Waiter* last

# The deadline in nanoseconds of CLOCK_MONOTONIC, `timeout_ms` milliseconds from now. With None there is no deadline.
cdef int64_t deadline_after(object timeout_ms) except -1
# Call both with the GIL. `waiter_open` creates the eventfd, `waiter_close` closes it.
cdef int waiter_open(Waiter* waiter) except -1
cdef void waiter_close(Waiter* waiter) noexcept
# Waits for a notification, or until `deadline_ns` (CLOCK_MONOTONIC). True if notified. Raises what a signal's
# handler raises.
cdef bint wait_for(Waiter* waiter, int64_t deadline_ns) except -1
# Call these under the list's mutex.
cdef void waiter_join(WaitList* waiters, Waiter* waiter) noexcept nogil
cdef void waiter_leave(WaitList* waiters, Waiter* waiter) noexcept nogil
cdef void waiter_tell(Waiter* waiter) noexcept nogil
