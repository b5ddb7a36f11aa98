"""One operation that waits for a condition or its time-out."""

from libc.stdint cimport int32_t
from kcore.platform.sync cimport pthread_mutex_t
from kcore.purgatory.timing_wheel cimport TimerEntry

cdef struct DelayedOperation:
    # The maker fills these four; `try_complete` answers whether the condition holds now, without side effects that
    # a second answer would repeat, and never runs twice at once; `complete` does the work and gives up whatever is dear (pinned
    # segments, buffers), for completed operations stay in watcher lists until they are swept; `release` frees the
    # structure with its last reference.
    void* context
    bint (*try_complete)(DelayedOperation* operation) noexcept nogil
    void (*complete)(DelayedOperation* operation, bint expired) noexcept nogil
    void (*release)(DelayedOperation* operation) noexcept nogil
    # The purgatory's own.
    int32_t completed
    int32_t references
    int32_t watched_keys
    pthread_mutex_t lock
    TimerEntry timer

# With one reference, the caller's.
cdef void operation_init(DelayedOperation* operation) noexcept nogil
cdef void operation_acquire(DelayedOperation* operation) noexcept nogil
cdef void operation_release(DelayedOperation* operation) noexcept nogil
# Whether this call completed it: the condition holds, or need not (`by_force`), and nobody was earlier. The winner runs `complete`.
cdef bint operation_claim(DelayedOperation* operation, bint by_force) noexcept nogil
cdef bint operation_is_completed(const DelayedOperation* operation) noexcept nogil
