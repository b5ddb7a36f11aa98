"""Keeping signals away from native threads."""

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    int sigfillset(sigset_t* signals)
    int pthread_sigmask(int how, const sigset_t* signals, sigset_t* previous)
    enum:
        SIG_BLOCK


cdef inline void block_signals() noexcept nogil:
    """Signals are the main thread's: one that interrupted this thread would wake nobody who can handle it."""
    cdef sigset_t signals
    sigfillset(&signals)
    pthread_sigmask(SIG_BLOCK, &signals, NULL)
