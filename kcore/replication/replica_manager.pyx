"""The partitions of which this broker holds a replica, and the requests that wait for them (Kafka's `ReplicaManager`).

Native code finds a partition by topic name or id under a shared lock, and pins it. `retired` keeps a removed partition
alive until its last pin is gone, so a look-up never returns a dangling pointer.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map

from kcore.metrics.topic_counters cimport TOPIC_COUNTER_COUNT, TopicCounters, topic_counters_add
from kcore.platform.sync cimport (
    pthread_rwlock_destroy, pthread_rwlock_init, pthread_rwlock_rdlock, pthread_rwlock_unlock,
    pthread_rwlock_wrlock,
)
from kcore.purgatory.purgatory cimport Purgatory
from kcore.replication.partition cimport Partition

cdef enum:
    TOPIC_ID_SIZE = 16


cdef cppclass PartitionTable:
    # Keys are a topic's name or id, followed by the four bytes of the partition's index.
    unordered_map[string, void*] by_name
    unordered_map[string, void*] by_id


cdef inline string table_key(const uint8_t* topic, size_t size, int32_t partition) noexcept nogil:
    cdef string key
    key.reserve(size + sizeof(int32_t))
    key.append(<const char*>topic, size)
    key.append(<const char*>&partition, sizeof(int32_t))
    return key


cdef class ReplicaManager:
    """All partitions of one broker.

    Parameters: `broker_id` is this broker's id; `fetch_purgatory` and `produce_purgatory` hold the delayed requests.
    """

    def __cinit__(self):
        pthread_rwlock_init(&self.table_lock, NULL)
        self.table = new PartitionTable()

    def __init__(self, int broker_id, Purgatory fetch_purgatory not None, Purgatory produce_purgatory not None):
        self.broker_id = broker_id
        self.fetch_purgatory = fetch_purgatory
        self.produce_purgatory = produce_purgatory
        self.partitions = {}
        self.retired = []

    def __dealloc__(self):
        cdef PartitionTable* table = <PartitionTable*>self.table
        del table
        pthread_rwlock_destroy(&self.table_lock)

    cdef void* pin_by_name(self, const uint8_t* topic, int32_t topic_size, int32_t partition) noexcept nogil:
        return pin(self, &(<PartitionTable*>self.table).by_name, table_key(topic, topic_size, partition))

    cdef void* pin_by_id(self, const uint8_t* topic_id, int32_t partition) noexcept nogil:
        return pin(self, &(<PartitionTable*>self.table).by_id, table_key(topic_id, TOPIC_ID_SIZE, partition))

    # --- Python interface -------------------------------------------------------------------------------------------

    def add(self, str topic not None, int index, bytes topic_id not None, log, bint is_internal=False):
        """Adds a partition and returns its Partition, which serves requests after `make_leader`."""
        cdef Partition partition = Partition(topic, index, topic_id, log, self.broker_id, self.fetch_purgatory,
                                             self.produce_purgatory, is_internal)
        cdef bytes name = topic.encode()
        cdef string name_key = table_key(<const uint8_t*><const char*>name, len(name), index)
        cdef string id_key = table_key(<const uint8_t*><const char*>topic_id, TOPIC_ID_SIZE, index)
        cdef void* pointer = <void*>partition
        self.partitions[topic, index] = partition
        with nogil:
            pthread_rwlock_wrlock(&self.table_lock)
            (<PartitionTable*>self.table).by_name[name_key] = pointer
            (<PartitionTable*>self.table).by_id[id_key] = pointer
            pthread_rwlock_unlock(&self.table_lock)
        return partition

    def remove(self, str topic not None, int index):
        """Removes a partition and completes the requests that wait for it. Returns it, or None if it is not here."""
        cdef Partition partition = self.partitions.pop((topic, index), None)
        if partition is None:
            return None
        cdef bytes name = topic.encode()
        cdef string name_key = table_key(<const uint8_t*><const char*>name, len(name), index)
        cdef string id_key = table_key(<const uint8_t*><const char*>partition.topic_id, TOPIC_ID_SIZE, index)
        with nogil:
            pthread_rwlock_wrlock(&self.table_lock)
            (<PartitionTable*>self.table).by_name.erase(name_key)
            (<PartitionTable*>self.table).by_id.erase(id_key)
            pthread_rwlock_unlock(&self.table_lock)
        partition.close()
        self.bury()
        self.retired.append(partition)
        return partition

    cdef int bury(self) except -1:
        """Frees the removed partitions that are not in use any more. Keeps their counters: sums never decrease."""
        cdef Partition partition
        cdef list living = []
        for partition in self.retired:
            if partition.is_in_use:
                living.append(partition)
            else:
                partition.add_counters(&self.gone)
        self.retired = living
        return 0

    def topic_counters(self):
        """The counters of each topic here, in the order of TOPIC_COUNTERS, and their sum over all time."""
        cdef dict topics = {}
        cdef Partition partition
        cdef TopicCounters total = self.gone
        cdef TopicCounters own
        cdef list partitions = list(self.partitions.values())
        for partition in partitions:
            memset(&own, 0, sizeof(own))
            partition.add_counters(&own)
            topic_counters_add(&total, &own, 1)
            if partition.topic in topics:
                topics[partition.topic] = [a + b for a, b in zip(topics[partition.topic], counters_list(&own))]
            else:
                topics[partition.topic] = counters_list(&own)
        for partition in list(self.retired):
            partition.add_counters(&total)
        return topics, counters_list(&total)

    def partition(self, str topic not None, int index):
        """The Partition of a topic and index, or None."""
        return self.partitions.get((topic, index))

    def all_partitions(self):
        """All partitions, in no particular order."""
        return list(self.partitions.values())


cdef list counters_list(const TopicCounters* counters):
    cdef const int64_t* values = <const int64_t*>counters
    cdef int i
    return [values[i] for i in range(TOPIC_COUNTER_COUNT)]


cdef inline void* pin(ReplicaManager manager, unordered_map[string, void*]* table, string key) noexcept nogil:
    cdef void* found = NULL
    pthread_rwlock_rdlock(&manager.table_lock)
    cdef unordered_map[string, void*].iterator place = table.find(key)
    if place != table.end():
        found = (<Partition>dereference(place).second).pin()
    pthread_rwlock_unlock(&manager.table_lock)
    return found
