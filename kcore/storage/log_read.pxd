"""What reads from a log."""

from libc.stdint cimport int16_t, int64_t
from kcore.storage.log cimport Log, ReadResult

# Whole batches from the one holding `offset`; the first one entire even above max_bytes when at_least_one.
cdef int16_t read_log(Log log, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                      ReadResult* result) noexcept nogil
# Gives back what a read holds; again is nothing.
cdef void release_read(ReadResult* result) noexcept nogil
# How many bytes are readable from a place that a ReadResult named; never negative. Later segments count whole.
cdef int64_t readable_log_bytes(Log log, int64_t segment_base_offset, int64_t position, int isolation) noexcept nogil
