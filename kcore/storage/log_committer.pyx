"""Group commit: one thread per log directory flushes all appended records, and waiting requests are answered together.

An append queues its log, unless it is queued already, and returns. The producer's response waits until the log's
recovery point passes the append. The thread takes the whole queue and flushes one log after the other. Each flush
covers all appends before it, so the number of syncs depends on the device and not on the number of producers. Meanwhile
the next group gathers.

Crash policy: acknowledged records are on the device; others may or may not be. A failed flush takes its log offline
before the listener is called, so requests only get an error.

Concurrency: one lock guards queue and tickets; no other lock is taken under it. `leave`, `set_listener` and
`clear_listener` wait while the thread uses the ticket. The thread never needs the GIL.
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
    PAUSE_NS = 50000000          # delay before a flush that lacked descriptors is repeated


cdef class LogCommitter:
    """Call `start` before you pass it to logs, and `shutdown` after they are closed."""

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
        """Takes the whole queue and marks its tickets as in use. The caller holds the lock."""
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
        """Flushes each log and calls its listener. Returns whether one of them has to be tried again after a pause."""
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

    # --- Python interface -------------------------------------------------------------------------------------------

    def run(self):
        """The thread's main loop."""
        with nogil:
            self.work()

    def start(self):
        """Starts the thread."""
        self.thread = threading.Thread(target=self.run, name="log-committer", daemon=True)
        self.thread.start()

    def shutdown(self):
        """Ends the thread. Unflushed records are flushed when their logs are closed. Does nothing when called again."""
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.is_stopping = True
            pthread_cond_signal(&self.asked)
            pthread_mutex_unlock(&self.lock)
        if self.thread is not None:
            self.thread.join()
            self.thread = None
