"""MemoryPool: the one rule of `queued.max.request.bytes` (KIP-72; Kafka's SimpleMemoryPool, never strict).

What counts is the receive buffer that holds a request, from when the request's length is known, and the copy of a request
that waits for a handler or is being handled; up to UNCOUNTED_BYTES neither counts, as connections and queued requests are
bounded in number. Memory is reserved as long as anything is left, so that a request larger than all of it is never stuck:
the bound is overshot by at most one request. Once nothing is left, connections wait for memory in the order in which they
asked, whichever processor they belong to, and each processor is woken for its own.

Receiving ahead of known lengths is a comfort that may take half of the memory. So those who hold a buffer while they wait
for a larger one never hold everything, and the others, who do not wait, give theirs back: nobody waits for ever. A request
that was received so, with others behind it, counts twice while a handler has its copy: that may add another half.

Concurrency: one atomic word has the bytes in use and whether anyone waits. To reserve and release is one atomic addition;
the lock is taken when memory is short only, and nothing is locked under it. A release either comes before a claim is
announced in that word, and the claim finds the memory, or comes after, and finds the claim: no wake-up is lost. Without a
bound nothing is counted, and no cache line is shared.
"""

from libc.stdint cimport int64_t
from kcore.platform.epoll cimport eventfd_write
from kcore.platform.sync cimport (
    atomic_add_64, atomic_load_32, atomic_load_64, atomic_store_32, pthread_mutex_destroy, pthread_mutex_init,
    pthread_mutex_lock, pthread_mutex_unlock,
)

cdef enum:
    CLAIMS_WAIT = 1              # the lowest bit of the word


cdef class MemoryPool:
    """One a server. `limit_bytes` of 0 or less: unbounded, as Kafka's default of -1."""

    def __cinit__(self, int64_t limit_bytes=-1):
        pthread_mutex_init(&self.lock, NULL)
        self.limit_bytes = limit_bytes if limit_bytes > 0 else 0

    def __dealloc__(self):
        pthread_mutex_destroy(&self.lock)

    @property
    def limit(self) -> int:
        """The bound in bytes; -1 without one."""
        return self.limit_bytes if self.limit_bytes else -1

    @property
    def used(self) -> int:
        """Bytes in use (Kafka's MemoryPoolUsed); 0 without a bound."""
        return self.used_bytes()

    cdef int64_t used_bytes(self) noexcept nogil:
        return atomic_load_64(&self.word) >> 1

    cdef bint reserve(self, int64_t size_bytes) noexcept nogil:
        cdef int64_t before
        if not self.limit_bytes:
            return True
        before = atomic_add_64(&self.word, 2 * size_bytes) - 2 * size_bytes
        if before & CLAIMS_WAIT or before >> 1 >= self.limit_bytes:
            self.release(size_bytes)
            return False
        return True

    cdef bint reserve_spare(self, int64_t size_bytes) noexcept nogil:
        cdef int64_t after
        if not self.limit_bytes:
            return True
        if self.used_bytes() + size_bytes > self.limit_bytes // 2:
            return False
        after = atomic_add_64(&self.word, 2 * size_bytes)
        if after & CLAIMS_WAIT or after >> 1 > self.limit_bytes // 2:
            self.release(size_bytes)
            return False
        return True

    cdef void charge(self, int64_t size_bytes) noexcept nogil:
        if self.limit_bytes:
            atomic_add_64(&self.word, 2 * size_bytes)

    cdef void release(self, int64_t size_bytes) noexcept nogil:
        if self.limit_bytes and atomic_add_64(&self.word, -2 * size_bytes) & CLAIMS_WAIT:
            pthread_mutex_lock(&self.lock)
            self.grant_waiting()
            pthread_mutex_unlock(&self.lock)

    cdef bint wait(self, MemoryClaim* claim, int64_t size_bytes, int wakeup) noexcept nogil:
        claim.size_bytes = size_bytes
        claim.wakeup = -1        # whoever asks needs no wake-up for what is granted at once
        claim.state = CLAIM_WAITING
        pthread_mutex_lock(&self.lock)
        self.enqueue(claim)
        self.grant_waiting()
        claim.wakeup = wakeup
        pthread_mutex_unlock(&self.lock)
        return is_granted(claim)

    cdef bint redeem(self, MemoryClaim* claim) noexcept nogil:
        if not is_granted(claim):
            return False
        claim.state = UNCLAIMED
        return True

    cdef void cancel(self, MemoryClaim* claim) noexcept nogil:
        if atomic_load_32(&claim.state) == UNCLAIMED:
            return
        pthread_mutex_lock(&self.lock)
        if claim.state == CLAIM_WAITING:
            self.unlink(claim)
            claim.state = UNCLAIMED
        pthread_mutex_unlock(&self.lock)
        if self.redeem(claim):
            self.release(claim.size_bytes)

    # --- the queue, under the lock ---------------------------------------------------------------------------------

    cdef void enqueue(self, MemoryClaim* claim) noexcept nogil:
        claim.next = NULL
        claim.previous = self.last
        if self.first == NULL:
            self.first = claim
            atomic_add_64(&self.word, CLAIMS_WAIT)
        else:
            self.last.next = claim
        self.last = claim

    cdef void unlink(self, MemoryClaim* claim) noexcept nogil:
        if claim.previous != NULL:
            claim.previous.next = claim.next
        else:
            self.first = claim.next
        if claim.next != NULL:
            claim.next.previous = claim.previous
        else:
            self.last = claim.previous
        if self.first == NULL:
            atomic_add_64(&self.word, -CLAIMS_WAIT)

    cdef void grant_waiting(self) noexcept nogil:
        """Serves the queue from its head for as long as anything is left."""
        cdef MemoryClaim* claim
        cdef int wakeup
        while self.first != NULL and self.used_bytes() < self.limit_bytes:
            claim = self.first
            wakeup = claim.wakeup
            atomic_add_64(&self.word, 2 * claim.size_bytes)
            self.unlink(claim)
            # From here on the claim belongs to its processor again.
            atomic_store_32(&claim.state, CLAIM_GRANTED)
            if wakeup >= 0:
                eventfd_write(wakeup, 1)
