"""The segments of all logs whose files are open, and the bound on their number."""

from libc.stdint cimport int32_t
from kcore.storage.segment cimport LogSegment

# The segment's files were opened, or are about to be closed.
cdef void open_segments_add(LogSegment* segment) noexcept nogil
cdef void open_segments_remove(LogSegment* segment) noexcept nogil
# Its log is about to release it: it leaves the list for good, so that its last reader keeps it.
cdef void open_segments_let_go(LogSegment* segment) noexcept nogil
# A segment that is to be closed because there are too many (or, `within_bound`, because there are no descriptors), with
# a reference for the caller; NULL when there is none.
cdef LogSegment* open_segments_surplus(bint within_bound) noexcept nogil
# A finished segment that was not used for a round, likewise; `left` counts down what remains of the round.
cdef LogSegment* open_segments_unused(int32_t* left) noexcept nogil
# At most so many; 0 for no bound.
cdef void open_segments_bound(int32_t limit) noexcept nogil
cdef int32_t open_segments_count() noexcept nogil
