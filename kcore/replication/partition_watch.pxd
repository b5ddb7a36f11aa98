"""Who wants to know that something changed in a partition, for longer than one delayed operation."""

from libc.stdint cimport int32_t, uint64_t
from kcore.platform.sync cimport pthread_mutex_t
from kcore.purgatory.purgatory cimport Purgatory

# Embedded in what watches: the list is intrusive, so that neither watching nor telling allocates.
cdef struct PartitionWatch:
    PartitionWatch* next
    PartitionWatch* previous
    bint listed
    # Records were appended, leadership changed, or the partition leaves: note it, and answer the key of the fetch
    # purgatory under which somebody waits for that, 0 for nobody. Called under the list's lock, from any thread.
    uint64_t (*changed)(PartitionWatch* watch) noexcept nogil
    # The partition leaves this broker. `hold` makes sure, under the list's lock, that what it answers lives on (NULL when
    # that is coming to its end by itself); `let_go` gives up, under no lock, that and the watches and pins of all
    # partitions that have left.
    void* (*hold)(PartitionWatch* watch) noexcept nogil
    void (*let_go)(void* held) noexcept nogil

cdef struct PartitionWatchers:
    pthread_mutex_t lock
    PartitionWatch* first
    int32_t count
    bint dismissed

cdef void watchers_init(PartitionWatchers* watchers) noexcept nogil
cdef void watchers_destroy(PartitionWatchers* watchers) noexcept nogil
# False, and not added, once the watchers were dismissed.
cdef bint watchers_add(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil
# After this returns nothing is called through the watch any more. A watch that is not in the list is left alone.
cdef void watchers_remove(PartitionWatchers* watchers, PartitionWatch* watch) noexcept nogil
# Calls `changed` of each, then has the purgatory look at those who wait.
cdef void watchers_tell(PartitionWatchers* watchers, Purgatory purgatory) noexcept nogil
# Tells everyone for the last time; afterwards nobody watches, and nobody can.
cdef void watchers_dismiss(PartitionWatchers* watchers, Purgatory purgatory) noexcept nogil
cdef bint watchers_dismissed(PartitionWatchers* watchers) noexcept nogil
