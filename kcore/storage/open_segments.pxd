"""The segments of all logs whose files are open, and the bound on their number."""

from libc.stdint cimport int32_t
from kcore.storage.segment cimport LogSegment

# Call these after a segment's files were opened, and before they are closed.
cdef void open_segments_add(LogSegment* segment) noexcept nogil
cdef void open_segments_remove(LogSegment* segment) noexcept nogil
# The log is about to release the segment. It leaves the list for good: its last reader closes it.
cdef void open_segments_let_go(LogSegment* segment) noexcept nogil
# Returns a segment to close, because there are too many or, `within_bound`, because descriptors are exhausted. The
# caller gets a reference. NULL if there is none.
cdef LogSegment* open_segments_surplus(bint within_bound) noexcept nogil
# Returns a finished segment that was not used for a round, in the same way. `left` counts the rest of the round.
cdef LogSegment* open_segments_unused(int32_t* left) noexcept nogil
# Sets the maximum number; 0 for none.
cdef void open_segments_bound(int32_t limit) noexcept nogil
cdef int32_t open_segments_count() noexcept nogil
