"""PartitionReader: reads one partition's batches from a buffer, with the same code as the consumer."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from kcore.client.consumer.consumer_record cimport take_records
from kcore.client.consumer.fetched_partition cimport (
    FETCHED_BY_PYTHON, FETCHED_DRAINED, FETCHED_OPEN, AbortedTransaction, FetchedPartition, FetchedStatus,
    fetched_error, following_offset, free_fetched_partition, new_fetched_partition,
)
from kcore.client.consumer.record_columns cimport RecordColumns, take_into


@cython.final
cdef class PartitionReader:
    """A cursor over the records of record batches from a Fetch response or a segment file.

    `offset` is the first offset to read. `aborted` are pairs of producer id and first offset; they apply only with
    `read_committed`. `take` and `take_columns` return the records before a bad batch first, and raise KafkaError at the
    next call. The buffer must not be modified while the reader uses it.
    """

    cdef Py_buffer view
    cdef FetchedPartition* fetched
    cdef str topic
    cdef int32_t partition

    def __init__(self, batches, str topic not None="", int partition=0, *, long long offset=0, aborted=(),
                 bint read_committed=False, bint check_crcs=True, size_t decompressed_limit_bytes=268435456):
        cdef list pairs = list(aborted)
        cdef AbortedTransaction* entries
        cdef Py_ssize_t i
        if self.fetched != NULL:
            raise ValueError("a reader is made once")
        PyObject_GetBuffer(batches, &self.view, PyBUF_SIMPLE)
        self.topic = topic
        self.partition = partition
        entries = <AbortedTransaction*>malloc((<size_t>len(pairs) + 1) * sizeof(AbortedTransaction))
        if entries == NULL:
            raise MemoryError
        try:
            for i in range(len(pairs)):
                entries[i].producer_id, entries[i].first_offset = pairs[i]
            self.fetched = new_fetched_partition(NULL, <const uint8_t*>self.view.buf, <size_t>self.view.len, offset,
                                                 entries, <int32_t>len(pairs))
        finally:
            free(entries)
        if self.fetched == NULL:
            raise MemoryError
        self.fetched.read_committed = read_committed
        self.fetched.check_crcs = check_crcs
        self.fetched.decompressed_limit_bytes = decompressed_limit_bytes

    def __dealloc__(self):
        if self.fetched != NULL:
            free_fetched_partition(self.fetched)
        PyBuffer_Release(&self.view)

    @property
    def next_offset(self):
        """The offset after the last record taken, or after the last batch once it is read through."""
        return self.fetched.next_offset

    @property
    def leader_epoch(self):
        """The leader epoch of the last batch that was read; -1 if there is none."""
        return self.fetched.next_epoch

    @property
    def following_offset(self):
        """Where the next fetch begins, computed from the batch headers only."""
        cdef int32_t epoch = -1
        return following_offset(self.fetched.data, self.fetched.size_bytes, self.fetched.next_offset, &epoch)

    def take(self, limit=None):
        """Return the next records, at most `limit`; an empty list at the end."""
        cdef list records = []
        cdef FetchedStatus status = take_records(self.fetched, self.topic, self.partition,
                                                 (1 << 62) if limit is None else limit, records)
        if status > FETCHED_BY_PYTHON and not records:
            raise fetched_error(self.fetched, f"{self.topic}-{self.partition}")
        return records

    def take_columns(self, limit=None, *, bint for_arrow=False, bint include_headers=False):
        """Return the next records as columns, at most `limit`; no rows at the end."""
        cdef RecordColumns columns = RecordColumns(for_arrow, include_headers)
        cdef FetchedStatus status = take_into(columns, self.fetched, self.topic, self.partition,
                                              INT64_MAX if limit is None else limit)
        if status > FETCHED_BY_PYTHON and not len(columns):
            raise fetched_error(self.fetched, f"{self.topic}-{self.partition}")
        return columns
