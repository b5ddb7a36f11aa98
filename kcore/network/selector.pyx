"""Selector: one epoll for the sockets of a processor and the eventfd of its inbox.

If `kcli.network.spin.us` allows it, a wait polls in a loop first. This costs less than waking a sleeping thread if an
event is near. A wait that spinning would have covered sets the spin time to its maximum, and every longer wait halves
it, so that an idle processor does not keep a core busy.

Concurrency: a selector belongs to its processor's thread.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset
from kcore.network.processor_inbox cimport Inbox, inbox_is_empty
from kcore.platform.disk cimport DiskOperations
from kcore.platform.epoll cimport (
    EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLLIN, epoll_create1, epoll_ctl, epoll_event, epoll_wait,
)

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)

cdef enum:
    SHORTEST_SPIN_NS = 1000


cdef bint selector_init(Selector* selector, Inbox* inbox) noexcept nogil:
    selector.inbox = inbox
    selector.epoll = epoll_create1(EPOLL_CLOEXEC)
    return selector.epoll >= 0 and selector_add(selector, inbox.wakeup, WAKEUP, EPOLLIN)


cdef void selector_free(Selector* selector) noexcept nogil:
    if selector.epoll >= 0:
        close_descriptor(selector.epoll)
        selector.epoll = -1


cdef bint control(Selector* selector, int operation, int socket, uint64_t datum, uint32_t interest) noexcept nogil:
    cdef epoll_event event
    memset(&event, 0, sizeof(event))
    event.events = interest
    event.data.u64 = datum
    return epoll_ctl(selector.epoll, operation, socket, &event) == 0


cdef bint selector_add(Selector* selector, int socket, uint64_t datum, uint32_t interest) noexcept nogil:
    return control(selector, EPOLL_CTL_ADD, socket, datum, interest)


cdef void selector_modify(Selector* selector, int socket, uint64_t datum, uint32_t interest) noexcept nogil:
    control(selector, EPOLL_CTL_MOD, socket, datum, interest)


cdef int spin(Selector* selector, epoll_event* events, const DiskOperations* clock, int64_t started_ns) noexcept nogil:
    cdef int ready
    while True:
        ready = epoll_wait(selector.epoll, events, EVENTS, 0)
        if ready != 0 or not inbox_is_empty(selector.inbox):
            return ready
        if clock.monotonic_ns(clock.context) - started_ns >= selector.spin_ns:
            return 0


cdef void adapt_spin(Selector* selector, int64_t waited_ns) noexcept nogil:
    if waited_ns <= selector.max_spin_ns:
        selector.spin_ns = selector.max_spin_ns
    else:
        selector.spin_ns = selector.spin_ns // 2 if selector.spin_ns > SHORTEST_SPIN_NS else 0


cdef int selector_select(Selector* selector, epoll_event* events, int timeout_ms, const DiskOperations* clock,
                         int64_t* now_ns) noexcept nogil:
    cdef int64_t started_ns = now_ns[0]
    cdef int ready = 0
    cdef bint may_wait = timeout_ms != 0
    if may_wait and selector.spin_ns > 0:
        ready = spin(selector, events, clock, started_ns)
        if not inbox_is_empty(selector.inbox):
            timeout_ms = 0
    if ready == 0:
        ready = epoll_wait(selector.epoll, events, EVENTS, timeout_ms)
    now_ns[0] = clock.monotonic_ns(clock.context)
    if may_wait and selector.max_spin_ns > 0:
        adapt_spin(selector, now_ns[0] - started_ns)
    return ready if ready > 0 else 0
