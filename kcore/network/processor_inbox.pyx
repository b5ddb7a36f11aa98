"""The inbox of a processor: responses of handlers and purgatories, and connections from the acceptor.

The eventfd is written only if the inbox was empty and the caller is not the processor itself, which checks its inbox
before it waits. So a produce that completes a long poll on the same processor costs no system call.

Concurrency: one lock, held for a few instructions. Neither the GIL nor another lock is taken under it.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from kcore.network.response cimport response_free
from kcore.platform.epoll cimport EFD_CLOEXEC, EFD_NONBLOCK, eventfd, eventfd_write
from kcore.platform.sync cimport pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock

cdef extern from "<unistd.h>" nogil:
    int close_descriptor "close"(int descriptor)


cdef bint inbox_init(Inbox* inbox) noexcept nogil:
    memset(inbox, 0, sizeof(Inbox))
    pthread_mutex_init(&inbox.lock, NULL)
    inbox.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
    return inbox.wakeup >= 0


cdef void inbox_free(Inbox* inbox) noexcept nogil:
    inbox_close(inbox)
    if inbox.wakeup >= 0:
        close_descriptor(inbox.wakeup)
        inbox.wakeup = -1
    pthread_mutex_destroy(&inbox.lock)


cdef void inbox_set_reader(Inbox* inbox) noexcept nogil:
    pthread_mutex_lock(&inbox.lock)
    inbox.reader = pthread_self()
    inbox.has_reader = True
    pthread_mutex_unlock(&inbox.lock)


cdef ProcessorMessage* message_new(MessageKind kind, uint64_t connection) noexcept nogil:
    cdef ProcessorMessage* message = <ProcessorMessage*>calloc(1, sizeof(ProcessorMessage))
    if message != NULL:
        message.kind = kind
        message.connection = connection
        message.socket = -1
    return message


cdef void message_drop(ProcessorMessage* message) noexcept nogil:
    response_free(&message.response)
    if message.socket >= 0:
        close_descriptor(message.socket)
    free(message)


cdef void inbox_post(Inbox* inbox, ProcessorMessage* message) noexcept nogil:
    cdef bint was_empty
    cdef bint own = False
    pthread_mutex_lock(&inbox.lock)
    if inbox.is_closed:
        pthread_mutex_unlock(&inbox.lock)
        message_drop(message)
        return
    was_empty = inbox.first == NULL
    message.next = NULL
    if was_empty:
        inbox.first = message
    else:
        inbox.last.next = message
    inbox.last = message
    own = inbox.has_reader and pthread_equal(inbox.reader, pthread_self())
    pthread_mutex_unlock(&inbox.lock)
    if was_empty and not own:
        inbox_wake(inbox)


cdef void inbox_wake(Inbox* inbox) noexcept nogil:
    eventfd_write(inbox.wakeup, 1)


cdef ProcessorMessage* inbox_take(Inbox* inbox) noexcept nogil:
    cdef ProcessorMessage* first
    pthread_mutex_lock(&inbox.lock)
    first = inbox.first
    inbox.first = inbox.last = NULL
    pthread_mutex_unlock(&inbox.lock)
    return first


cdef bint inbox_is_empty(Inbox* inbox) noexcept nogil:
    cdef bint is_empty
    pthread_mutex_lock(&inbox.lock)
    is_empty = inbox.first == NULL
    pthread_mutex_unlock(&inbox.lock)
    return is_empty


cdef void inbox_close(Inbox* inbox) noexcept nogil:
    cdef ProcessorMessage* message
    cdef ProcessorMessage* next_message
    pthread_mutex_lock(&inbox.lock)
    inbox.is_closed = True
    pthread_mutex_unlock(&inbox.lock)
    message = inbox_take(inbox)
    while message != NULL:
        next_message = message.next
        message_drop(message)
        message = next_message
