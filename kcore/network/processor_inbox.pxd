"""What other threads hand to a processor."""

from libc.stdint cimport int32_t, uint64_t
from kcore.network.endpoint cimport Endpoint
from kcore.network.response cimport Response
from kcore.platform.sync cimport pthread_mutex_t

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_t:
        pass
    pthread_t pthread_self()
    int pthread_equal(pthread_t first, pthread_t second)

cdef enum MessageKind:
    MESSAGE_RESPONSE = 0
    MESSAGE_ADOPT = 1            # a new connection, from the acceptor
    MESSAGE_CLOSE = 2            # by an administrator

cdef struct ProcessorMessage:
    ProcessorMessage* next
    MessageKind kind
    uint64_t connection
    Response response            # of MESSAGE_RESPONSE
    int socket                   # of MESSAGE_ADOPT, with what follows
    int32_t listener
    Endpoint client
    Endpoint local

cdef struct Inbox:
    pthread_mutex_t lock
    ProcessorMessage* first
    ProcessorMessage* last
    int wakeup                   # an eventfd
    bint is_closed
    bint has_reader
    pthread_t reader

cdef bint inbox_init(Inbox* inbox) noexcept nogil
cdef void inbox_free(Inbox* inbox) noexcept nogil
# Names the calling thread as the one that reads: what it posts itself needs no wake-up.
cdef void inbox_set_reader(Inbox* inbox) noexcept nogil
cdef ProcessorMessage* message_new(MessageKind kind, uint64_t connection) noexcept nogil
# Gives up a message that nobody will read.
cdef void message_drop(ProcessorMessage* message) noexcept nogil
# Takes the message over in any case; once the inbox is closed it is dropped.
cdef void inbox_post(Inbox* inbox, ProcessorMessage* message) noexcept nogil
# Everything that is there, oldest first.
cdef ProcessorMessage* inbox_take(Inbox* inbox) noexcept nogil
cdef bint inbox_is_empty(Inbox* inbox) noexcept nogil
cdef void inbox_wake(Inbox* inbox) noexcept nogil
# No message is taken in from now on; those that wait are dropped.
cdef void inbox_close(Inbox* inbox) noexcept nogil
