"""What a process can ask of the kernel about itself (prctl(2)), and Python's standard library does not offer."""

from libc.errno cimport errno

import os

cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, unsigned long argument, ...)
    enum:
        PR_SET_PDEATHSIG
        PR_SET_NAME


def signal_when_parent_dies(int number) -> None:
    """Has the kernel send this process the signal when the thread that forked it ends.

    The parent may have ended already, of which no signal comes: the caller compares `os.getppid()` afterwards.
    """
    if prctl(PR_SET_PDEATHSIG, <unsigned long>number) != 0:
        raise OSError(errno, os.strerror(errno))


def set_process_name(str name) -> None:
    """What `ps` and `top` show of this thread, cut to the kernel's 15 bytes."""
    cdef bytes encoded = name.encode()[:15]
    prctl(PR_SET_NAME, <unsigned long><const char*>encoded)
