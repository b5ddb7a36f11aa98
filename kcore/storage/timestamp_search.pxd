"""Finding records by timestamp, for ListOffsets."""

from libc.stdint cimport int64_t
from kcore.storage.local_log cimport LocalLog

# `(offset, timestamp)` of the first record at or above `start_offset` with at least this timestamp, or None. Raises
# OSError.
cdef object first_record_since(LocalLog log, int64_t start_offset, int64_t timestamp_ms)
# The timestamp of the first record at or above `offset`; None if there is none.
cdef object timestamp_at(LocalLog log, int64_t offset)
# `(offset, timestamp)` of the first record with the largest timestamp; None if no record has a timestamp.
cdef object newest_record(LocalLog log, int64_t start_offset)
