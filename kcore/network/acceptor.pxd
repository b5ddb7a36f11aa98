"""The thread that accepts connections."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.listener cimport SocketOptions
from kcore.network.processor cimport Processor
from kcore.network.request_channel cimport RequestChannel


cdef class Acceptor:
    cdef int[64] sockets
    cdef int32_t listener_count
    cdef void* processors[256]   # Processor
    cdef list processor_owners
    cdef int32_t processor_count # how many of them get new connections
    cdef int32_t next_processor
    cdef SocketOptions options
    cdef RequestChannel channel
    cdef int64_t* connection_count
    cdef int64_t max_connections
    cdef int epoll
    cdef int wakeup
    cdef int spare               # a descriptor to give up when there are no others
    cdef int32_t stopping

    cdef int add_processor(self, Processor processor) except -1
    cdef void take_turns_among(self, int32_t count) noexcept
    cdef int watch(self, int descriptor, int datum) except -1
    cdef void loop(self) noexcept nogil
    cdef void accept_from(self, int32_t listener) noexcept nogil
    cdef void hand_to_processor(self, int socket, int32_t listener) noexcept nogil
    cdef bint turn_away(self, int32_t listener) noexcept nogil
