"""The operations that watch each key."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from kcore.platform.sync cimport pthread_mutex_t
from kcore.purgatory.delayed_operation cimport DelayedOperation

cdef enum:
    SHARDS = 64
    SHARD_BUCKETS = 64
    INLINE_SNAPSHOT = 32

cdef struct WatchNode:
    WatchNode* next
    DelayedOperation* operation  # with a reference

cdef struct WatchList:
    WatchList* next              # in its hash bucket
    uint64_t key
    int32_t count
    WatchNode* first
    WatchNode* last

cdef struct WatcherShard:
    pthread_mutex_t lock
    WatchList* lists[64]

cdef struct WatcherTable:
    WatcherShard* shards
    int64_t watched

# The operations of a key at one moment, each with a reference.
cdef struct WatchSnapshot:
    DelayedOperation** operations
    int32_t count
    DelayedOperation* few[32]

cdef bint watchers_init(WatcherTable* table) noexcept nogil
# Drops every list with its references.
cdef void watchers_free(WatcherTable* table) noexcept nogil
# Adds the operation to the key's list, with a reference. False if memory is exhausted.
cdef bint watchers_add(WatcherTable* table, uint64_t key, DelayedOperation* operation) noexcept nogil
cdef void watchers_snapshot(WatcherTable* table, uint64_t key, WatchSnapshot* out) noexcept nogil
# Drops the references and frees the memory.
cdef void snapshot_release(WatchSnapshot* snapshot) noexcept nogil
# Removes completed operations from one key's list, or from all. Returns the number of entries removed.
cdef int64_t watchers_sweep(WatcherTable* table, uint64_t key) noexcept nogil
cdef int64_t watchers_sweep_all(WatcherTable* table) noexcept nogil
