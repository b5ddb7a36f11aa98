"""One operation that waits for a condition or a timeout."""

from libc.stdint cimport int32_t
from kcore.platform.sync cimport pthread_mutex_t
from kcore.purgatory.timing_wheel cimport TimerEntry

cdef struct DelayedOperation:
    # The creator sets these four. `try_complete` returns whether the condition holds. It never runs twice at the same
    # time, and a repeated call must be harmless. `complete` does the work and releases expensive resources (pinned
    # segments, buffers), because completed operations stay in watcher lists until they are swept. `release` frees the
    # structure with its last reference.
    void* context
    bint (*try_complete)(DelayedOperation* operation) noexcept nogil
    void (*complete)(DelayedOperation* operation, bint expired) noexcept nogil
    void (*release)(DelayedOperation* operation) noexcept nogil
    # The fields of the purgatory.
    int32_t completed
    int32_t references
    int32_t watched_keys
    pthread_mutex_t lock
    TimerEntry timer

# Initializes an operation with one reference, the caller's.
cdef void operation_init(DelayedOperation* operation) noexcept nogil
cdef void operation_acquire(DelayedOperation* operation) noexcept nogil
cdef void operation_release(DelayedOperation* operation) noexcept nogil
# Claims the operation if it is not completed and its condition holds (or `by_force`). If it returns True, run
# `complete`.
cdef bint operation_claim(DelayedOperation* operation, bint by_force) noexcept nogil
cdef bint operation_is_completed(const DelayedOperation* operation) noexcept nogil
