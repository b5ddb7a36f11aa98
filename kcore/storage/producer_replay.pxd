"""Bringing producer state back: the snapshots in a log's directory, and the batches after one."""

from libc.stdint cimport int64_t
from kcore.platform.disk cimport DiskOperations
from kcore.storage.producer_state cimport ProducerEntry, ProducerStateManager
from kcore.storage.segment cimport LogSegment

# Loads the latest sound snapshot at or below `end_offset`, after removing unsound ones and, as `removes_later` says, those
# above it. Returns the offset up to which the state is complete (`start_offset` without a snapshot), or a negated errno.
cdef int64_t load_latest_snapshot(ProducerStateManager producers, const DiskOperations* disk, const char* directory,
                                  int64_t start_offset, int64_t end_offset, bint removes_later,
                                  int64_t now_ms) noexcept nogil
# Accounts for the batches of a segment that hold records at or above `offset`; a negated errno when it cannot be read.
# `indexes_aborted` makes the entries of its transaction index, which has none yet.
cdef int replay_segment(ProducerStateManager producers, LogSegment* segment, int64_t offset,
                        bint indexes_aborted) noexcept nogil
# Adds a producer's batches (its id and epoch stand in `producer`) in about the last `window_bytes` of a segment.
cdef int recall_batches(LogSegment* segment, int64_t window_bytes, ProducerEntry* producer) noexcept nogil
