"""MemoryPool: implements `queued.max.request.bytes` (KIP-72; Kafka's SimpleMemoryPool, not strict).

The pool counts the receive buffer of a request from when the request's length is known, and the copy of a request that
waits for a handler or is being handled. Sizes up to UNCOUNTED_BYTES do not count, as the number of connections and of
queued requests is bounded. A reservation succeeds while any memory is left, so that even a request larger than the pool
is received: the bound is exceeded by at most one request. When nothing is left, connections wait in the order of their
claims, across all processors, and each processor is woken for its own connections.

Reading ahead of known lengths is optional and may use half of the memory. Therefore connections that hold such a buffer
while they wait for a larger one never hold all memory, and the others release theirs without waiting: there is no
deadlock. A request that was read ahead, with others behind it, counts twice while a handler has its copy. This may add
another half.

Concurrency: one atomic word has the bytes in use and whether any claim waits. Reserving and releasing is one atomic
addition. The lock is only taken when memory is short, and no other lock is taken under it. A release comes either
before a claim is announced in the word, and then the claim finds the memory, or after it, and then the release finds
the claim: no wake-up is lost. Without a bound nothing is counted, and no cache line is shared.
"""

from libc.stdint cimport int64_t
from kcore.platform.epoll cimport eventfd_write
from kcore.platform.sync cimport (
    atomic_add_64, atomic_load_32, atomic_load_64, atomic_store_32, pthread_mutex_destroy, pthread_mutex_init,
    pthread_mutex_lock, pthread_mutex_unlock,
)

cdef enum:
    CLAIMS_WAIT = 1              # lowest bit of the word: the queue of claims is not empty


cdef class MemoryPool:
    """The memory pool of a server. A `limit_bytes` of 0 or less means unbounded, as with Kafka's default of -1."""

    def __cinit__(self, int64_t limit_bytes=-1):
        pthread_mutex_init(&self.lock, NULL)
        self.limit_bytes = limit_bytes if limit_bytes > 0 else 0

    def __dealloc__(self):
        pthread_mutex_destroy(&self.lock)

    @property
    def limit(self) -> int:
        """The bound in bytes, or -1 without one."""
        return self.limit_bytes if self.limit_bytes else -1

    @property
    def used(self) -> int:
        """Bytes in use (Kafka's MemoryPoolUsed). 0 without a bound."""
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
        claim.wakeup = -1        # the caller needs no wake-up for a claim granted at once
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

    # --- the queue; callers hold the lock --------------------------------------------------------------------------

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
        """Grants claims from the head of the queue while memory is left."""
        cdef MemoryClaim* claim
        cdef int wakeup
        while self.first != NULL and self.used_bytes() < self.limit_bytes:
            claim = self.first
            wakeup = claim.wakeup
            atomic_add_64(&self.word, 2 * claim.size_bytes)
            self.unlink(claim)
            # From here on the claim belongs to its processor again, which may reuse or free it.
            atomic_store_32(&claim.state, CLAIM_GRANTED)
            if wakeup >= 0:
                eventfd_write(wakeup, 1)
