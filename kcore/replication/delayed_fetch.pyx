"""Fetches of the Python path that wait for records: the same wait as the native path's, answered by a handler thread.

An append or the timing wheel completes the wait on a thread that may not touch Python, so completion pushes an event to
the handlers' sink. The callback stays in `callbacks` until its event ran; an event dropped at shutdown leaves it there.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from kcore.errors cimport NONE
from kcore.platform.sync cimport atomic_add_32
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.replication.partition cimport Partition
from kcore.replication.replica_manager cimport ReplicaManager

cdef struct WaitingPartition:
    void* partition              # pinned
    int64_t segment_base_offset
    int64_t position
    int64_t max_bytes
    int32_t leader_epoch

cdef struct WaitingFetch

cdef struct WokenEvent:
    HandlerEvent event           # first: the sink knows a WokenEvent by it
    WaitingFetch* fetch

cdef struct WaitingFetch:
    DelayedOperation operation   # first: the purgatory knows a WaitingFetch by it
    WokenEvent woken
    int32_t holders              # the purgatory, and the event once it is pushed
    void* owner                  # the DelayedFetches
    uint64_t number              # of its callback
    int isolation
    int64_t min_bytes
    int32_t count
    WaitingPartition partitions[1]  # `count` of them follow


cdef class DelayedFetches:
    """The waiting fetches of the Python path.

    Parameters: `replicas` the broker's partitions; `sink` takes what handler threads are to run.
    """
    cdef ReplicaManager replicas
    cdef HandlerEventSink sink
    cdef dict callbacks
    cdef uint64_t last_number

    def __init__(self, ReplicaManager replicas not None, HandlerEventSink sink not None):
        self.replicas = replicas
        self.sink = sink
        self.callbacks = {}

    def wait(self, list partitions not None, int isolation, int64_t min_bytes, int64_t max_wait_ms, callback):
        """Calls `callback()` on a handler thread when `min_bytes` are readable, leadership changed or time is up.

        `partitions` holds (Partition, segment_base_offset, position, max_bytes, leader_epoch), the places as the first
        read's FetchOutcome named them.
        """
        cdef int32_t count = len(partitions)
        cdef WaitingFetch* fetch = <WaitingFetch*>calloc(1, sizeof(WaitingFetch) + count * sizeof(WaitingPartition))
        cdef uint64_t* keys = <uint64_t*>malloc(max(1, count) * sizeof(uint64_t))
        cdef int32_t position
        cdef Partition partition
        if fetch == NULL or keys == NULL:
            free(fetch)
            free(keys)
            raise MemoryError
        for position, (partition, base_offset, place, max_bytes, leader_epoch) in enumerate(partitions):
            fetch.partitions[position] = WaitingPartition(partition.pin(), base_offset, place, max_bytes, leader_epoch)
            keys[position] = partition.key
        self.last_number += 1
        self.callbacks[self.last_number] = callback
        fetch.owner = <void*>self
        fetch.number = self.last_number
        fetch.holders = 1
        fetch.isolation = isolation
        fetch.min_bytes = min_bytes
        fetch.count = count
        fetch.operation.context = fetch
        fetch.operation.try_complete = has_enough
        fetch.operation.complete = push_event
        fetch.operation.release = release_operation
        fetch.woken.fetch = fetch
        fetch.woken.event.run = run_callback
        fetch.woken.event.drop = drop_event
        with nogil:
            self.replicas.fetch_purgatory.try_complete_else_watch(&fetch.operation, keys, count, max_wait_ms)
            free(keys)


cdef bint has_enough(DelayedOperation* operation) noexcept nogil:
    cdef WaitingFetch* fetch = <WaitingFetch*>operation
    cdef WaitingPartition* waiting
    cdef int32_t position
    cdef int64_t readable = 0
    for position in range(fetch.count):
        waiting = &fetch.partitions[position]
        if (<Partition>waiting.partition).check_leadership(waiting.leader_epoch) != NONE:
            return True
        readable += min(waiting.max_bytes, (<Partition>waiting.partition).log.readable_bytes(
            waiting.segment_base_offset, waiting.position, fetch.isolation))
        if readable >= fetch.min_bytes:
            return True
    return False


cdef void push_event(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef WaitingFetch* fetch = <WaitingFetch*>operation
    atomic_add_32(&fetch.holders, 1)
    if not (<DelayedFetches>fetch.owner).sink.push_event(&fetch.woken.event):
        let_go(fetch)


cdef void release_operation(DelayedOperation* operation) noexcept nogil:
    let_go(<WaitingFetch*>operation)


cdef void run_callback(HandlerEvent* event) noexcept:
    cdef WaitingFetch* fetch = (<WokenEvent*>event).fetch
    callback = (<DelayedFetches>fetch.owner).callbacks.pop(fetch.number)
    let_go(fetch)
    callback()


cdef void drop_event(HandlerEvent* event) noexcept nogil:
    let_go((<WokenEvent*>event).fetch)


cdef void let_go(WaitingFetch* fetch) noexcept nogil:
    cdef int32_t position
    if atomic_add_32(&fetch.holders, -1) > 0:
        return
    for position in range(fetch.count):
        (<Partition>fetch.partitions[position].partition).unpin()
    free(fetch)
