"""The thread that accepts connections."""

from libc.stdint cimport int32_t, int64_t
from kcore.network.connection_quotas cimport ConnectionQuotas
from kcore.network.listener cimport SocketOptions
from kcore.network.processor cimport Processor
from kcore.network.request_channel cimport RequestChannel

cdef struct ListenerState:
    int64_t paused_until_ns      # its connections come too fast; 0: not paused
    bint waits_for_slot          # it has, or the broker has, the maximum number of connections
    bint attempt_is_counted      # the rate already counts the next connection to accept

# A connection that exceeded the rate of its address.
cdef struct DelayedClose:
    int socket
    int64_t due_ns

cdef enum:
    MAX_DELAYED_CLOSES = 1024


cdef class Acceptor:
    cdef int[64] sockets
    cdef int32_t listener_count
    cdef void* processors[256]   # Processor
    cdef list processor_owners
    cdef int32_t processor_count # the processors that get new connections
    cdef int32_t known_processors    # includes those that only keep their existing connections
    cdef int32_t next_processor
    cdef SocketOptions options
    cdef RequestChannel channel
    cdef ConnectionQuotas quotas
    cdef ListenerState[64] states
    cdef DelayedClose[1024] delayed_closes
    cdef int32_t delayed_count
    cdef int epoll
    cdef int wakeup
    cdef int spare               # a descriptor to close when the process has no other left
    cdef int32_t stopping

    cdef int add_processor(self, Processor processor) except -1
    cdef void take_turns_among(self, int32_t count) noexcept
    cdef int watch(self, int descriptor, int datum) except -1
    cdef void loop(self) noexcept nogil
    cdef void accept_from(self, int32_t listener) noexcept nogil
    cdef int wait_timeout_ms(self) noexcept nogil
    cdef int64_t now_ns(self) noexcept nogil
    cdef bint may_accept(self, int32_t listener) noexcept nogil
    cdef void set_watched(self, int32_t listener, bint watched) noexcept nogil
    cdef void resume_listeners(self) noexcept nogil
    cdef void close_later(self, int socket, int64_t delay_ms) noexcept nogil
    cdef void close_delayed(self, bint everything) noexcept nogil
    cdef void wake_processors(self) noexcept nogil
    cdef void hand_to_processor(self, int socket, int32_t listener) noexcept nogil
    cdef bint turn_away(self, int32_t listener) noexcept nogil
