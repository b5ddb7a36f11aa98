"""Process settings of the kernel (prctl(2)) that Python's standard library lacks."""

from libc.errno cimport errno

import os

cdef extern from "<sys/prctl.h>" nogil:
    int prctl(int option, unsigned long argument, ...)
    enum:
        PR_SET_PDEATHSIG
        PR_SET_NAME


def signal_when_parent_dies(int number) -> None:
    """Has the kernel send this process the signal when the thread that forked it ends.

    There is no signal if the parent has ended already, so compare `os.getppid()` afterwards.
    """
    if prctl(PR_SET_PDEATHSIG, <unsigned long>number) != 0:
        raise OSError(errno, os.strerror(errno))


def set_process_name(str name) -> None:
    """Sets the name of this thread in `ps` and `top`, cut to the kernel's 15 bytes."""
    cdef bytes encoded = name.encode()[:15]
    prctl(PR_SET_NAME, <unsigned long><const char*>encoded)
