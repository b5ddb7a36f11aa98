"""The partitions of this broker, for look-ups by native code."""

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
    cdef TopicCounters gone              # counters of partitions that were removed and freed

    # Returns a pinned Partition or NULL. The pointer is borrowed: cast it, and call `unpin` when you are done.
    cdef void* pin_by_name(self, const uint8_t* topic, int32_t topic_size, int32_t partition) noexcept nogil
    # The same, by the 16 bytes of a topic id.
    cdef void* pin_by_id(self, const uint8_t* topic_id, int32_t partition) noexcept nogil
    cdef int bury(self) except -1
