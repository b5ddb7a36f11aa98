"""ConsumerRecord, and the creation of many of them from fetched batches.

A record costs two bytes objects and one object from a free list. Headers are decoded on first access. Records are not
tracked by the garbage collector: they are immutable and refer only to objects that were created before them, so they
cannot be part of a cycle. A FetchedPartition is read by one thread at a time. Source: Kafka's ConsumerRecord.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memset
from kcore.client.consumer.fetched_partition cimport (
    FETCHED_BY_PYTHON, FETCHED_DRAINED, FETCHED_OPEN, FetchedPartition, FetchedStatus, next_record, open_batch,
    open_by_python, record_timestamp,
)
from kcore.cursor cimport Cursor, cursor_over
from kcore.record.record cimport RecordView, next_bytes

NO_TIMESTAMP_TYPE = -1
CREATE_TIME = 0
LOG_APPEND_TIME = 1


cdef inline object bytes_or_none(const uint8_t* data, int32_t size):
    return None if size < 0 else PyBytes_FromStringAndSize(<const char*>data, size)


cdef list decode_headers(bytes encoded, int32_t count):
    cdef Cursor cursor = cursor_over(<const uint8_t*>PyBytes_AS_STRING(encoded), <size_t>PyBytes_GET_SIZE(encoded))
    cdef const uint8_t* name
    cdef const uint8_t* value
    cdef int32_t name_size = 0
    cdef int32_t value_size = 0
    cdef int32_t i
    cdef list headers = []
    for i in range(count):
        name = next_bytes(&cursor, &name_size)
        value = next_bytes(&cursor, &value_size)
        headers.append((PyUnicode_DecodeUTF8(<char*>name, name_size, "surrogateescape"),
                        bytes_or_none(value, value_size)))
    return headers


@cython.final
@cython.no_gc
@cython.freelist(1024)
cdef class ConsumerRecord:
    """One record.

    `timestamp` is in ms, -1 if there is none. `timestamp_type` is CREATE_TIME, LOG_APPEND_TIME or NO_TIMESTAMP_TYPE
    (message format 0). `key` and `value` are bytes or None, or what a deserializer returned. `serialized_key_size` and
    `serialized_value_size` are in bytes, -1 for None.
    """

    def __init__(self, str topic not None, int partition, long long offset, *, long long timestamp=-1,
                 int timestamp_type=-1, key=None, value=None, headers=(), leader_epoch=None,
                 int serialized_key_size=-1, int serialized_value_size=-1):
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = <int8_t>timestamp_type
        self.key = key
        self.value = value
        self.decoded_headers = list(headers)
        self.header_count = <int32_t>len(self.decoded_headers)
        self.epoch = -1 if leader_epoch is None else leader_epoch
        self.serialized_key_size = serialized_key_size
        self.serialized_value_size = serialized_value_size

    @property
    def headers(self):
        """Pairs of name and value, in order. Bytes of a name that are not UTF-8 are decoded as surrogates."""
        if self.decoded_headers is None:
            self.decoded_headers = (
                [] if self.encoded_headers is None else decode_headers(self.encoded_headers, self.header_count)
            )
        return self.decoded_headers

    @property
    def leader_epoch(self):
        """The epoch of the leader that appended the record; None if the message format has none."""
        return None if self.epoch < 0 else self.epoch

    def with_contents(self, key, value):
        """Return a copy with another key and value, for deserializers."""
        cdef ConsumerRecord record = ConsumerRecord.__new__(ConsumerRecord)
        record.topic = self.topic
        record.partition = self.partition
        record.offset = self.offset
        record.timestamp = self.timestamp
        record.timestamp_type = self.timestamp_type
        record.epoch = self.epoch
        record.serialized_key_size = self.serialized_key_size
        record.serialized_value_size = self.serialized_value_size
        record.key = key
        record.value = value
        record.header_count = self.header_count
        record.encoded_headers = self.encoded_headers
        record.decoded_headers = self.decoded_headers
        return record

    def __reduce__(self):
        return _record_from, (self.topic, self.partition, self.offset, self.timestamp, self.timestamp_type, self.key,
                              self.value, self.headers, self.leader_epoch, self.serialized_key_size,
                              self.serialized_value_size)

    def __repr__(self):
        return (f"<ConsumerRecord {self.topic}-{self.partition} offset={self.offset} timestamp={self.timestamp} "
                f"key={self.key!r} value={self.value!r}>")


def _record_from(topic, partition, offset, timestamp, timestamp_type, key, value, headers, leader_epoch, key_size,
                 value_size):
    return ConsumerRecord(topic, partition, offset, timestamp=timestamp, timestamp_type=timestamp_type, key=key,
                          value=value, headers=headers, leader_epoch=leader_epoch, serialized_key_size=key_size,
                          serialized_value_size=value_size)


cdef inline ConsumerRecord make_record(const FetchedPartition* fetched, str topic, int32_t partition,
                                       const RecordView* view, int64_t offset):
    cdef ConsumerRecord record = ConsumerRecord.__new__(ConsumerRecord)
    record.topic = topic
    record.partition = partition
    record.offset = offset
    record.timestamp = record_timestamp(fetched, view)
    record.timestamp_type = fetched.timestamp_type
    record.epoch = fetched.batch.partition_leader_epoch
    record.serialized_key_size = view.key_size
    record.serialized_value_size = view.value_size
    record.key = bytes_or_none(view.key, view.key_size)
    record.value = bytes_or_none(view.value, view.value_size)
    if view.header_count > 0:
        record.header_count = view.header_count
        record.encoded_headers = PyBytes_FromStringAndSize(<const char*>view.headers, <Py_ssize_t>view.headers_size)
    return record


cdef FetchedStatus take_records(FetchedPartition* fetched, str topic, int32_t partition, Py_ssize_t limit, list out):
    cdef RecordView view
    cdef FetchedStatus status = FETCHED_OPEN
    cdef Py_ssize_t wanted = limit - len(out)
    cdef int64_t offset = 0
    memset(&view, 0, sizeof(view))
    while wanted > 0:
        if fetched.status != FETCHED_OPEN:
            with nogil:
                status = open_batch(fetched)
            if status == FETCHED_BY_PYTHON:
                status = open_by_python(fetched)
                if status == FETCHED_DRAINED:
                    continue
        if status != FETCHED_OPEN:
            return status
        while wanted > 0:
            status = next_record(fetched, &view, &offset)
            if status != FETCHED_OPEN:
                break
            out.append(make_record(fetched, topic, partition, &view, offset))
            wanted -= 1
        if status > FETCHED_BY_PYTHON:
            return status
    return FETCHED_OPEN
