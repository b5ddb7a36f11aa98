"""SenderControl: access to a producer's sender for the background thread and for transactions.

Concurrency: each call takes the accumulator's mutex, without the GIL.

Concurrency: each call takes the accumulator's mutex for itself, without the GIL.
"""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.producer.partition_queue cimport PART_ADDED, PART_NOT_ADDED, PartitionQueue
from kcore.client.producer.producer_batch cimport ERROR_ABORTED
from kcore.client.producer.record_accumulator cimport RecordAccumulator, Topic
from kcore.client.producer.record_future cimport deliver
from kcore.client.producer.sender cimport Sender


@cython.final
cdef class SenderControl:
    """`topics` is the producer's table of topics by name. `set_leaders` adds to it."""

    cdef RecordAccumulator accumulator
    cdef Sender sender
    cdef NetworkClient network
    cdef dict topics

    def __init__(self, RecordAccumulator accumulator not None, Sender sender not None, NetworkClient network not None,
                 dict topics not None):
        self.accumulator = accumulator
        self.sender = sender
        self.network = network
        self.topics = topics

    def take_events(self):
        """Return the sender's events since the last call (SenderEvent), and its last error code."""
        cdef int events, error_code
        with nogil:
            self.accumulator.lock()
            events = self.sender.events
            error_code = self.sender.error_code
            self.sender.events = 0
            self.accumulator.unlock()
        return events, error_code

    def deliver(self):
        """Run the callbacks of finished batches. Returns the number of batches."""
        return deliver(self.accumulator)

    def set_leaders(self, str name not None, bytes id not None, list leaders not None):
        """Set the leaders of a topic's partitions, each as (slot, epoch)."""
        cdef Topic topic = self.topics.get(name)
        cdef bint wake
        if topic is None:
            topic = self.accumulator.add_topic(name, 0)
            topic.set_leaders(id, leaders)
            self.topics[name] = topic
        else:
            topic.set_leaders(id, leaders)
        with nogil:
            self.accumulator.lock()
            wake = self.accumulator.wake_sender()
            self.accumulator.unlock()
            if wake:
                self.network.wake()

    def take_named_leaders(self):
        """Return newer leaders from produce responses, as (topic, partition, node id, epoch) (KIP-951)."""
        cdef Topic topic
        cdef PartitionQueue* queue
        cdef int32_t i, leader, epoch
        named = []
        for topic in list(self.topics.values()):
            for i in range(topic.queues.queue_count):
                with nogil:
                    self.accumulator.lock()
                    queue = topic.queues.queues[i]
                    leader, epoch = queue.named_leader, queue.named_epoch
                    queue.named_leader = -1
                    self.accumulator.unlock()
                if leader >= 0:
                    named.append((topic.name, i, leader, epoch))
        return named

    def used_topics(self):
        """Return the topics with records that are not acknowledged yet."""
        cdef Topic topic
        cdef int32_t i
        cdef bint is_used
        used = []
        for topic in list(self.topics.values()):
            is_used = False
            with nogil:
                self.accumulator.lock()
                for i in range(topic.queues.queue_count):
                    is_used |= topic.queues.queues[i].first != NULL or topic.queues.queues[i].in_flight > 0
                self.accumulator.unlock()
            if is_used:
                used.append(topic.name)
        return used

    def set_producer_id(self, int64_t producer_id, int16_t epoch):
        """Set the producer id and epoch of later batches."""
        with nogil:
            self.accumulator.lock()
            self.sender.set_producer_id(producer_id, epoch)
            self.accumulator.wake_sender()
            self.accumulator.unlock()
            self.network.wake()

    def take_transaction_error(self):
        """Return and clear the code of the last error that ends the transaction; 0 if there is none."""
        cdef int code
        with nogil:
            self.accumulator.lock()
            code = self.sender.fatal_error if self.sender.fatal_error != 0 else self.sender.error_code
            self.sender.error_code = 0
            self.accumulator.unlock()
        return code

    def partitions_to_add(self):
        """Return (topic, partition) of the partitions with batches that are not part of the transaction yet."""
        cdef Topic topic
        cdef PartitionQueue* queue
        cdef int32_t i
        cdef bint is_missing
        found = []
        for topic in list(self.topics.values()):
            for i in range(topic.queues.queue_count):
                with nogil:
                    self.accumulator.lock()
                    queue = topic.queues.queues[i]
                    is_missing = queue.first != NULL and queue.transaction_part == PART_NOT_ADDED
                    self.accumulator.unlock()
                if is_missing:
                    found.append((topic.name, i))
        return found

    def add_to_transaction(self, list partitions):
        """Note that the coordinator has added these partitions: their batches may be sent."""
        cdef Topic topic
        cdef int32_t number
        for name, number in partitions:
            topic = self.topics[name]
            with nogil:
                self.accumulator.lock()
                topic.queues.queues[number].transaction_part = PART_ADDED
                self.accumulator.unlock()
        with nogil:
            self.accumulator.lock()
            self.accumulator.wake_sender()
            self.accumulator.unlock()
            self.network.wake()

    def leave_transaction(self):
        """Reset the partitions after the end of a transaction: the next one has none yet."""
        cdef Topic topic
        cdef int32_t i
        for topic in list(self.topics.values()):
            with nogil:
                self.accumulator.lock()
                for i in range(topic.queues.queue_count):
                    topic.queues.queues[i].transaction_part = PART_NOT_ADDED
                self.accumulator.unlock()

    def abort_undrained(self):
        """Fail the records that were not sent yet with RecordAborted."""
        self.fail(ERROR_ABORTED, False)

    def fail(self, int code, bint is_fatal):
        """Fail the records that are not in flight. After a fatal error, later records fail as well."""
        with nogil:
            self.accumulator.lock()
            if is_fatal:
                self.sender.fatal_error = code
            self.sender.fail_undrained(code)
            if self.accumulator.has_done:
                self.sender.tell_background(1)
            self.accumulator.unlock()
