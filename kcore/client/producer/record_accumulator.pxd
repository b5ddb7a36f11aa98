"""RecordAccumulator: records that are not acknowledged yet, as a deque of batches per partition (Kafka's
RecordAccumulator).

The application appends to the last batch of a partition's deque, and the sender drains the first one. A batch that is
sent again is put back in the order of batch numbers. No clock, thread or socket is used, except for the eventfds of
waiting threads.

Concurrency: `mutex` guards everything. It is held while one record is encoded, or for one pass over the partitions with
batches. No other lock is taken under it, and no thread waits for the GIL under it. A thread with the GIL may try the
mutex (`pthread_mutex_trylock`); if that fails, it releases the GIL before it waits.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.client.producer.buffer_pool cimport BufferPool
from kcore.client.producer.partition_queue cimport PartitionQueue, TopicQueues
from kcore.client.producer.partitioner cimport Partitioner
from kcore.client.producer.producer_batch cimport BatchOutcome, ProducerBatch
from kcore.client.producer.waiter cimport Waiter, WaitList
from kcore.platform.sync cimport pthread_mutex_t
from kcore.record.record cimport RecordView

cdef enum AppendStatus:
    APPENDED = 0
    APPEND_NO_ROOM = 1         # `buffer.memory` is exhausted: wait
    APPEND_CLOSED = 2          # the producer is being closed
    APPEND_NO_MEMORY = 3       # memory cannot be allocated
    APPEND_NO_PARTITION = 4    # the topic has no such partition
    APPEND_NEEDS_CLOCK = 5     # a new batch is needed: append again with the current time
    APPEND_TOO_LARGE = 6       # the record exceeds the maximum request size

cdef enum:
    LINGER_UNTIL_ANSWERED = -1     # no linger.ms: a batch is sent when nothing of its partition is in flight

cdef struct Placement:
    ProducerBatch* batch       # hold it to use it after the mutex is released
    int32_t index              # of the record in it
    bint wake                  # the sender sleeps and must be woken


cdef class RecordAccumulator:
    cdef pthread_mutex_t mutex
    cdef readonly BufferPool pool
    cdef Partitioner partitioner
    cdef size_t batch_bytes                    # batch.size
    cdef int64_t linger_ns
    cdef int64_t delivery_timeout_ns
    cdef int64_t backoff_ns, backoff_max_ns    # retry.backoff.ms, retry.backoff.max.ms
    cdef PartitionQueue* first_active          # partitions with batches
    cdef PartitionQueue* last_active
    cdef ProducerBatch* first_incomplete
    cdef ProducerBatch* last_incomplete
    cdef ProducerBatch* first_done             # with callbacks, for the background thread
    cdef ProducerBatch* last_done
    cdef int64_t last_number
    cdef int64_t incomplete_count
    cdef int64_t live_batches                  # for tests: 0 after close
    cdef int64_t last_call                     # number of calls of `send_batch`
    cdef int32_t flush_count                   # running flushes
    cdef bint is_closing
    cdef bint is_completing                    # a transaction is completing: batches do not linger
    cdef bint sender_sleeps                    # until it is woken
    cdef int64_t delivering                    # number of the batch whose callbacks are running, else INT64_MAX
    cdef bint has_done
    cdef WaitList flush_waiters
    cdef WaitList result_waiters
    cdef list topics                           # Topic objects, which own the queues

    cdef str topic_name(self, const ProducerBatch* batch)     # with the GIL, mutex or not
    cdef void lock(self) noexcept nogil
    cdef bint try_lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil

    # Call all of the following with the mutex held.
    # `now_ns` 0: append only to an open batch, which needs no clock. `partition` PARTITION_NOT_CHOSEN: use the
    # partitioner. `large_bytes`: capacity of a new batch if it is more than batch.size.
    cdef AppendStatus append(self, TopicQueues* topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                             int64_t now_ns, size_t large_bytes, Waiter* waiter, Placement* out) noexcept nogil
    cdef void close_open_batch(self, PartitionQueue* queue) noexcept nogil
    # Returns whether the first batch may be sent. Otherwise lowers `next_ns` to when it will be by time alone.
    cdef bint is_ready(self, PartitionQueue* queue, int64_t now_ns, int64_t* next_ns) noexcept nogil
    cdef ProducerBatch* take_first(self, PartitionQueue* queue) noexcept nogil
    cdef void put_back(self, ProducerBatch* batch) noexcept nogil
    cdef void put_back_later(self, ProducerBatch* batch) noexcept nogil
    # Splits a batch that is in no deque and puts its parts back. False: it has only one record, or no memory.
    cdef bint split(self, ProducerBatch* batch) noexcept nogil
    # Ends a batch: sets its outcome, wakes waiters, and frees its buffer unless a request still needs it. The batch
    # must be in no deque, and all other fields of its result must be set.
    cdef void finish(self, ProducerBatch* batch, BatchOutcome outcome) noexcept nogil
    cdef void fail(self, ProducerBatch* batch, int16_t error_code) noexcept nogil
    # `take_done` returns batches with callbacks one at a time. Call `delivered` after the callbacks of each have run.
    cdef ProducerBatch* take_done(self) noexcept nogil
    cdef void delivered(self, ProducerBatch* batch) noexcept nogil
    # Returns whether all batches up to a number are done and their callbacks have run.
    cdef bint is_flushed(self, int64_t number) noexcept nogil
    cdef void tell_flushed(self) noexcept nogil
    # Removes the first batch whose delivery.timeout.ms has passed from its deque and returns it; NULL if there is none.
    cdef ProducerBatch* next_expired(self, int64_t now_ns) noexcept nogil
    cdef int64_t next_expiry_ns(self) noexcept nogil
    cdef void activate(self, PartitionQueue* queue) noexcept nogil
    cdef PartitionQueue* next_active_queue(self) noexcept nogil
    cdef bint wake_sender(self) noexcept nogil

    cdef AppendStatus append_to_new(self, PartitionQueue* queue, RecordView* record, int64_t timestamp_ms,
                                    int64_t now_ns, size_t large_bytes, Waiter* waiter,
                                    ProducerBatch** out) noexcept nogil
    cdef void free_buffer(self, ProducerBatch* batch) noexcept nogil
    cdef void list_incomplete(self, ProducerBatch* batch, ProducerBatch* before) noexcept nogil
    cdef void unlist_incomplete(self, ProducerBatch* batch) noexcept nogil
    cdef void tell_waiters(self, ProducerBatch* batch) noexcept nogil


cdef class Topic:
    """A topic's name and queues. The accumulator keeps it alive, so that native threads may use `queues`."""
    cdef readonly str name
    cdef bytes encoded
    cdef TopicQueues queues
    cdef RecordAccumulator accumulator

    # Sets the leaders from metadata, as (slot, epoch) of partitions 0, 1, ... Call with the GIL, without the mutex.
    cdef int set_leaders(self, bytes id, list leaders) except -1
    # Sets the number of partitions.
    cdef int set_partition_count(self, int32_t count) except -1
