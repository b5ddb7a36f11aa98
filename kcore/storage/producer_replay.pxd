"""Restoring producer state: from the snapshots in a log's directory and from the batches after them."""

from libc.stdint cimport int64_t
from kcore.platform.disk cimport DiskOperations
from kcore.storage.producer_state cimport ProducerEntry, ProducerStateManager
from kcore.storage.segment cimport LogSegment

# Loads the latest valid snapshot at or below `end_offset`. Removes damaged snapshots and, with `removes_later`, those
# above `end_offset`. Returns the offset up to which the state is complete (`start_offset` without a snapshot) or a
# negated errno.
cdef int64_t load_latest_snapshot(ProducerStateManager producers, const DiskOperations* disk, const char* directory,
                                  int64_t start_offset, int64_t end_offset, bint removes_later,
                                  int64_t now_ms) noexcept nogil
# Updates the state for the batches of a segment with records at or above `offset`. Returns 0 or a negated errno. With
# `indexes_aborted` it also writes the entries of the segment's transaction index, which must be empty.
cdef int replay_segment(ProducerStateManager producers, LogSegment* segment, int64_t offset,
                        bint indexes_aborted) noexcept nogil
# Adds the producer's batches in about the last `window_bytes` of a segment; `producer` has the id and the epoch.
cdef int recall_batches(LogSegment* segment, int64_t window_bytes, ProducerEntry* producer) noexcept nogil
