"""Requests of Python handlers that wait in a purgatory: a fetch for records, a produce for its acknowledgement.

The handler passes a callable. When the operation completes, on any thread, a HandlerEvent carries its number to the
RequestChannel, and a handler thread calls it. The completing thread needs no GIL: native code has only the numbers, and
the callables are in a dictionary of DelayedRequests, which must outlive the purgatories.
"""

from libc.stdint cimport int16_t, int32_t, int64_t
from libc.stdlib cimport calloc, free

from kcore.errors cimport NONE
from kcore.purgatory.handler_event cimport HandlerEvent, HandlerEventSink
from kcore.purgatory.purgatory cimport DelayedOperation, Purgatory
from kcore.replication.partition cimport Partition
from kcore.replication.partition_wait cimport AwaitedPartition, are_acknowledged, awaited_error, wait_for_partitions

from kcore.logger import get_logger
from kcore.storage.log_read cimport readable_log_bytes

LOG = get_logger("kcore.server.request")

# A partition that a request waits for. A read stopped at `position` of the segment at `segment_base_offset`.
cdef struct Watched:
    AwaitedPartition awaited     # first: wait_for_partitions steps through these
    int32_t leader_epoch
    int64_t max_bytes
    int64_t segment_base_offset
    int64_t position

cdef struct DelayedRequest:
    DelayedOperation operation   # first: cast to DelayedRequest in the callbacks
    void* owner
    int64_t number
    int isolation
    int64_t min_bytes
    int16_t acks
    int32_t count
    Watched watched[1]           # `count` of them follow

cdef struct WakeUp:
    HandlerEvent event           # first: cast to WakeUp in the callbacks
    void* owner
    int64_t number


cdef class DelayedRequests:
    """Wakes the handlers of delayed requests. It must outlive the purgatories and the sink."""

    cdef HandlerEventSink sink
    cdef dict waiting
    cdef int64_t last_number

    def __init__(self, HandlerEventSink sink not None):
        self.sink = sink
        self.waiting = {}

    def wait_for_records(self, Purgatory purgatory not None, list reads not None, int isolation, int64_t min_bytes,
                         int64_t timeout_ms, object wake) -> None:
        """Calls `wake()` when `min_bytes` are readable in total, leadership is lost or `timeout_ms` has passed.

        `reads` lists (partition, leader epoch, max bytes, segment base offset, position): where each read stopped.
        """
        cdef DelayedRequest* request = self.new_request(len(reads), wake)
        cdef Watched* watched
        cdef int32_t index = 0
        request.operation.try_complete = has_enough
        request.isolation = isolation
        request.min_bytes = min_bytes
        for partition, leader_epoch, max_bytes, segment_base_offset, position in reads:
            watched = &request.watched[index]
            watched.awaited.partition = (<Partition?>partition).pin()
            watched.leader_epoch = leader_epoch
            watched.max_bytes = max_bytes
            watched.segment_base_offset = segment_base_offset
            watched.position = position
            index += 1
        self.watch(purgatory, request, timeout_ms)

    def wait_for_acknowledgement(self, Purgatory purgatory not None, list appends not None, int16_t acks,
                                 int64_t timeout_ms, object wake) -> None:
        """Calls `wake()` when every (partition, offset) is acknowledged as `acks` requires, or after `timeout_ms`."""
        cdef DelayedRequest* request = self.new_request(len(appends), wake)
        cdef int32_t index = 0
        request.operation.try_complete = is_acknowledged
        request.acks = acks
        for partition, required_offset in appends:
            request.watched[index].awaited.partition = (<Partition?>partition).pin()
            request.watched[index].awaited.required_offset = required_offset
            index += 1
        self.watch(purgatory, request, timeout_ms)

    cdef DelayedRequest* new_request(self, Py_ssize_t count, object wake) except NULL:
        cdef DelayedRequest* request = <DelayedRequest*>calloc(
            1, sizeof(DelayedRequest) + <size_t>count * sizeof(Watched))
        if request == NULL:
            raise MemoryError
        self.last_number += 1
        self.waiting[self.last_number] = wake
        request.owner = <void*>self
        request.number = self.last_number
        request.count = <int32_t>count
        request.operation.complete = wake_handler
        request.operation.release = free_request
        return request

    cdef int watch(self, Purgatory purgatory, DelayedRequest* request, int64_t timeout_ms) except -1:
        cdef bint waits
        with nogil:
            waits = wait_for_partitions(purgatory, &request.operation, &request.watched[0].awaited, sizeof(Watched),
                                        request.count, timeout_ms)
        if not waits:
            free_request(&request.operation)
            raise MemoryError
        return 0

    cdef void call(self, int64_t number) noexcept:
        wake = self.waiting.pop(number, None)
        if wake is None:
            return
        try:
            wake()
        except Exception as error:
            LOG.error("A delayed request failed", cause=error)


def acknowledgement_error(Partition partition not None, int16_t acks, int64_t required_offset) -> int:
    """The error code of a produce that is answered now. It is REQUEST_TIMED_OUT if the acknowledgement is missing."""
    cdef AwaitedPartition awaited = AwaitedPartition(<void*>partition, required_offset)
    cdef int16_t error
    with nogil:
        error = awaited_error(&awaited, acks)
    return error


cdef bint has_enough(DelayedOperation* operation) noexcept nogil:
    """Counts the readable bytes from where the reads stopped; reads nothing (Kafka's `DelayedFetch.tryComplete`)."""
    cdef DelayedRequest* request = <DelayedRequest*>operation
    cdef Watched* watched
    cdef int32_t index
    cdef int64_t readable = 0
    for index in range(request.count):
        watched = &request.watched[index]
        if (<Partition>watched.awaited.partition).check_leadership(watched.leader_epoch) != NONE:
            return True
        readable += min(watched.max_bytes, readable_log_bytes(
            (<Partition>watched.awaited.partition).log, watched.segment_base_offset, watched.position,
            request.isolation))
        if readable >= request.min_bytes:
            return True
    return False


cdef bint is_acknowledged(DelayedOperation* operation) noexcept nogil:
    cdef DelayedRequest* request = <DelayedRequest*>operation
    return are_acknowledged(&request.watched[0].awaited, sizeof(Watched), request.count, request.acks)


cdef void wake_handler(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef DelayedRequest* request = <DelayedRequest*>operation
    cdef WakeUp* wake_up = <WakeUp*>calloc(1, sizeof(WakeUp))
    if wake_up == NULL:
        return
    wake_up.event.run = run_wake_up
    wake_up.event.drop = drop_wake_up
    wake_up.owner = request.owner
    wake_up.number = request.number
    if not (<DelayedRequests>request.owner).sink.push_event(&wake_up.event):
        free(wake_up)


cdef void run_wake_up(HandlerEvent* event) noexcept:
    cdef WakeUp* wake_up = <WakeUp*>event
    cdef int64_t number = wake_up.number
    owner = <DelayedRequests>wake_up.owner
    free(wake_up)
    owner.call(number)


cdef void drop_wake_up(HandlerEvent* event) noexcept nogil:
    free(event)


cdef void free_request(DelayedOperation* operation) noexcept nogil:
    cdef DelayedRequest* request = <DelayedRequest*>operation
    cdef int32_t index
    for index in range(request.count):
        if request.watched[index].awaited.partition != NULL:
            (<Partition>request.watched[index].awaited.partition).unpin()
    free(request)
