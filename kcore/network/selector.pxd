"""Waits for a processor's sockets and its inbox."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from kcore.network.processor_inbox cimport Inbox
from kcore.platform.disk cimport DiskOperations
from kcore.platform.epoll cimport epoll_event

cdef enum:
    WAKEUP = 0                   # epoll data of the inbox; no connection has this id
    EVENTS = 256                 # the maximum number of events that one call returns

cdef struct Selector:
    int epoll
    Inbox* inbox
    int64_t max_spin_ns          # kcli.network.spin.us
    int64_t spin_ns              # how long the next call spins before it blocks

# Returns False and sets errno if no descriptors are left.
cdef bint selector_init(Selector* selector, Inbox* inbox) noexcept nogil
cdef void selector_free(Selector* selector) noexcept nogil
cdef bint selector_add(Selector* selector, int socket, uint64_t datum, uint32_t interest) noexcept nogil
cdef void selector_modify(Selector* selector, int socket, uint64_t datum, uint32_t interest) noexcept nogil
# Waits for events, a message in the inbox, or the timeout. Fills in `events` and sets *now_ns to the present time.
cdef int selector_select(Selector* selector, epoll_event* events, int timeout_ms, const DiskOperations* clock,
                         int64_t* now_ns) noexcept nogil
