"""The partitions this broker holds, as native code looks them up."""

from libc.stdint cimport int32_t, uint8_t
from kcore.metrics.topic_counters cimport TopicCounters
from kcore.platform.sync cimport pthread_rwlock_t
from kcore.purgatory.purgatory cimport Purgatory

cdef class ReplicaManager:
    cdef pthread_rwlock_t table_lock
    cdef void* table
    cdef readonly Purgatory fetch_purgatory
    cdef readonly Purgatory produce_purgatory
    cdef readonly int broker_id
    cdef dict partitions
    cdef list retired
    cdef TopicCounters gone              # of partitions that nobody uses any more

    # A pinned Partition (a borrowed pointer: cast it, and call `unpin` when done), or NULL.
    cdef void* pin_by_name(self, const uint8_t* topic, int32_t topic_size, int32_t partition) noexcept nogil
    # Likewise by the 16 bytes of a topic id.
    cdef void* pin_by_id(self, const uint8_t* topic_id, int32_t partition) noexcept nogil
    cdef int bury(self) except -1
