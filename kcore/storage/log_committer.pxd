"""The thread that brings the logs of one directory onto the device for all who wait (`log.flush.group.commit`)."""

from kcore.platform.sync cimport pthread_cond_t, pthread_mutex_t

# Embedded in a log; the maker fills the first two. Everything else is the committer's, under its lock.
cdef struct CommitTicket:
    void* log
    int (*flush)(void* log) noexcept nogil       # onto the device; a negated errno, -EAGAIN to be asked once more
    void (*flushed)(void* listener) noexcept nogil
    void* listener               # told after every flush, whatever came of it; NULL for nobody
    bint queued
    bint in_hands                # of the thread: neither the log nor the listener may go
    bint has_left
    CommitTicket* next           # in the queue
    CommitTicket* next_in_hands

cdef class LogCommitter:
    cdef pthread_mutex_t lock
    cdef pthread_cond_t asked
    cdef pthread_cond_t let_go
    cdef CommitTicket* first
    cdef CommitTicket* last
    cdef bint is_stopping
    cdef object thread

    # Everything that the log has by now is flushed soon, and its listener told.
    cdef void commit(self, CommitTicket* ticket) noexcept nogil
    # Afterwards the log is not touched any more, whoever asks.
    cdef void leave(self, CommitTicket* ticket) noexcept nogil
    cdef void set_listener(self, CommitTicket* ticket, void* listener,
                           void (*flushed)(void* listener) noexcept nogil) noexcept nogil
    # Afterwards this listener is not called any more; another one stays.
    cdef void clear_listener(self, CommitTicket* ticket, void* listener) noexcept nogil
    cdef CommitTicket* take_all(self) noexcept nogil
    cdef bint flush_all(self, CommitTicket* ticket) noexcept nogil
    cdef void enqueue(self, CommitTicket* ticket) noexcept nogil
    cdef void wait_until_let_go(self, CommitTicket* ticket) noexcept nogil
    cdef void work(self) noexcept nogil
    cdef void pause(self) noexcept nogil
