"""A debug hook: sleeps in native code with the GIL held, as a badly behaved extension module would.

SIGUSR2 triggers it if `kcli.debug.hooks` is on. It proves that the data plane needs no GIL: produce and fetch continue
while no Python code of the process can run.
"""

cdef extern from "<time.h>" nogil:
    struct timespec:
        long tv_sec
        long tv_nsec
    int nanosleep(const timespec* duration, timespec* rest)


def hold_interpreter(int milliseconds) -> None:
    """Returns after `milliseconds`. Until then no other thread gets the GIL."""
    cdef timespec duration
    duration.tv_sec = milliseconds // 1000
    duration.tv_nsec = (milliseconds % 1000) * 1_000_000
        # Not `with nogil`: the purpose is to hold it. After a signal, the sleep continues for the remaining time.
    while nanosleep(&duration, &duration) != 0:
        pass
