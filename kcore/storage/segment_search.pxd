"""Finding a batch in a segment, by offset or by time."""

from libc.stdint cimport int64_t
from kcore.record.batch cimport BatchHeader
from kcore.storage.segment cimport LogSegment

cdef enum BatchSearch:
    BATCH_FOUND = 1
    BATCH_PAST_END = 0           # every batch up to the end has lower offsets
    # negative: a negated errno; -EBADMSG for bytes that are no batch

# The first batch at or after `start` whose last offset is at or above `offset`, looking below `end` only.
cdef int segment_find_batch(LogSegment* segment, int64_t offset, int64_t start, int64_t end, BatchHeader* header,
                            int64_t* position) noexcept nogil
# The same from the place that the offset index names.
cdef int segment_find_offset(LogSegment* segment, int64_t offset, int64_t end, BatchHeader* header,
                             int64_t* position) noexcept nogil
# The first batch with records no older than `timestamp`, none of whose predecessors need be looked at, among those
# with records at or above `start_offset`.
cdef int segment_find_timestamp(LogSegment* segment, int64_t timestamp, int64_t start_offset, int64_t end,
                                BatchHeader* header, int64_t* position) noexcept nogil
# Sets the largest timestamp and its offset: the last time index entry, and the batches after it.
cdef int segment_find_max_timestamp(LogSegment* segment) noexcept nogil
# The largest timestamp of a segment that is being opened: its last time index entry, if the batches confirm it.
cdef void segment_take_newest(LogSegment* segment) noexcept nogil
