"""Blocks signals in native threads."""

cdef extern from "<signal.h>" nogil:
    ctypedef struct sigset_t:
        pass
    int sigfillset(sigset_t* signals)
    int pthread_sigmask(int how, const sigset_t* signals, sigset_t* previous)
    enum:
        SIG_BLOCK


cdef inline void block_signals() noexcept nogil:
    """Leaves signals to the main thread. A signal that interrupts this thread would not wake the main thread."""
    cdef sigset_t signals
    sigfillset(&signals)
    pthread_sigmask(SIG_BLOCK, &signals, NULL)
