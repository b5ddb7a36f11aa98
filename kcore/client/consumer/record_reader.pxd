"""RecordReader: takes fetched records on the application's thread."""

from libc.stdint cimport int64_t
from kcore.client.consumer.fetch_session cimport FetchTarget
from kcore.client.consumer.fetch_targets cimport FetchTargets
from kcore.client.consumer.fetched_partition cimport FetchedPartition, FetchedStatus


cdef class RecordReader(FetchTargets):
    cdef FetchedPartition* current   # partially read response; used by the reader's thread only

    cdef bint advance(self) noexcept nogil
    cdef bint takes_back_starvation(self) noexcept nogil
    cdef void settle(self, FetchedStatus status) noexcept nogil
    cdef int wait_for_records(self, int64_t deadline_ns) except -1
    cdef object failure_of_current(self, FetchTarget* target)
