"""RequestChannel: what the processors do not finish themselves waits here for a handler thread.

Bounds: `queued.max.requests` here; a processor is told that the channel is full and leaves the request in the connection's
buffer, and is woken when there is room. `queued.max.request.bytes` bounds the MemoryPool, where a request counts from
before it is whole until it is answered; whatever is whole is let in here, for its buffer can then be given up.

Concurrency: the lock is held for a few instructions, always without the GIL. A handler takes its share of the whole
queue with one acquisition of the GIL: all of it when it is the only one free, otherwise an equal part, so that a slow
request does not hold up others while handlers stand idle. Events of native threads (expired timers, log lines) come
before requests and are run inside `receive`; they are few and bounded by what made them.
"""

import time

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from kcore.metrics.histogram cimport count
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint
from kcore.network.epoll cimport eventfd_write
from kcore.network.memory_pool cimport MemoryPool
from kcore.network.request cimport (
    QueuedRequest, Request, ResponseSink, charge_of, queued_request_new, request_from_queue,
)
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, atomic_load_64, clock_gettime, pthread_cond_broadcast, pthread_cond_destroy, pthread_cond_init, pthread_cond_signal,
    pthread_cond_timedwait, pthread_condattr_destroy, pthread_condattr_init, pthread_condattr_setclock,
    pthread_condattr_t, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock, timespec,
)
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink

cdef enum:
    NANOSECONDS = 1000000000


cdef class RequestChannel(HandlerEventSink):
    """One a server, shared by its processors, its timers and its handler threads."""

    def __cinit__(self, int64_t max_requests=500, int64_t max_bytes=-1):
        cdef pthread_condattr_t attributes
        if max_requests < 1:
            raise ValueError(f"queued.max.requests must be at least 1, not {max_requests}")
        pthread_mutex_init(&self.lock, NULL)
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(&self.available, &attributes)
        pthread_condattr_destroy(&attributes)
        self.max_queued = max_requests
        self.memory = MemoryPool(max_bytes)

    def __dealloc__(self):
        self.discard()
        pthread_cond_destroy(&self.available)
        pthread_mutex_destroy(&self.lock)

    cdef void attach(self, ResponseSink sink):
        """Names where requests are answered; one server a channel."""
        if self.sink is not None:
            raise ValueError("the request channel serves another socket server already")
        self.sink = sink

    # --- processors and reapers ------------------------------------------------------------------------------------

    cdef bint add_wakeup(self, int descriptor) noexcept nogil:
        cdef bint added = False
        pthread_mutex_lock(&self.lock)
        if self.wakeup_count < MAX_WAKEUPS:
            self.wakeups[self.wakeup_count] = descriptor
            self.wakeup_count += 1
            added = True
        pthread_mutex_unlock(&self.lock)
        return added

    cdef bint has_room(self) noexcept nogil:
        return self.queued < self.max_queued

    cdef Admission push(self, const NativeRequest* request, const Endpoint* client,
                        const Endpoint* local) noexcept nogil:
        cdef QueuedRequest* queued
        cdef Admission admission = ADMITTED
        pthread_mutex_lock(&self.lock)
        if self.is_closed:
            admission = CHANNEL_CLOSED
        elif not self.has_room():
            self.starved = True
            admission = CHANNEL_FULL
        pthread_mutex_unlock(&self.lock)
        if admission != ADMITTED:
            return admission
        # Copied outside the lock: several processors may overshoot the bound by one request each.
        queued = queued_request_new(request, client, local)
        if queued == NULL:
            return CHANNEL_CLOSED
        self.memory.charge(charge_of(request.size))
        pthread_mutex_lock(&self.lock)
        if self.first == NULL:
            self.first = queued
        else:
            self.last.next = queued
        self.last = queued
        self.queued += 1
        if self.waiting:
            pthread_cond_signal(&self.available)
        pthread_mutex_unlock(&self.lock)
        return ADMITTED

    cdef bint push_event(self, HandlerEvent* event) noexcept nogil:
        cdef bint accepted
        event.next = NULL
        pthread_mutex_lock(&self.lock)
        accepted = not self.is_closed
        if accepted:
            if self.first_event == NULL:
                self.first_event = event
            else:
                self.last_event.next = event
            self.last_event = event
            if self.waiting:
                pthread_cond_signal(&self.available)
        pthread_mutex_unlock(&self.lock)
        return accepted

    # --- handler threads -------------------------------------------------------------------------------------------

    def receive(self, int32_t limit, int64_t timeout_ms) -> list[Request]:
        """At most `limit` requests, as soon as there is one; none after `timeout_ms`, or once the channel is closed.

        Runs what native threads left to be done in Python before it hands out requests.
        """
        cdef Haul haul
        cdef int64_t deadline_ns = <int64_t>time.monotonic_ns() + timeout_ms * 1000000
        cdef list requests
        while True:
            with nogil:
                self.wait(limit, deadline_ns, &haul)
            if haul.events == NULL:
                break
            run_events(haul.events)
        requests = []
        while haul.requests != NULL:
            requests.append(take_first(&haul, self))
        return requests

    cdef void wait(self, int32_t limit, int64_t deadline_ns, Haul* haul) noexcept nogil:
        cdef timespec deadline
        cdef int64_t began_ns
        cdef bint timed_out = False
        deadline.tv_sec = <long>(deadline_ns // NANOSECONDS)
        deadline.tv_nsec = <long>(deadline_ns % NANOSECONDS)
        haul.requests = NULL
        haul.request_count = 0
        pthread_mutex_lock(&self.lock)
        while self.first == NULL and self.first_event == NULL and not self.is_closed and not timed_out:
            self.waiting += 1
            began_ns = monotonic_ns()
            timed_out = pthread_cond_timedwait(&self.available, &self.lock, &deadline) != 0
            count(&self.idle_ns, monotonic_ns() - began_ns)
            self.waiting -= 1
        haul.events = self.first_event
        self.first_event = self.last_event = NULL
        if haul.events == NULL:
            self.take_requests(limit, haul)
        pthread_mutex_unlock(&self.lock)

    cdef void take_requests(self, int32_t limit, Haul* haul) noexcept nogil:
        """This handler's share, oldest first; called with the lock held."""
        cdef int64_t share = (self.queued + self.waiting) // (self.waiting + 1)
        cdef QueuedRequest* last = NULL
        haul.requests = self.first
        while self.first != NULL and haul.request_count < share and haul.request_count < limit:
            last = self.first
            self.first = last.next
            self.queued -= 1
            haul.request_count += 1
        if last == NULL:
            haul.requests = NULL
            return
        last.next = NULL
        if self.starved and self.has_room():
            self.starved = False
            self.wake_processors()

    cdef void wake_processors(self) noexcept nogil:
        cdef int i
        for i in range(self.wakeup_count):
            eventfd_write(self.wakeups[i], 1)

    # --- administration --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Wakes every handler thread; from now on `receive` answers nothing and nothing is taken in.

        Requests that were waiting are dropped with their connections, events are dropped.
        """
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.is_closed = True
            self.wakeup_count = 0
            pthread_cond_broadcast(&self.available)
            pthread_mutex_unlock(&self.lock)
        self.discard()

    @property
    def closed(self) -> bool:
        cdef bint is_closed
        with nogil:
            pthread_mutex_lock(&self.lock)
            is_closed = self.is_closed
            pthread_mutex_unlock(&self.lock)
        return is_closed

    @property
    def depth(self) -> int:
        """Requests that wait for a handler (Kafka's RequestQueueSize)."""
        cdef int64_t queued
        with nogil:
            pthread_mutex_lock(&self.lock)
            queued = self.queued
            pthread_mutex_unlock(&self.lock)
        return queued

    @property
    def handler_idle_ns(self) -> int:
        """How long handler threads have waited for something to do, all together."""
        return atomic_load_64(&self.idle_ns)

    def discard(self) -> None:
        """Drops whatever is queued."""
        cdef Haul haul
        cdef HandlerEvent* event
        haul.requests = NULL
        with nogil:
            pthread_mutex_lock(&self.lock)
            haul.requests = self.first
            haul.events = self.first_event
            self.first = self.last = NULL
            self.first_event = self.last_event = NULL
            self.queued = 0
            pthread_mutex_unlock(&self.lock)
            while haul.events != NULL:
                event = haul.events
                haul.events = event.next
                event.drop(event)
        while haul.requests != NULL:
            take_first(&haul, self)


cdef int64_t monotonic_ns() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * NANOSECONDS + now.tv_nsec


cdef Request take_first(Haul* haul, RequestChannel channel):
    cdef QueuedRequest* queued = haul.requests
    haul.requests = queued.next
    try:
        return request_from_queue(queued, channel.sink, channel.memory)
    finally:
        free(queued)


cdef void run_events(HandlerEvent* events):
    cdef HandlerEvent* event
    while events != NULL:
        event = events
        events = event.next
        event.run(event)
