"""Errors that are temporary and do not mean that the disk failed.

A write on a full disk changes nothing that is visible: bytes beyond the end of a file are ignored, and the next append
overwrites them. So the broker refuses appends while the disk is full, and reads, retention and deletion continue. This
holds for writes only: an fdatasync that fails for lack of space may have lost any page.
"""

from libc.errno cimport EDQUOT, EMFILE, ENFILE, ENOMEM, ENOSPC


cdef inline bint is_full(int outcome) noexcept nogil:
    """Whether a negated errno means that the device or a quota is full."""
    return outcome == -ENOSPC or outcome == -EDQUOT


cdef inline bint lacks_descriptors(int outcome) noexcept nogil:
    """Whether a negated errno means that the process or the system has no file descriptor left."""
    return outcome == -EMFILE or outcome == -ENFILE


cdef inline bint is_shortage(int outcome) noexcept nogil:
    """Whether a negated errno means a temporary lack of descriptors, memory or disk space."""
    return is_full(outcome) or lacks_descriptors(outcome) or outcome == -ENOMEM
