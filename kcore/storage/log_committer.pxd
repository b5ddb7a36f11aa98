"""Group commit: the thread that flushes the logs of one directory (`log.flush.group.commit`)."""

from kcore.platform.sync cimport pthread_cond_t, pthread_mutex_t

# Embedded in a log, which sets the first two fields. The committer owns the others, under its lock.
cdef struct CommitTicket:
    void* log
    int (*flush)(void* log) noexcept nogil       # returns 0 or a negated errno; -EAGAIN: try again later
    void (*flushed)(void* listener) noexcept nogil
    void* listener               # called after every flush, also a failed one; NULL for none
    bint queued
    bint in_hands                # the thread is using it: log and listener must stay valid
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

    # Requests a flush of everything appended so far. The listener is called after it.
    cdef void commit(self, CommitTicket* ticket) noexcept nogil
    # Removes the log. Afterwards the committer does not touch it any more.
    cdef void leave(self, CommitTicket* ticket) noexcept nogil
    cdef void set_listener(self, CommitTicket* ticket, void* listener,
                           void (*flushed)(void* listener) noexcept nogil) noexcept nogil
    # Afterwards this listener is not called any more. Another listener stays.
    cdef void clear_listener(self, CommitTicket* ticket, void* listener) noexcept nogil
    cdef CommitTicket* take_all(self) noexcept nogil
    cdef bint flush_all(self, CommitTicket* ticket) noexcept nogil
    cdef void enqueue(self, CommitTicket* ticket) noexcept nogil
    cdef void wait_until_let_go(self, CommitTicket* ticket) noexcept nogil
    cdef void work(self) noexcept nogil
    cdef void pause(self) noexcept nogil
