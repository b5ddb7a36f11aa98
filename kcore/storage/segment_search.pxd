"""Finding a batch in a segment, by offset or by time."""

from libc.stdint cimport int64_t
from kcore.record.batch cimport BatchHeader
from kcore.storage.segment cimport LogSegment

cdef enum BatchSearch:
    BATCH_FOUND = 1
    BATCH_PAST_END = 0           # every batch up to the end has lower offsets
    # negative: a negated errno; -EBADMSG for bytes that are not a batch

# Finds the first batch from `start` on, below `end`, whose last offset is at or above `offset`.
cdef int segment_find_batch(LogSegment* segment, int64_t offset, int64_t start, int64_t end, BatchHeader* header,
                            int64_t* position) noexcept nogil
# Does the same, starting at the position from the offset index.
cdef int segment_find_offset(LogSegment* segment, int64_t offset, int64_t end, BatchHeader* header,
                             int64_t* position) noexcept nogil
# Finds the first batch whose maximum timestamp is at least `timestamp`, among those with records at or above
# `start_offset`.
cdef int segment_find_timestamp(LogSegment* segment, int64_t timestamp, int64_t start_offset, int64_t end,
                                BatchHeader* header, int64_t* position) noexcept nogil
# Sets the segment's maximum timestamp and its offset, from the last time index entry and the batches after it.
cdef int segment_find_max_timestamp(LogSegment* segment) noexcept nogil
# Sets the maximum timestamp of a segment that is being opened: from its last time index entry if the batches confirm
# it.
cdef void segment_take_newest(LogSegment* segment) noexcept nogil
