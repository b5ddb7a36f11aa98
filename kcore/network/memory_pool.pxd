"""The memory for requests, shared by a server's processors and its request channel."""

from libc.stdint cimport int32_t, int64_t
from kcore.platform.sync cimport atomic_load_32, pthread_mutex_t

cdef enum:
    UNCOUNTED_BYTES = 16 * 1024  # buffers and requests up to this size are bounded by number instead

cdef enum ClaimState:
    UNCLAIMED = 0
    CLAIM_WAITING = 1
    CLAIM_GRANTED = 2            # its bytes are reserved for its owner

# A place in the queue for memory. Zero it first, and do not move it until it was redeemed or cancelled.
cdef struct MemoryClaim:
    MemoryClaim* next
    MemoryClaim* previous
    int64_t size_bytes
    int wakeup                   # eventfd of the waiting processor
    int32_t state


cdef class MemoryPool:
    cdef int64_t limit_bytes     # 0: unbounded, and nothing is counted
    cdef int64_t word            # twice the bytes in use, plus CLAIMS_WAIT
    cdef pthread_mutex_t lock    # guards the queue of claims
    cdef MemoryClaim* first
    cdef MemoryClaim* last

    # For a request that must be received: granted while memory is left and no claim waits.
    cdef bint reserve(self, int64_t size_bytes) noexcept nogil
    # For reading ahead: granted while half of the memory stays free.
    cdef bint reserve_spare(self, int64_t size_bytes) noexcept nogil
    # Counts bytes that are in memory already. It cannot be refused.
    cdef void charge(self, int64_t size_bytes) noexcept nogil
    cdef void release(self, int64_t size_bytes) noexcept nogil
    # Queues the claim. Returns True if it was granted at once. Otherwise `wakeup` is written when it is granted.
    cdef bint wait(self, MemoryClaim* claim, int64_t size_bytes, int wakeup) noexcept nogil
    # Whether the claim was granted. If so, the caller owns its bytes, and the claim can be reused.
    cdef bint redeem(self, MemoryClaim* claim) noexcept nogil
    # Removes the claim from the queue, or releases its bytes if it was granted.
    cdef void cancel(self, MemoryClaim* claim) noexcept nogil
    cdef int64_t used_bytes(self) noexcept nogil
    cdef void enqueue(self, MemoryClaim* claim) noexcept nogil
    cdef void unlink(self, MemoryClaim* claim) noexcept nogil
    cdef void grant_waiting(self) noexcept nogil


cdef inline bint is_granted(const MemoryClaim* claim) noexcept nogil:
    return atomic_load_32(&claim.state) == CLAIM_GRANTED
