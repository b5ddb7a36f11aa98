"""The life cycle of a delayed operation: claimed once, completed by the claiming thread, freed with the last reference.

Concurrency: `lock` serialises `try_complete` and the claim, so the condition is not evaluated after the claim. It is
the first in the lock order. References are held by the creating call, by every watcher list and by the timing wheel.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset
from kcore.platform.sync cimport (
    atomic_add_32, atomic_add_64, atomic_load_32, atomic_load_64, atomic_store_32, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)

cdef int64_t live = 0


def live_operations() -> int:
    """The number of operations in the process that are not freed yet, for leak checks."""
    return atomic_load_64(&live)


cdef void operation_init(DelayedOperation* operation) noexcept nogil:
    operation.completed = 0
    operation.references = 1
    operation.watched_keys = 0
    pthread_mutex_init(&operation.lock, NULL)
    memset(&operation.timer, 0, sizeof(operation.timer))
    operation.timer.owner = operation
    atomic_add_64(&live, 1)


cdef void operation_acquire(DelayedOperation* operation) noexcept nogil:
    atomic_add_32(&operation.references, 1)


cdef void operation_release(DelayedOperation* operation) noexcept nogil:
    if atomic_add_32(&operation.references, -1) == 0:
        pthread_mutex_destroy(&operation.lock)
        atomic_add_64(&live, -1)
        operation.release(operation)


cdef bint operation_claim(DelayedOperation* operation, bint by_force) noexcept nogil:
    cdef bint claimed
    pthread_mutex_lock(&operation.lock)
    claimed = operation.completed == 0 and (by_force or operation.try_complete(operation))
    if claimed:
        atomic_store_32(&operation.completed, 1)
    pthread_mutex_unlock(&operation.lock)
    return claimed


cdef bint operation_is_completed(const DelayedOperation* operation) noexcept nogil:
    return atomic_load_32(&operation.completed) != 0
