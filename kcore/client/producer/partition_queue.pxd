"""The state of one partition in a producer: its batches, leader, batches in flight and sequence numbers.

Concurrency: guarded by the accumulator's mutex. The structs live as long as the accumulator.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from kcore.client.producer.partition_sequences cimport PartitionSequences
from kcore.client.producer.producer_batch cimport ProducerBatch
from kcore.platform.sync cimport atomic_load_32

cdef enum TransactionPart:
    PART_NOT_ADDED = 0         # not part of the transaction: no batch may be sent
    PART_ADDED = 1

cdef struct TopicQueues

cdef struct PartitionQueue:
    TopicQueues* topic
    int32_t partition
    # The deque: the next batch to send is `first`; records are appended to `last`
    ProducerBatch* first
    ProducerBatch* last
    int32_t batch_count
    PartitionQueue* next_active    # in the list of partitions with batches
    bint is_active
    # The leader
    int32_t node               # the leader's slot; NO_NODE: none, or not known
    int32_t leader_epoch
    int32_t named_leader       # a newer leader from a response, for the background thread (KIP-951); -1: none
    int32_t named_epoch
    # Used by the sender
    int32_t in_flight          # batches
    bint is_muted              # a request is in flight, and only one is allowed
    bint is_troubled           # in the sender's list: its sequences are unresolved, or must be restarted
    PartitionQueue* next_troubled
    int8_t transaction_part
    PartitionSequences sequences

cdef struct TopicQueues:
    const uint8_t* name        # UTF-8; owned by the Topic object
    int32_t name_size
    void* owner                # the Topic object
    bint is_used               # since the background thread last looked
    uint8_t[16] id             # zeros: not known
    bint has_id
    int32_t partition_count    # 0: not known; also written atomically, see partition_count_of
    int32_t queue_count
    PartitionQueue** queues    # one per partition
    # Sticky partitioning (KIP-794)
    int32_t sticky_partition   # -1: choose
    int64_t sticky_bytes       # appended there since it was chosen
    int32_t turn               # round robin


cdef inline int32_t partition_count_of(const TopicQueues* topic) noexcept nogil:
    """Return the number of partitions, without the mutex."""
    return atomic_load_32(&topic.partition_count)


cdef inline void queue_push_last(PartitionQueue* queue, ProducerBatch* batch) noexcept nogil:
    batch.next = NULL
    batch.previous = queue.last
    if queue.last == NULL:
        queue.first = batch
    else:
        queue.last.next = batch
    queue.last = batch
    queue.batch_count += 1


cdef inline void queue_insert_before(PartitionQueue* queue, ProducerBatch* batch, ProducerBatch* place) noexcept nogil:
    """Insert before `place`; NULL: at the end."""
    if place == NULL:
        queue_push_last(queue, batch)
        return
    batch.next = place
    batch.previous = place.previous
    if place.previous == NULL:
        queue.first = batch
    else:
        place.previous.next = batch
    place.previous = batch
    queue.batch_count += 1


cdef inline void queue_remove(PartitionQueue* queue, ProducerBatch* batch) noexcept nogil:
    if batch.previous == NULL:
        queue.first = batch.next
    else:
        batch.previous.next = batch.next
    if batch.next == NULL:
        queue.last = batch.previous
    else:
        batch.next.previous = batch.previous
    batch.next = batch.previous = NULL
    queue.batch_count -= 1
