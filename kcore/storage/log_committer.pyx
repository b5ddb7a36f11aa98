"""Group commit: one thread a log directory flushes whatever was appended, and those who wait for it are answered together.

An append puts its log into the queue, unless it stands there already, and returns; its producer's answer waits for the
log's recovery point to pass it. The thread takes the whole queue, and flushes one log after the other: each flush covers
every append that came before it, so that the number of syncs depends on the device and not on the number of producers.
While it runs, the next group gathers.

Crash policy: what was answered is on the device; what was not may be there or not. A flush that fails has taken its
log offline before the listener hears of it, and nobody is answered but with an error.

Concurrency: one lock around queue and tickets, under which nothing else is taken. A log leaves, and a listener is
cleared, only while the thread does not have the ticket in its hands; the thread never needs the GIL.
"""

import threading

from libc.errno cimport EAGAIN
from kcore.platform.signals cimport block_signals
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, clock_gettime, pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init,
    pthread_cond_signal, pthread_cond_timedwait, pthread_cond_wait, pthread_condattr_destroy, pthread_condattr_init,
    pthread_condattr_setclock, pthread_condattr_t, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock, timespec,
)

cdef enum:
    NANOSECONDS = 1000000000
    PAUSE_NS = 50000000          # before a flush that lacked descriptors is tried again


cdef class LogCommitter:
    """`start` it before logs are given to it, `shutdown` it after they are closed."""

    def __cinit__(self):
        cdef pthread_condattr_t attributes
        pthread_mutex_init(&self.lock, NULL)
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&self.asked, &attributes)
        pthread_condattr_destroy(&attributes)
        pthread_cond_init(&self.let_go, NULL)

    def __dealloc__(self):
        pthread_cond_destroy(&self.asked)
        pthread_cond_destroy(&self.let_go)
        pthread_mutex_destroy(&self.lock)

    # --- the logs' side ---------------------------------------------------------------------------------------------

    cdef void commit(self, CommitTicket* ticket) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        if not ticket.queued and not ticket.has_left:
            self.enqueue(ticket)
            pthread_cond_signal(&self.asked)
        pthread_mutex_unlock(&self.lock)

    cdef void enqueue(self, CommitTicket* ticket) noexcept nogil:
        ticket.queued = True
        ticket.next = NULL
        if self.last != NULL:
            self.last.next = ticket
        else:
            self.first = ticket
        self.last = ticket

    cdef void leave(self, CommitTicket* ticket) noexcept nogil:
        cdef CommitTicket** link
        cdef CommitTicket* previous = NULL
        pthread_mutex_lock(&self.lock)
        ticket.has_left = True
        self.wait_until_let_go(ticket)
        if ticket.queued:
            link = &self.first
            while link[0] != ticket:
                previous = link[0]
                link = &previous.next
            link[0] = ticket.next
            if self.last == ticket:
                self.last = previous
            ticket.queued = False
        pthread_mutex_unlock(&self.lock)

    cdef void set_listener(self, CommitTicket* ticket, void* listener,
                           void (*flushed)(void* listener) noexcept nogil) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        self.wait_until_let_go(ticket)
        ticket.listener = listener
        ticket.flushed = flushed
        pthread_mutex_unlock(&self.lock)

    cdef void clear_listener(self, CommitTicket* ticket, void* listener) noexcept nogil:
        pthread_mutex_lock(&self.lock)
        self.wait_until_let_go(ticket)
        if ticket.listener == listener:
            ticket.listener = NULL
        pthread_mutex_unlock(&self.lock)

    cdef void wait_until_let_go(self, CommitTicket* ticket) noexcept nogil:
        while ticket.in_hands:
            pthread_cond_wait(&self.let_go, &self.lock)

    # --- the thread -------------------------------------------------------------------------------------------------

    cdef CommitTicket* take_all(self) noexcept nogil:
        """The queue, now in the hands of the caller, who holds the lock."""
        cdef CommitTicket* taken = self.first
        cdef CommitTicket* ticket = taken
        while ticket != NULL:
            ticket.queued = False
            ticket.in_hands = True
            ticket.next_in_hands = ticket.next
            ticket = ticket.next
        self.first = self.last = NULL
        return taken

    cdef bint flush_all(self, CommitTicket* ticket) noexcept nogil:
        """Flushes and tells, one log after the other; True when one of them has to be tried again after a while."""
        cdef CommitTicket* following
        cdef bint is_short = False
        cdef int outcome
        while ticket != NULL:
            outcome = ticket.flush(ticket.log)
            if outcome != -EAGAIN and ticket.listener != NULL:
                ticket.flushed(ticket.listener)
            pthread_mutex_lock(&self.lock)
            following = ticket.next_in_hands
            ticket.in_hands = False
            if outcome == -EAGAIN and not ticket.queued and not ticket.has_left:
                self.enqueue(ticket)
                is_short = True
            pthread_cond_broadcast(&self.let_go)
            pthread_mutex_unlock(&self.lock)
            ticket = following
        return is_short

    cdef void pause(self) noexcept nogil:
        cdef timespec deadline
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_nsec += PAUSE_NS
        if deadline.tv_nsec >= NANOSECONDS:
            deadline.tv_nsec -= NANOSECONDS
            deadline.tv_sec += 1
        pthread_cond_timedwait(&self.asked, &self.lock, &deadline)

    cdef void work(self) noexcept nogil:
        cdef CommitTicket* taken
        cdef bint is_short
        block_signals()
        pthread_mutex_lock(&self.lock)
        while not self.is_stopping:
            taken = self.take_all()
            if taken == NULL:
                pthread_cond_wait(&self.asked, &self.lock)
                continue
            pthread_mutex_unlock(&self.lock)
            is_short = self.flush_all(taken)
            pthread_mutex_lock(&self.lock)
            if is_short and not self.is_stopping:
                self.pause()
        pthread_mutex_unlock(&self.lock)

    # --- Python's face ----------------------------------------------------------------------------------------------

    def run(self):
        """The thread's whole life."""
        with nogil:
            self.work()

    def start(self):
        """Starts the thread."""
        self.thread = threading.Thread(target=self.run, name="log-committer", daemon=True)
        self.thread.start()

    def shutdown(self):
        """Ends the thread; what was not flushed yet is left to whoever closes the logs. Calling it again does nothing."""
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.is_stopping = True
            pthread_cond_signal(&self.asked)
            pthread_mutex_unlock(&self.lock)
        if self.thread is not None:
            self.thread.join()
            self.thread = None
