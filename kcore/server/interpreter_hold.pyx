"""A debug hook: sleeps natively with the interpreter lock held, as a badly behaved extension module would.

Reached by SIGUSR2 where `kcli.debug.hooks` is on. It proves that the data plane needs no interpreter lock: produce and
fetch go on while no Python code of the process can run.
"""

cdef extern from "<time.h>" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int nanosleep(const timespec* duration, timespec* rest)


def hold_interpreter(int milliseconds) -> None:
    """Returns after `milliseconds`; until then no other thread gets the interpreter lock."""
    cdef timespec duration
    duration.tv_sec = milliseconds // 1000
    duration.tv_nsec = (milliseconds % 1000) * 1_000_000
    # Not `with nogil`: holding it is the point. A signal cuts one sleep short, and the rest is slept too.
    while nanosleep(&duration, &duration) != 0:
        pass
