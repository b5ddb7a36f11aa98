"""Reading from a log."""

from libc.stdint cimport int16_t, int64_t
from kcore.storage.log cimport Log, ReadResult

# Finds whole batches from the one with `offset`. With at_least_one the first batch may exceed max_bytes.
cdef int16_t read_log(Log log, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                      ReadResult* result) noexcept nogil
# Releases what a read holds. You can call it again.
cdef void release_read(ReadResult* result) noexcept nogil
# The readable bytes from the position of an earlier ReadResult; never negative. Later segments count completely.
cdef int64_t readable_log_bytes(Log log, int64_t segment_base_offset, int64_t position, int isolation) noexcept nogil
