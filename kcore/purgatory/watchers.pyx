"""The watcher lists, sharded by key so that partitions do not contend for one lock.

The conditions of operations take locks that come before a shard's lock in the order. So a list is not walked while they
are evaluated: that is done on a snapshot, which holds references. Completed operations stay in the lists of their other
keys until a sweep removes them.

Concurrency: one lock per shard, held while a list is searched, extended, copied or swept. `release` of an operation is
never called under it.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from kcore.platform.sync cimport (
    atomic_add_64, pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)
from kcore.purgatory.delayed_operation cimport (
    DelayedOperation, operation_acquire, operation_is_completed, operation_release,
)


cdef inline uint64_t mixed(uint64_t key) noexcept nogil:
    """The finalizer of splitmix64, because keys are often small numbers."""
    key = (key ^ (key >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    key = (key ^ (key >> 27)) * <uint64_t>0x94D049BB133111EB
    return key ^ (key >> 31)


cdef inline WatcherShard* shard_of(WatcherTable* table, uint64_t key) noexcept nogil:
    return &table.shards[mixed(key) % SHARDS]


cdef inline WatchList** bucket_of(WatcherShard* shard, uint64_t key) noexcept nogil:
    return &shard.lists[(mixed(key) // SHARDS) % SHARD_BUCKETS]


cdef WatchList** find(WatcherShard* shard, uint64_t key) noexcept nogil:
    """The link that points to the key's list, or the NULL link where it belongs."""
    cdef WatchList** link = bucket_of(shard, key)
    while link[0] != NULL and link[0].key != key:
        link = &link[0].next
    return link


cdef bint watchers_init(WatcherTable* table) noexcept nogil:
    cdef int i
    table.watched = 0
    table.shards = <WatcherShard*>calloc(SHARDS, sizeof(WatcherShard))
    if table.shards == NULL:
        return False
    for i in range(SHARDS):
        pthread_mutex_init(&table.shards[i].lock, NULL)
    return True


cdef void watchers_free(WatcherTable* table) noexcept nogil:
    cdef int i, j
    cdef WatchNode* removed
    if table.shards == NULL:
        return
    for i in range(SHARDS):
        for j in range(SHARD_BUCKETS):
            while table.shards[i].lists[j] != NULL:
                removed = NULL
                sweep_list(table, &table.shards[i].lists[j], True, &removed)
                drop_nodes(removed)
        pthread_mutex_destroy(&table.shards[i].lock)
    free(table.shards)
    table.shards = NULL


cdef bint watchers_add(WatcherTable* table, uint64_t key, DelayedOperation* operation) noexcept nogil:
    cdef WatcherShard* shard = shard_of(table, key)
    cdef WatchNode* node = <WatchNode*>malloc(sizeof(WatchNode))
    cdef WatchList** link
    if node == NULL:
        return False
    node.next = NULL
    node.operation = operation
    operation_acquire(operation)
    pthread_mutex_lock(&shard.lock)
    link = find(shard, key)
    if link[0] == NULL:
        link[0] = <WatchList*>calloc(1, sizeof(WatchList))
        if link[0] == NULL:
            pthread_mutex_unlock(&shard.lock)
            drop_nodes(node)
            return False
        link[0].key = key
    if link[0].last != NULL:
        link[0].last.next = node
    else:
        link[0].first = node
    link[0].last = node
    link[0].count += 1
    atomic_add_64(&table.watched, 1)
    pthread_mutex_unlock(&shard.lock)
    return True


cdef void watchers_snapshot(WatcherTable* table, uint64_t key, WatchSnapshot* out) noexcept nogil:
    """If memory for a long list is exhausted, takes its first part; the others complete at their next event."""
    cdef WatcherShard* shard = shard_of(table, key)
    cdef WatchList* watched
    cdef WatchNode* node
    cdef int32_t capacity = INLINE_SNAPSHOT
    out.operations = out.few
    out.count = 0
    pthread_mutex_lock(&shard.lock)
    watched = find(shard, key)[0]
    if watched != NULL:
        if watched.count > INLINE_SNAPSHOT:
            out.operations = <DelayedOperation**>malloc(<size_t>watched.count * sizeof(DelayedOperation*))
            if out.operations == NULL:
                out.operations = out.few
            else:
                capacity = watched.count
        node = watched.first
        while node != NULL and out.count < capacity:
            operation_acquire(node.operation)
            out.operations[out.count] = node.operation
            out.count += 1
            node = node.next
    pthread_mutex_unlock(&shard.lock)


cdef void snapshot_release(WatchSnapshot* snapshot) noexcept nogil:
    cdef int32_t i
    for i in range(snapshot.count):
        operation_release(snapshot.operations[i])
    if snapshot.operations != snapshot.few:
        free(snapshot.operations)


cdef void drop_nodes(WatchNode* node) noexcept nogil:
    cdef WatchNode* following
    while node != NULL:
        following = node.next
        operation_release(node.operation)
        free(node)
        node = following


cdef int64_t sweep_list(WatcherTable* table, WatchList** link, bint everything, WatchNode** removed) noexcept nogil:
    """Moves completed entries of one list to `removed`. Frees the list if it is empty then."""
    cdef WatchList* watched = link[0]
    cdef WatchNode** node_link = &watched.first
    cdef WatchNode* node
    cdef int64_t count = 0
    watched.last = NULL
    while node_link[0] != NULL:
        node = node_link[0]
        if everything or operation_is_completed(node.operation):
            node_link[0] = node.next
            node.next = removed[0]
            removed[0] = node
            count += 1
        else:
            watched.last = node
            node_link = &node.next
    watched.count -= <int32_t>count
    atomic_add_64(&table.watched, -count)
    if watched.first == NULL:
        link[0] = watched.next
        free(watched)
    return count


cdef int64_t watchers_sweep(WatcherTable* table, uint64_t key) noexcept nogil:
    cdef WatcherShard* shard = shard_of(table, key)
    cdef WatchNode* removed = NULL
    cdef WatchList** link
    cdef int64_t count = 0
    pthread_mutex_lock(&shard.lock)
    link = find(shard, key)
    if link[0] != NULL:
        count = sweep_list(table, link, False, &removed)
    pthread_mutex_unlock(&shard.lock)
    drop_nodes(removed)
    return count


cdef int64_t watchers_sweep_all(WatcherTable* table) noexcept nogil:
    cdef int i, j
    cdef WatchNode* removed
    cdef WatchList** link
    cdef WatchList* before
    cdef int64_t count = 0
    for i in range(SHARDS):
        removed = NULL
        pthread_mutex_lock(&table.shards[i].lock)
        for j in range(SHARD_BUCKETS):
            link = &table.shards[i].lists[j]
            while link[0] != NULL:
                before = link[0]
                count += sweep_list(table, link, False, &removed)
                if link[0] == before:
                    link = &before.next
        pthread_mutex_unlock(&table.shards[i].lock)
        drop_nodes(removed)
    return count
