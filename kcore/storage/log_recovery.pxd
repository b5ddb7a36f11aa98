"""The native part of the log loader. No other thread sees the log yet."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.record.batch cimport BatchHeader
from kcore.storage.log cimport Log
from kcore.storage.producer_state cimport ProducerStateManager
from kcore.storage.segment cimport LogSegment

cdef struct ScanWindow:          # a part of a file in memory
    uint8_t* data
    size_t capacity
    int64_t start
    int64_t filled
    int failure                  # a negated errno, if the last read failed

cdef class SegmentScan:
    cdef readonly int64_t valid_bytes
    cdef readonly int64_t next_offset
    cdef const char* damage      # a static English phrase; NULL if every byte is valid
    cdef bint has_markers        # the segment has transaction markers, from which the transaction index is built
    cdef int outcome

cdef class LogRecovery:
    cdef readonly Log log
    cdef ScanWindow window
    cdef ProducerStateManager producers          # for transaction indexes; None, or complete up to producers_end
    cdef int64_t producers_end

    cdef LogSegment* segment_at(self, int32_t index) except NULL
    cdef const uint8_t* bytes_at(self, LogSegment* segment, int64_t position, int64_t size) noexcept nogil
    cdef void scan_batches(self, LogSegment* segment, SegmentScan scan) noexcept nogil
    cdef const char* check_batch(self, LogSegment* segment, const uint8_t* batch, int64_t available,
                                 int64_t next_offset, int64_t* size_bytes, int64_t* last_offset) noexcept nogil
    cdef void note_batch(self, LogSegment* segment, const BatchHeader* header, int64_t position) noexcept nogil
