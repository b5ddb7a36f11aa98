"""Messages from other threads to a processor."""

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
    MESSAGE_CLOSE = 2            # requested by an administrator

cdef struct ProcessorMessage:
    ProcessorMessage* next
    MessageKind kind
    uint64_t connection
    Response response            # of MESSAGE_RESPONSE
    int socket                   # this and the fields below are of MESSAGE_ADOPT
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
# Makes the calling thread the reader. Its own posts need no wake-up.
cdef void inbox_set_reader(Inbox* inbox) noexcept nogil
cdef ProcessorMessage* message_new(MessageKind kind, uint64_t connection) noexcept nogil
# Frees a message and its contents.
cdef void message_drop(ProcessorMessage* message) noexcept nogil
# Takes ownership of the message. After inbox_close it is dropped.
cdef void inbox_post(Inbox* inbox, ProcessorMessage* message) noexcept nogil
# Returns all messages, oldest first, and empties the inbox.
cdef ProcessorMessage* inbox_take(Inbox* inbox) noexcept nogil
cdef bint inbox_is_empty(Inbox* inbox) noexcept nogil
cdef void inbox_wake(Inbox* inbox) noexcept nogil
# Drops the messages in the inbox, and all that are posted later.
cdef void inbox_close(Inbox* inbox) noexcept nogil
