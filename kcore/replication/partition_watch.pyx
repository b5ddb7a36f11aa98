"""Lasting watches on a partition.

A delayed operation is added under the key of each of its partitions every time it waits. A fetch session has a thousand
partitions for a thousand requests, so it puts a watch on each partition once. The watches record what changed, and the
session waits under a single key.

Concurrency: one lock per list. Watches are called under it, and may take one lock of their own that comes after it in
the lock order. The purgatory is called after the lock is released.
"""

from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from kcore.platform.sync cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.purgatory.purgatory cimport Purgatory

cdef enum:
    FEW = 32


cdef void watchers_init(PartitionWatchers* watchers) noexcept nogil:
    memset(watchers, 0, sizeof(PartitionWatchers))
    pthread_mutex_init(&watchers.lock, NULL)


cdef void watchers_destroy(PartitionWatchers* watchers) noexcept nogil:
    pthread_mutex_destroy(&watchers.lock)


cdef bint watchers_add(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil:
    cdef bint added
    pthread_mutex_lock(&watchers.lock)
    added = not watchers.dismissed
    if added:
        watch.previous = NULL
        watch.next = watchers.first
        if watchers.first != NULL:
            watchers.first.previous = watch
        watchers.first = watch
        watchers.count += 1
        watch.listed = True
    pthread_mutex_unlock(&watchers.lock)
    return added


cdef void watchers_remove(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil:
    pthread_mutex_lock(&watchers.lock)
    if watch.listed:
        unlink(watchers, watch)
    pthread_mutex_unlock(&watchers.lock)


cdef void unlink(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil:
    if watch.previous != NULL:
        watch.previous.next = watch.next
    else:
        watchers.first = watch.next
    if watch.next != NULL:
        watch.next.previous = watch.previous
    watchers.count -= 1
    watch.listed = False


cdef void watchers_tell(PartitionWatchers* watchers, Purgatory purgatory) noexcept nogil:
    """If memory for many keys is exhausted, wakes only the first; the others see the change at their next look."""
    cdef uint64_t few[FEW]
    cdef uint64_t* keys = few
    cdef uint64_t key
    cdef int32_t capacity = FEW
    cdef int32_t count = 0
    cdef int32_t position
    cdef PartitionWatch* watch
    pthread_mutex_lock(&watchers.lock)
    if watchers.count > FEW:
        keys = <uint64_t*>malloc(<size_t>watchers.count * sizeof(uint64_t))
        if keys == NULL:
            keys = few
        else:
            capacity = watchers.count
    watch = watchers.first
    while watch != NULL:
        key = watch.changed(watch)
        if key != 0 and count < capacity:
            keys[count] = key
            count += 1
        watch = watch.next
    pthread_mutex_unlock(&watchers.lock)
    for position in range(count):
        purgatory.check_and_complete(keys[position])
    if keys != few:
        free(keys)


cdef void watchers_dismiss(PartitionWatchers* watchers, Purgatory purgatory) noexcept nogil:
    cdef PartitionWatch* watch
    cdef void (*let_go)(void* held) noexcept nogil
    cdef void* held
    pthread_mutex_lock(&watchers.lock)
    watchers.dismissed = True
    pthread_mutex_unlock(&watchers.lock)
    watchers_tell(watchers, purgatory)
    while True:
        pthread_mutex_lock(&watchers.lock)
        watch = watchers.first
        if watch == NULL:
            pthread_mutex_unlock(&watchers.lock)
            return
        held = watch.hold(watch)
        let_go = watch.let_go
        if held == NULL:
            unlink(watchers, watch)
        pthread_mutex_unlock(&watchers.lock)
        if held != NULL:
            # let_go removes at least this watch.
            let_go(held)


cdef bint watchers_dismissed(PartitionWatchers* watchers) noexcept nogil:
    cdef bint dismissed
    pthread_mutex_lock(&watchers.lock)
    dismissed = watchers.dismissed
    pthread_mutex_unlock(&watchers.lock)
    return dismissed
