"""The open segments of all logs, and the bound on their number (`kcli.log.max.open.segments`).

Segments are opened on first use, for appends and for reads. Without a bound ten thousand partitions, or readers of many
old segments, would use up the descriptors that connections need. Above the bound the segment that was idle longest is
closed, unless it is in use. The list works like the clock algorithm: a segment that was used since the last round stays
for another one. Segments that are being written, read or sent are not bounded.

Concurrency: one lock; no other lock is taken under it. A segment leaves the list before it is freed, so a listed
segment stays valid while the lock is held. Only segments that a log still has are listed, so a reference count of 1
means that only the log holds it.
"""

from libc.stdint cimport int32_t
from kcore.platform.sync cimport (
    atomic_add_32, atomic_load_32, atomic_store_32, atomic_swap_32_if, pthread_mutex_init, pthread_mutex_lock,
    pthread_mutex_t, pthread_mutex_unlock,
)
from kcore.storage.segment cimport LogSegment

cdef enum:
    LONGEST_WALK = 64            # the most list entries to look at for one that can be closed

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
    pthread_mutex_lock(&lock)
    if not segment.is_listed and not segment.let_go:
        segment.is_listed = True
        atomic_store_32(&segment.was_used, 0)
        append(segment)
        atomic_add_32(&count, 1)
    pthread_mutex_unlock(&lock)


cdef void remove(LogSegment* segment) noexcept nogil:
    if segment.is_listed:
        segment.is_listed = False
        unlink(segment)
        atomic_add_32(&count, -1)


cdef void open_segments_remove(LogSegment* segment) noexcept nogil:
    pthread_mutex_lock(&lock)
    remove(segment)
    pthread_mutex_unlock(&lock)


cdef void open_segments_let_go(LogSegment* segment) noexcept nogil:
    pthread_mutex_lock(&lock)
    atomic_store_32(&segment.let_go, 1)
    remove(segment)
    pthread_mutex_unlock(&lock)


cdef LogSegment* turn_oldest() noexcept nogil:
    cdef LogSegment* segment = oldest
    unlink(segment)
    append(segment)
    return segment


cdef LogSegment* next_on_the_clock() noexcept nogil:
    """Moves the oldest entry to the end. Returns it with a reference if it can be closed, else NULL."""
    cdef LogSegment* segment = turn_oldest()
    if atomic_swap_32_if(&segment.was_used, 1, 0):
        return NULL
    # Only its log holds it. The swap adds the caller's reference.
    return segment if atomic_swap_32_if(&segment.references, 1, 2) else NULL


cdef LogSegment* open_segments_surplus(bint within_bound) noexcept nogil:
    cdef LogSegment* found = NULL
    cdef int32_t walked = 0
    cdef int32_t limit = atomic_load_32(&bound)
    pthread_mutex_lock(&lock)
    while (found == NULL and count > 0 and (within_bound or (limit > 0 and count > limit))
           and walked < min(2 * count, <int32_t>LONGEST_WALK)):
        found = next_on_the_clock()
        walked += 1
    pthread_mutex_unlock(&lock)
    return found


cdef LogSegment* open_segments_unused(int32_t* left) noexcept nogil:
    cdef LogSegment* found = NULL
    cdef int32_t walked = 0
    pthread_mutex_lock(&lock)
    left[0] = min(left[0], count)
    while found == NULL and left[0] > 0 and walked < LONGEST_WALK:
        left[0] -= 1
        walked += 1
        if atomic_load_32(&oldest.writable):
            turn_oldest()
        else:
            found = next_on_the_clock()
    pthread_mutex_unlock(&lock)
    return found


cdef void open_segments_bound(int32_t limit) noexcept nogil:
    atomic_store_32(&bound, limit)


cdef int32_t open_segments_count() noexcept nogil:
    return atomic_load_32(&count)
