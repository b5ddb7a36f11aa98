"""Watches: notification of changes in a partition, for longer than one delayed operation."""

from libc.stdint cimport int32_t, uint64_t
from kcore.platform.sync cimport pthread_mutex_t
from kcore.purgatory.purgatory cimport Purgatory

# Embedded in the watching object. The list is intrusive, so adding a watch and notifying it allocate nothing.
cdef struct PartitionWatch:
    PartitionWatch* next
    PartitionWatch* previous
    bint listed
    # Called when records were appended, leadership changed or the partition leaves the broker; under the list's lock,
    # from any thread. Returns the key of the fetch purgatory under which a request waits for this, or 0.
    uint64_t (*changed)(PartitionWatch* watch) noexcept nogil
    # Called when the partition leaves this broker. `hold` runs under the list's lock, and returns an object that it
    # keeps alive, or NULL if that object is being destroyed already. `let_go` runs under no lock. It drops that
    # reference, and the watches and pins of all partitions that have left.
    void* (*hold)(PartitionWatch* watch) noexcept nogil
    void (*let_go)(void* held) noexcept nogil

cdef struct PartitionWatchers:
    pthread_mutex_t lock
    PartitionWatch* first
    int32_t count
    bint dismissed

cdef void watchers_init(PartitionWatchers* watchers) noexcept nogil
cdef void watchers_destroy(PartitionWatchers* watchers) noexcept nogil
# Returns False, without adding the watch, after `watchers_dismiss`.
cdef bint watchers_add(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil
# After this returns, nothing is called through the watch any more. Does nothing for a watch that is not in the list.
cdef void watchers_remove(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil
# Calls `changed` of each watch, then completes waiting requests in the purgatory.
cdef void watchers_tell(PartitionWatchers* watchers, Purgatory purgatory) noexcept nogil
# Notifies all watches for the last time and removes them. No watch can be added afterwards.
cdef void watchers_dismiss(PartitionWatchers* watchers, Purgatory purgatory) noexcept nogil
cdef bint watchers_dismissed(PartitionWatchers* watchers) noexcept nogil
