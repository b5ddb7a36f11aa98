"""Drives a Sender and its accumulator as an engine and an application would, with a clock and a network that the test holds."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset
from kcore.client.network.client_request cimport (
    REPLY_OK, ClientRequest, ReceivedFrame, ReplyStatus, frame_new, frame_release,
)
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.producer.partition_queue cimport PART_ADDED, PART_NOT_ADDED, PartitionQueue
from kcore.client.producer.partitioner cimport PARTITION_NOT_CHOSEN
from kcore.client.producer.producer_batch cimport (
    ProducerBatch, batch_hold, batch_holding, batch_release, batch_sum_ahead,
)
from kcore.client.producer.record_accumulator cimport (
    APPENDED, AppendStatus, Placement, RecordAccumulator, Topic,
)
from kcore.client.producer.sender cimport Sender
from kcore.record.record cimport RecordView

cdef enum:
    NODES = 16


cdef class ScriptedNetwork(NetworkClient):
    """Keeps what is submitted until the test answers it. Everything happens when the test says so."""

    cdef ClientRequest* first
    cdef ClientRequest* last
    cdef bint[NODES] ready
    cdef bint[NODES] failing
    cdef public int version

    def __init__(self):
        super().__init__([("127.0.0.1", 1)])
        self.version = 11

    def set_ready(self, int node, bint ready):
        self.ready[node] = ready

    def set_failing(self, int node, bint failing):
        """Whether it cannot be connected to."""
        self.failing[node] = failing

    cdef void submit(self, ClientRequest* request) noexcept nogil:
        request.next = NULL
        if self.first == NULL:
            self.first = request
        else:
            self.last.next = request
        self.last = request

    cdef bint is_ready(self, int32_t node, int64_t now_ns) noexcept nogil:
        return self.ready[node]

    cdef bint begin_connecting(self, int32_t node, int64_t now_ns) noexcept nogil:
        return not self.failing[node]

    cdef int16_t version_of(self, int32_t node, int16_t api_key, int16_t lowest, int16_t highest) noexcept nogil:
        return <int16_t>min(self.version, <int>highest) if self.version >= lowest else <int16_t>-1


cdef class SentRequest:
    """One Produce request as it went out."""

    cdef ClientRequest* request
    cdef readonly int node
    cdef readonly int version
    cdef readonly bytes frame
    cdef readonly bint expects_reply

    def finish(self, int status, bytes body=None):
        """Ends it as the engine would; `body` is a response without its header."""
        cdef ReceivedFrame* frame = NULL
        cdef ClientRequest* request = self.request
        assert request != NULL, "finished twice"
        self.request = NULL
        if body is not None:
            frame = frame_new(max(len(body), 1))
            memcpy(frame.data, <const uint8_t*>body, len(body))
            frame.size = len(body)
        with nogil:
            request.finish(request, <ReplyStatus>status, frame, 0)
        if frame != NULL:
            frame_release(frame)


cdef class Record:
    """Where an appended record went, and what became of it."""

    cdef ProducerBatch* batch
    cdef int32_t index

    def __dealloc__(self):
        if self.batch != NULL:
            batch_release(self.batch)

    @property
    def partition(self):
        return self.batch.partition

    @property
    def outcome(self):
        """None, an offset, or a tuple of an error's code, the broker's words, and those about this record."""
        cdef int32_t index = self.index
        cdef int32_t i
        cdef ProducerBatch* batch = batch_holding(self.batch, &index)
        if batch.outcome == 0:
            return None
        if batch.outcome == 1:
            return batch.base_offset + index if batch.base_offset >= 0 else -1
        text = batch.error_text[:batch.error_text_size].decode() if batch.error_text_size >= 0 else None
        own = [batch.refused[i].text[:batch.refused[i].text_size].decode()
               for i in range(batch.refused_count) if batch.refused[i].index == index]
        return batch.error_code, text, own[0] if own else None


cdef class SenderProbe:
    cdef readonly ScriptedNetwork network
    cdef readonly RecordAccumulator accumulator
    cdef readonly Sender sender
    cdef public int64_t now_ns

    def __init__(self, dict accumulator=None, **sender):
        self.network = ScriptedNetwork()
        self.accumulator = RecordAccumulator(**(accumulator or {}))
        self.sender = Sender(self.network, self.accumulator, **sender)
        self.now_ns = 1_000_000_000

    def lead(self, Topic topic, int partition, int node):
        topic.queues.queues[partition].node = node
        self.accumulator.activate(topic.queues.queues[partition])

    def set_leader(self, Topic topic, int partition, int node, int epoch):
        """As metadata does: of all partitions but this one, nothing is said."""
        cdef int i
        leaders = [(topic.queues.queues[i].node, topic.queues.queues[i].leader_epoch)
                   for i in range(topic.queues.partition_count)]
        leaders[partition] = (node, epoch)
        topic.set_leaders(bytes(16), leaders)

    def named_leader(self, Topic topic, int partition):
        return topic.queues.queues[partition].named_leader, topic.queues.queues[partition].named_epoch

    def set_id(self, Topic topic, bytes id):
        memcpy(topic.queues.id, <const uint8_t*>id, 16)
        topic.queues.has_id = True

    def set_producer_id(self, int64_t producer_id, int16_t epoch):
        self.sender.set_producer_id(producer_id, epoch)

    def add_to_transaction(self, Topic topic, int partition, bint added=True):
        topic.queues.queues[partition].transaction_part = PART_ADDED if added else PART_NOT_ADDED

    def producer_id(self):
        return self.sender.producer_id, self.sender.producer_epoch

    def append(self, Topic topic, value, key=None, int partition=PARTITION_NOT_CHOSEN, int64_t timestamp_ms=0,
               bint sum_ahead=False):
        """The appended record, or the AppendStatus that says why it was not; `sum_ahead` as `send_batch` does."""
        cdef RecordView view
        cdef Placement placement
        cdef AppendStatus status
        cdef Record record
        memset(&view, 0, sizeof(view))
        view.key_size = view.value_size = -1
        if key is not None:
            view.key = <const uint8_t*>(<bytes>key)
            view.key_size = <int32_t>len(key)
        if value is not None:
            view.value = <const uint8_t*>(<bytes>value)
            view.value_size = <int32_t>len(value)
        self.accumulator.lock()
        status = self.accumulator.append(&topic.queues, partition, &view, timestamp_ms, self.now_ns, 0, NULL,
                                         &placement)
        if status == APPENDED:
            batch_hold(placement.batch)
            if sum_ahead:
                batch_sum_ahead(placement.batch)
        self.accumulator.unlock()
        if status != APPENDED:
            return <int>status
        record = Record()
        record.batch = placement.batch
        record.index = placement.index
        return record

    def turn(self, double after_ms=0):
        """One turn of the sender; when it wants the next one, in ms from now, None for not by itself."""
        cdef int64_t next_ns
        self.now_ns += <int64_t>(after_ms * 1_000_000)
        with nogil:
            next_ns = self.sender.turn(self.now_ns)
        return None if next_ns == 0x7FFFFFFFFFFFFFFF else (next_ns - self.now_ns) / 1e6

    def sent(self):
        """What was submitted since it was last asked for."""
        cdef ClientRequest* request = self.network.first
        cdef SentRequest sent
        cdef int32_t i
        requests = []
        while request != NULL:
            sent = SentRequest()
            sent.request = request
            sent.node = request.node
            sent.version = request.api_version
            sent.expects_reply = request.expects_reply
            sent.frame = b"".join([
                (<uint8_t*>request.parts[i].iov_base)[:request.parts[i].iov_len] for i in range(request.part_count)
            ])
            requests.append(sent)
            request = request.next
        self.network.first = self.network.last = NULL
        return requests

    def flush(self, bint on=True):
        self.accumulator.flush_count += 1 if on else -1

    def events(self):
        events = self.sender.events
        self.sender.events = 0
        return events
