"""Which record a time stands for: what ListOffsets asks of a log, by timestamp."""

from libc.stdint cimport int64_t
from kcore.storage.local_log cimport LocalLog

# `(offset, timestamp)` of the first record at or above `start_offset` that is no older, or None; OSError on failure.
cdef object first_record_since(LocalLog log, int64_t start_offset, int64_t timestamp_ms)
# The time of the record at `offset`, or of the first behind it; None when there is none.
cdef object timestamp_at(LocalLog log, int64_t offset)
# As first_record_since, of the first of the records with the largest timestamp; None when no record has one.
cdef object newest_record(LocalLog log, int64_t start_offset)
