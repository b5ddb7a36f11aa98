"""The records that were sent and are not acknowledged: a deque of batches for each partition (RecordAccumulator of
Apache Kafka).

The application appends to the last batch of a partition's deque, the sender drains the first one; a batch that has to
be sent again goes back to where its number belongs. Pure: no clock, no thread and no socket, but for the eventfds of
threads that wait.

Concurrency: everything is guarded by `mutex`, which is held for one record's encoding or one look over the partitions
with batches, and under which nothing else is taken and the GIL is never waited for. A thread that holds the GIL may try
for it (`pthread_mutex_trylock`); when that fails it gives the GIL up first.
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
    APPEND_NO_ROOM = 1         # of `buffer.memory`: wait for some
    APPEND_CLOSED = 2          # the producer is being closed
    APPEND_NO_MEMORY = 3       # of this machine
    APPEND_NO_PARTITION = 4    # the topic has no such partition
    APPEND_NEEDS_CLOCK = 5     # a batch has to be begun: append again, and say when it is
    APPEND_TOO_LARGE = 6       # no request may carry the record

cdef enum:
    LINGER_UNTIL_ANSWERED = -1     # no linger.ms: a batch leaves when nothing of its partition is in flight

cdef struct Placement:
    ProducerBatch* batch       # the accumulator's: to be held by who looks at it beyond the mutex
    int32_t index              # of the record in it
    bint wake                  # the sender sleeps and has something to do


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
    cdef int64_t last_call                     # counts calls of `send_batch`
    cdef int32_t flush_count                   # flushes under way
    cdef bint is_closing
    cdef bint is_completing                    # a transaction is: nothing lingers
    cdef bint sender_sleeps                    # until it is woken
    cdef int64_t delivering                    # the number of the batch whose callbacks are being called, else INT64_MAX
    cdef bint has_done
    cdef WaitList flush_waiters
    cdef WaitList result_waiters
    cdef list topics                           # Topic objects: they own the queues

    cdef str topic_name(self, const ProducerBatch* batch)     # with the GIL, mutex or not
    cdef void lock(self) noexcept nogil
    cdef bint try_lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil

    # All of the following with the mutex held.
    # `now_ns` 0: append only to a batch that is open, since that needs no clock.
    # `partition` PARTITION_NOT_CHOSEN leaves it to the partitioner. `large_bytes`: what a new batch had better hold,
    # where it is more than batch.size.
    cdef AppendStatus append(self, TopicQueues* topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                             int64_t now_ns, size_t large_bytes, Waiter* waiter, Placement* out) noexcept nogil
    cdef void close_open_batch(self, PartitionQueue* queue) noexcept nogil
    # Whether the foremost batch may leave; otherwise `next_ns` is moved to when it will by itself, if it is earlier.
    cdef bint is_ready(self, PartitionQueue* queue, int64_t now_ns, int64_t* next_ns) noexcept nogil
    cdef ProducerBatch* take_first(self, PartitionQueue* queue) noexcept nogil
    cdef void put_back(self, ProducerBatch* batch) noexcept nogil
    cdef void put_back_later(self, ProducerBatch* batch) noexcept nogil
    # Splits a batch that is in no deque and puts its parts back; False when it has only one record, or no memory.
    cdef bint split(self, ProducerBatch* batch) noexcept nogil
    # The end of a batch: sets its outcome, tells whoever waits, gives its memory back unless a request still needs it.
    # The batch is in no deque. Everything else of its outcome has been set.
    cdef void finish(self, ProducerBatch* batch, BatchOutcome outcome) noexcept nogil
    cdef void fail(self, ProducerBatch* batch, int16_t error_code) noexcept nogil
    # Batches with callbacks, one at a time, and that their callbacks were called.
    cdef ProducerBatch* take_done(self) noexcept nogil
    cdef void delivered(self, ProducerBatch* batch) noexcept nogil
    # Whether all batches up to a number are done, and their callbacks called.
    cdef bint is_flushed(self, int64_t number) noexcept nogil
    cdef void tell_flushed(self) noexcept nogil
    # The foremost batch whose delivery.timeout.ms is over, taken out of its deque; NULL when there is none.
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
    """A topic's name and queues; kept by the accumulator, so that native threads may hold `queues`."""
    cdef readonly str name
    cdef bytes encoded
    cdef TopicQueues queues
    cdef RecordAccumulator accumulator

    # With the GIL and without the mutex: what metadata says of leaders, as (slot, epoch) of partitions 0, 1, ...
    cdef int set_leaders(self, bytes id, list leaders) except -1
    # Sets how many partitions there are; a topic never shrinks.
    cdef int set_partition_count(self, int32_t count) except -1
