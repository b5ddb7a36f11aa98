"""RequestChannel: the queue of requests for handler threads, which the processors do not execute themselves.

Bounds: `queued.max.requests` bounds this queue. When it is full, a processor leaves the request in the connection's
buffer, and is woken when there is room. `queued.max.request.bytes` bounds the MemoryPool, where a request counts before
it is complete and until it is answered. Complete requests are always accepted here, so that their receive buffers can
be released.

Handlers run Python, one at a time. A second handler that is woken while the first one works only competes for the GIL.
A thread that releases the GIL for a moment usually gets it back first, so the other waits for the switch interval again
and again. Therefore, while a handler works, no other is woken, and the handler takes what has come meanwhile when it is
done. If it has not returned after ROUSE_MS, because it waits for a disk or has much to do, the processor whose request
waits writes off the working handlers, which starts a new turn, and wakes another. A handler that is going to wait calls
`stand_aside`. A woken handler takes requests only after it has the GIL, so that no request waits with a thread that
cannot run. A handler that comes back, written off or woken, leaves requests alone while another one works.

Concurrency: the lock is held for a few instructions, always without the GIL. A handler takes its share of the queue
with one acquisition of the GIL: all of it if no other handler is free, otherwise an equal part, so that a slow request
does not delay others while handlers are idle. Events of native threads (expired timers, log lines) have priority over
requests and run inside `receive`. They are few; their sources bound them.
"""

import time

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free
from kcore.metrics.histogram cimport count
from kcore.network.dispatch cimport NativeRequest
from kcore.network.endpoint cimport Endpoint
from kcore.network.memory_pool cimport MemoryPool
from kcore.network.request cimport (
    QueuedRequest, Request, ResponseSink, charge_of, queued_request_new, request_from_queue,
)
from kcore.platform.epoll cimport eventfd_write
from kcore.platform.sync cimport (
    CLOCK_MONOTONIC, atomic_load_64, atomic_store_64, clock_gettime, pthread_cond_broadcast, pthread_cond_destroy,
    pthread_cond_init, pthread_cond_signal, pthread_cond_timedwait, pthread_condattr_destroy, pthread_condattr_init,
    pthread_condattr_setclock, pthread_condattr_t, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_unlock, timespec,
)
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink

cdef enum:
    NANOSECONDS = 1000000000
    ROUSE_NS = ROUSE_MS * 1000000
    NO_TURN = -1


cdef class RequestChannel(HandlerEventSink):
    """The request channel of a server, shared by its processors, timers and handler threads."""

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
        """Sets the sink for responses. A channel serves only one server."""
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
        # Copied outside the lock: each processor may exceed the bound by one request.
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
        atomic_store_64(&self.queued, self.queued + 1)
        if self.waiting and self.working == 0:
            self.call_handler()
        pthread_mutex_unlock(&self.lock)
        return ADMITTED

    cdef void call_handler(self) noexcept nogil:
        """Wakes a handler, unless a woken one is on its way. The caller holds the lock."""
        if not self.called:
            self.called = True
            pthread_cond_signal(&self.available)

    cdef bint has_patient_requests(self) noexcept nogil:
        return atomic_load_64(&self.queued) > 0

    cdef void rouse(self) noexcept nogil:
        cdef int64_t now_ns = monotonic_ns()
        pthread_mutex_lock(&self.lock)
        if self.first != NULL and self.waiting and now_ns - max(self.taken_ns, self.roused_ns) >= ROUSE_NS:
            self.roused_ns = now_ns
            self.turn += 1
            self.working = 0
            self.call_handler()
        pthread_mutex_unlock(&self.lock)

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

    def receive(self, int32_t limit, int64_t timeout_ms, int64_t finished_turn=NO_TURN) -> list[Request]:
        """Waits for requests and returns up to `limit`. Returns none after `timeout_ms` or if the channel is closed.

        `finished_turn` is the `turn` of the requests that the caller received before and has finished. Events of native
        threads run here, before requests are returned.
        """
        cdef Haul haul
        cdef int64_t deadline_ns = <int64_t>time.monotonic_ns() + timeout_ms * 1000000
        cdef bint has_waited
        cdef list requests
        while True:
            with nogil:
                has_waited = self.wait(limit, deadline_ns, finished_turn, &haul)
            finished_turn = NO_TURN
            if has_waited:
                with nogil:
                    self.take_after_waiting(limit, &haul)
            if haul.events != NULL:
                run_events(haul.events)
            elif haul.requests != NULL or self.closed or monotonic_ns() >= deadline_ns:
                break
        requests = []
        while haul.requests != NULL:
            requests.append(take_first(&haul, self))
        return requests

    def leave(self, int64_t finished_turn) -> None:
        """Reports that the caller has finished the requests of this turn and will receive no more."""
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.finish(finished_turn)
            if self.first != NULL and self.waiting and self.working == 0:
                self.call_handler()
            pthread_mutex_unlock(&self.lock)

    def stand_aside(self) -> bool:
        """Reports that a working handler is going to wait. If this returns True, it must call `come_back`."""
        cdef bint was_working
        with nogil:
            pthread_mutex_lock(&self.lock)
            was_working = self.working > 0
            self.finish(self.turn)
            if self.first != NULL and self.waiting and self.working == 0:
                self.call_handler()
            pthread_mutex_unlock(&self.lock)
        return was_working

    def come_back(self) -> None:
        """Reports that a handler continues after `stand_aside`."""
        with nogil:
            pthread_mutex_lock(&self.lock)
            self.working += 1
            pthread_mutex_unlock(&self.lock)

    cdef void finish(self, int64_t turn) noexcept nogil:
        """Counts a handler as returned, unless it was written off. The caller holds the lock."""
        if turn == self.turn and self.working > 0:
            self.working -= 1

    cdef bint has_work(self) noexcept nogil:
        """Whether there are events, or requests that no working handler will take. The caller holds the lock."""
        return self.first_event != NULL or (self.first != NULL and self.working == 0)

    cdef bint wait(self, int32_t limit, int64_t deadline_ns, int64_t finished_turn, Haul* haul) noexcept nogil:
        """Takes work. If there is none, waits instead and returns True without taking anything."""
        cdef timespec deadline
        cdef int64_t began_ns
        cdef bint has_waited = False
        cdef bint timed_out = False
        deadline.tv_sec = <long>(deadline_ns // NANOSECONDS)
        deadline.tv_nsec = <long>(deadline_ns % NANOSECONDS)
        haul.requests = NULL
        haul.request_count = 0
        haul.events = NULL
        pthread_mutex_lock(&self.lock)
        self.finish(finished_turn)
        while not self.is_closed and not timed_out and not self.has_work():
            self.waiting += 1
            began_ns = monotonic_ns()
            timed_out = pthread_cond_timedwait(&self.available, &self.lock, &deadline) != 0
            count(&self.idle_ns, monotonic_ns() - began_ns)
            self.waiting -= 1
            has_waited = True
            if not self.has_work():
                self.called = False
        if not has_waited:
            self.take(limit, haul)
        pthread_mutex_unlock(&self.lock)
        return has_waited

    cdef void take_after_waiting(self, int32_t limit, Haul* haul) noexcept nogil:
        """Takes the work that is left, after this handler has got the GIL."""
        pthread_mutex_lock(&self.lock)
        if self.has_work():
            self.take(limit, haul)
        else:
            self.called = False
        pthread_mutex_unlock(&self.lock)

    cdef void take(self, int32_t limit, Haul* haul) noexcept nogil:
        """Takes all events, or requests if there are none. The caller holds the lock."""
        self.called = False
        haul.events = self.first_event
        self.first_event = self.last_event = NULL
        if haul.events == NULL:
            self.take_requests(limit, haul)

    cdef void take_requests(self, int32_t limit, Haul* haul) noexcept nogil:
        """Takes this handler's share of the requests, oldest first. The caller holds the lock."""
        cdef int64_t share = (self.queued + self.waiting) // (self.waiting + 1)
        cdef QueuedRequest* last = NULL
        haul.requests = self.first
        while self.first != NULL and haul.request_count < share and haul.request_count < limit:
            last = self.first
            self.first = last.next
            atomic_store_64(&self.queued, self.queued - 1)
            haul.request_count += 1
        if last == NULL:
            haul.requests = NULL
            return
        last.next = NULL
        self.working += 1
        self.taken_ns = monotonic_ns()
        haul.turn = self.turn
        if self.starved and self.has_room():
            self.starved = False
            self.wake_processors()

    cdef void wake_processors(self) noexcept nogil:
        cdef int i
        for i in range(self.wakeup_count):
            eventfd_write(self.wakeups[i], 1)

    # --- administration --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Closes the channel and wakes every handler thread. `receive` and `push` then do nothing.

        Waiting requests are dropped and their connections closed. Waiting events are dropped.
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
        """Number of requests that wait for a handler (Kafka's RequestQueueSize)."""
        cdef int64_t queued
        with nogil:
            pthread_mutex_lock(&self.lock)
            queued = self.queued
            pthread_mutex_unlock(&self.lock)
        return queued

    @property
    def handler_idle_ns(self) -> int:
        """Total time in nanoseconds that handler threads have waited for work."""
        return atomic_load_64(&self.idle_ns)

    def discard(self) -> None:
        """Drops all queued requests and events."""
        cdef Haul haul
        cdef HandlerEvent* event
        haul.requests = NULL
        with nogil:
            pthread_mutex_lock(&self.lock)
            haul.requests = self.first
            haul.events = self.first_event
            self.first = self.last = NULL
            self.first_event = self.last_event = NULL
            atomic_store_64(&self.queued, 0)
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
    cdef Request request
    haul.requests = queued.next
    try:
        request = request_from_queue(queued, channel.sink, channel.memory)
        request.turn = haul.turn
        return request
    finally:
        free(queued)


cdef void run_events(HandlerEvent* events):
    cdef HandlerEvent* event
    while events != NULL:
        event = events
        events = event.next
        event.run(event)
