"""Errors of the disk table that pass by themselves and say nothing against the disk.

A write that found no room changed nothing that counts: what it left behind the end of a file is nobody's, and the next
append writes over it. So a full disk is refused, not an end: reading, retention and deletion go on, and appends too once
there is room. That holds for writing only: an fdatasync without room has lost pages, and nobody knows which.
"""

from libc.errno cimport EDQUOT, EMFILE, ENFILE, ENOMEM, ENOSPC


cdef inline bint is_full(int outcome) noexcept nogil:
    """Whether a negated errno says that there is no room, on the device or in somebody's quota."""
    return outcome == -ENOSPC or outcome == -EDQUOT


cdef inline bint lacks_descriptors(int outcome) noexcept nogil:
    """Whether it says that the process or the system has no file descriptor left."""
    return outcome == -EMFILE or outcome == -ENFILE


cdef inline bint is_shortage(int outcome) noexcept nogil:
    """Whether it says that something is lacking for now: descriptors, memory or room."""
    return is_full(outcome) or lacks_descriptors(outcome) or outcome == -ENOMEM
