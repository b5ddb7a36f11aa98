"""NetworkThread: the thread that runs a client's network."""

from libc.stdint cimport int32_t
from kcore.client.network.network_client cimport NetworkClient


cdef class NetworkThread:
    cdef readonly NetworkClient client
    cdef object ended            # held while the thread runs
    cdef bint is_started
    cdef int32_t is_closing      # atomic
