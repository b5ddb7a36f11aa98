"""EncodedRequest: a request encoded in Python. ReplyQueue: the queue of its replies for Python."""

from libc.stdint cimport int32_t, uint8_t
from kcore.client.network.client_request cimport ClientRequest, ReceivedFrame, ReplyStatus
from kcore.client.network.connection cimport Failure
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.network.wakeup cimport Wakeup
from kcore.platform.disk cimport iovec
from kcore.platform.sync cimport pthread_mutex_t

# The native side of an EncodedRequest.
cdef struct PendingReply:
    ClientRequest request
    iovec[2] parts
    uint8_t[12] head
    ReplyStatus status
    ReceivedFrame* frame         # held
    size_t body
    Failure failure
    void* owner                  # the EncodedRequest, which refers to itself from submission until its reply is taken
    PendingReply* next


cdef class ReplyQueue:
    cdef pthread_mutex_t lock
    cdef PendingReply* first
    cdef PendingReply* last
    cdef Wakeup wakeup

    cdef void put(self, PendingReply* reply) noexcept nogil


cdef class EncodedRequest:
    cdef PendingReply reply
    cdef NetworkClient client
    cdef ReplyQueue replies
    cdef readonly bytes payload
    cdef public object tag
