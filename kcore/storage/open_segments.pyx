"""Which finished segments are open, so that their number has a bound (`kcli.log.max.open.segments`).

A segment that is only read is opened when it is first needed; without a bound, readers of many old segments would use
up the descriptors that connections need. Beyond the bound the one that has gone longest without use is closed, unless
a reader holds it: the list is walked like a clock, and whoever was used since the last round gets another one. No bound
is put on active segments, and none on those that are being read or sent from.

Concurrency: one lock, under which nothing else is taken; a listed segment is not freed while the lock is held, for it
leaves the list before.
"""

from libc.stdint cimport int32_t
from kcore.platform.sync cimport (
    atomic_load_32, atomic_store_32, atomic_swap_32_if, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t,
    pthread_mutex_unlock,
)
from kcore.storage.segment cimport LogSegment

cdef enum:
    LONGEST_WALK = 64            # list entries looked at for one that may be closed

cdef pthread_mutex_t lock
cdef LogSegment* oldest = NULL
cdef LogSegment* newest = NULL
cdef int32_t count = 0
cdef int32_t bound = 0

pthread_mutex_init(&lock, NULL)


cdef void append(LogSegment* segment) noexcept nogil:
    global oldest, newest
    segment.newer_open = NULL
    segment.older_open = newest
    if newest != NULL:
        newest.newer_open = segment
    else:
        oldest = segment
    newest = segment


cdef void unlink(LogSegment* segment) noexcept nogil:
    global oldest, newest
    if segment.older_open != NULL:
        segment.older_open.newer_open = segment.newer_open
    else:
        oldest = segment.newer_open
    if segment.newer_open != NULL:
        segment.newer_open.older_open = segment.older_open
    else:
        newest = segment.older_open


cdef void open_segments_add(LogSegment* segment) noexcept nogil:
    global count
    pthread_mutex_lock(&lock)
    if not segment.is_listed:
        segment.is_listed = True
        atomic_store_32(&segment.was_used, 0)
        append(segment)
        count += 1
    pthread_mutex_unlock(&lock)


cdef void open_segments_remove(LogSegment* segment) noexcept nogil:
    global count
    pthread_mutex_lock(&lock)
    if segment.is_listed:
        segment.is_listed = False
        unlink(segment)
        count -= 1
    pthread_mutex_unlock(&lock)


cdef LogSegment* open_segments_surplus() noexcept nogil:
    cdef LogSegment* segment
    cdef LogSegment* found = NULL
    cdef int32_t walked = 0
    pthread_mutex_lock(&lock)
    while found == NULL and bound > 0 and count > bound and walked < min(2 * count, <int32_t>LONGEST_WALK):
        segment = oldest
        unlink(segment)
        append(segment)
        walked += 1
        if atomic_swap_32_if(&segment.was_used, 1, 0):
            continue
        # Held by its log alone, and then by the caller too.
        if atomic_swap_32_if(&segment.references, 1, 2):
            found = segment
    pthread_mutex_unlock(&lock)
    return found


cdef void open_segments_bound(int32_t limit) noexcept nogil:
    atomic_store_32(&bound, limit)


cdef int32_t open_segments_count() noexcept nogil:
    return atomic_load_32(&count)
