"""FetchTargets: the partitions that a consumer reads, their positions, and fetched data that waits for the reader.

Topics and targets are created on first use and live as long as the table, so that responses may point to them.
Assigning, seeking and unassigning a partition raises its generation. Responses wait in one queue, oldest first. Events
wait in a list, at most one per target.

Concurrency: one mutex guards everything. Python code releases the GIL before it takes the mutex. Under it, only an
allocator's lock is taken. Tables are read and enlarged only under the mutex.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset
from kcore.client.consumer.fetch_request cimport UUID_SIZE
from kcore.client.consumer.fetch_session cimport FetchTarget, FetchTopic
from kcore.client.consumer.fetched_partition cimport FetchedPartition, free_fetched_partition
from kcore.client.network.network_client cimport NetworkClient, monotonic_ns
from kcore.client.network.wakeup cimport Wakeup
from kcore.platform.epoll cimport eventfd_write
from kcore.platform.sync cimport (
    pthread_mutex_destroy, pthread_mutex_init, pthread_mutex_lock, pthread_mutex_unlock,
)

from _thread import allocate_lock

cdef enum:
    NOBODY = -1
    NS_PER_MS = 1000000
    FOREVER_MS = 1000000000

# The reader's position in a partition, and the offsets from the last response.
cdef struct ReadPlaces:
    int32_t handle
    int32_t index
    int64_t position
    int32_t position_epoch
    int64_t log_start_offset
    int64_t high_watermark
    int64_t last_stable_offset


cdef int64_t deadline_of(timeout_ms) except -1:
    """Convert a timeout in ms to a deadline of CLOCK_MONOTONIC in ns. None: no deadline."""
    if timeout_ms is None or timeout_ms >= FOREVER_MS:
        return INT64_MAX
    return monotonic_ns() + <int64_t>(max(0, timeout_ms) * NS_PER_MS)


cdef class FetchTargets:
    """A partition is a `(topic, index)` pair."""

    def __cinit__(self, NetworkClient network not None, settings=None):
        self.network = network
        self.wakeup = Wakeup()
        self.topic_places = {}
        self.target_places = {}
        self.names = []
        self.growing = allocate_lock()
        self.event_descriptor = -1
        pthread_mutex_init(&self.lock, NULL)

    def __dealloc__(self):
        cdef FetchedPartition* fetched
        cdef int32_t i
        if self.in_flight > 0:
            return      # requests in flight still point here: leaking the memory is safer than freeing it
        while self.first != NULL:
            fetched = self.first
            self.first = fetched.next
            free_fetched_partition(fetched)
        for i in range(self.topic_count):
            free(self.topics[i].targets)
            free(self.topics[i].name)
            free(self.topics[i])
        for i in range(self.target_count):
            free(self.targets[i])
        free(self.topics)
        free(self.targets)
        pthread_mutex_destroy(&self.lock)

    # --- under the mutex, on any thread ---

    cdef void enqueue(self, FetchedPartition* fetched) noexcept nogil:
        cdef FetchTarget* target = <FetchTarget*>fetched.owner
        fetched.next = NULL
        if self.first == NULL:
            self.first = fetched
        else:
            self.last.next = fetched
        self.last = fetched
        target.queued += 1
        target.buffered_bytes += fetched.size_bytes
        self.buffered_bytes += fetched.size_bytes

    cdef void throw_away(self, FetchedPartition* fetched) noexcept nogil:
        """Free a response that is not in the queue any more."""
        cdef FetchTarget* target = <FetchTarget*>fetched.owner
        target.queued -= 1
        target.buffered_bytes -= fetched.size_bytes
        self.buffered_bytes -= fetched.size_bytes
        self.has_made_room = True
        free_fetched_partition(fetched)

    cdef void drop_queued(self, FetchTarget* target) noexcept nogil:
        cdef FetchedPartition** link = &self.first
        cdef FetchedPartition* fetched
        self.last = NULL
        while link[0] != NULL:
            fetched = link[0]
            if fetched.owner == target:
                link[0] = fetched.next
                self.throw_away(fetched)
            else:
                self.last = fetched
                link = &fetched.next

    cdef FetchedPartition* dequeue(self) noexcept nogil:
        """Remove and return the oldest response of a partition that is not paused; NULL if there is none."""
        cdef FetchedPartition* former = NULL
        cdef FetchedPartition* fetched = self.first
        while fetched != NULL and (<FetchTarget*>fetched.owner).is_paused:
            former = fetched
            fetched = fetched.next
        if fetched == NULL:
            return NULL
        if former == NULL:
            self.first = fetched.next
        else:
            former.next = fetched.next
        if self.last == fetched:
            self.last = former
        fetched.next = NULL
        return fetched

    cdef void post_event(self, FetchTarget* target) noexcept nogil:
        if target.has_event:
            return
        target.has_event = True
        target.next_with_event = NULL
        if self.first_event == NULL:
            self.first_event = target
        else:
            self.last_event.next_with_event = target
        self.last_event = target
        self.tell_events()

    cdef void tell_events(self) noexcept nogil:
        if self.event_descriptor >= 0:
            eventfd_write(self.event_descriptor, 1)

    # --- the table ---

    cdef FetchTopic* topic_for(self, str name) except NULL:
        with self.growing:
            return self.topic_made(name)

    cdef FetchTopic* topic_made(self, str name) except NULL:
        cdef FetchTopic* topic
        cdef FetchTopic** topics
        cdef bytes text
        place = self.topic_places.get(name)
        if place is not None:
            return <FetchTopic*><size_t>place
        text = name.encode()
        topic = <FetchTopic*>calloc(1, sizeof(FetchTopic))
        if topic == NULL:
            raise MemoryError
        topic.handle = self.topic_count
        topic.name_size = <int32_t>len(text)
        topic.name = <uint8_t*>malloc(<size_t>len(text) + 1)
        if topic.name == NULL:
            free(topic)
            raise MemoryError
        memcpy(topic.name, PyBytes_AS_STRING(text), <size_t>len(text))
        with nogil:
            pthread_mutex_lock(&self.lock)
            topics = <FetchTopic**>realloc(self.topics, <size_t>(self.topic_count + 1) * sizeof(FetchTopic*))
            if topics != NULL:
                self.topics = topics
                topics[self.topic_count] = topic
                self.topic_count += 1
            pthread_mutex_unlock(&self.lock)
        if topics == NULL:
            free(topic.name)
            free(topic)
            raise MemoryError
        self.names.append(name)
        self.topic_places[name] = <size_t>topic
        return topic

    cdef FetchTarget* find_target(self, partition) except? NULL:
        return <FetchTarget*><size_t>self.target_places.get(partition, 0)

    cdef FetchTarget* known_target(self, partition) except NULL:
        cdef FetchTarget* target = self.find_target(partition)
        if target == NULL or not target.is_assigned:
            raise KeyError(f"partition {partition[0]}-{partition[1]} is not assigned")
        return target

    cdef FetchTarget* target_for(self, partition) except NULL:
        """Return the partition's target, creating it on first use."""
        with self.growing:
            return self.target_made(partition)

    cdef FetchTarget* target_made(self, partition) except NULL:
        cdef FetchTarget* target = self.find_target(partition)
        cdef FetchTopic* topic
        cdef FetchTarget** targets
        cdef FetchTarget** by_index
        cdef int32_t index = partition[1]
        if target != NULL:
            return target
        if index < 0:
            raise ValueError(f"a partition cannot be {index}")
        topic = self.topic_made(partition[0])
        target = <FetchTarget*>calloc(1, sizeof(FetchTarget))
        if target == NULL:
            raise MemoryError
        target.topic = topic
        target.index = index
        target.leader = target.read_replica = NOBODY
        with nogil:
            pthread_mutex_lock(&self.lock)
            targets = <FetchTarget**>realloc(self.targets, <size_t>(self.target_count + 1) * sizeof(FetchTarget*))
            if targets != NULL:
                self.targets = targets
            by_index = topic.targets
            if targets != NULL and index >= topic.target_count:
                by_index = <FetchTarget**>realloc(topic.targets, <size_t>(index + 1) * sizeof(FetchTarget*))
                if by_index != NULL:
                    memset(by_index + topic.target_count, 0,
                           <size_t>(index + 1 - topic.target_count) * sizeof(FetchTarget*))
                    topic.targets = by_index
                    topic.target_count = index + 1
            if targets != NULL and by_index != NULL:
                target.slot = self.target_count
                targets[self.target_count] = target
                self.target_count += 1
                by_index[index] = target
            pthread_mutex_unlock(&self.lock)
        if targets == NULL or by_index == NULL:
            free(target)
            raise MemoryError
        self.target_places[tuple(partition)] = <size_t>target
        return target

    cdef int move(self, FetchTarget* target, int64_t offset, int32_t epoch, bint is_assigned) except -1:
        with nogil:
            pthread_mutex_lock(&self.lock)
            target.generation += 1
            target.is_assigned = is_assigned
            target.is_blocked = False
            target.fetch_offset = target.position = offset
            target.fetched_epoch = target.position_epoch = epoch
            target.retry_ns = 0
            target.failures = 0
            self.drop_queued(target)
            self.is_dirty = True
            pthread_mutex_unlock(&self.lock)
            self.network.wake()
        return 0

    # --- the consumer's, on any thread that has the GIL ---

    def wake_by(self, int descriptor):
        """Set the eventfd that is written when there are events; -1: none."""
        self.event_descriptor = descriptor

    def assign(self, partition, bytes topic_id, long long offset, int offset_epoch=-1):
        """Read a partition from an offset. `offset_epoch` is the leader epoch of the record before it, -1 if unknown.

        `topic_id` is 16 bytes, or None. Nothing is fetched before `set_leader`.
        """
        cdef FetchTarget* target
        if offset < 0:
            raise ValueError(f"a position cannot be {offset}")
        target = self.target_for(partition)
        if topic_id is not None:
            self.set_topic_id(partition[0], topic_id)
        with nogil:
            pthread_mutex_lock(&self.lock)
            target.is_paused = False
            target.leader = target.read_replica = NOBODY
            target.leader_epoch = -1
            target.high_watermark = target.last_stable_offset = target.log_start_offset = -1
            pthread_mutex_unlock(&self.lock)
        self.move(target, offset, offset_epoch, True)

    def unassign(self, partition):
        """Stop reading a partition and drop its fetched data."""
        cdef FetchTarget* target = self.find_target(partition)
        if target != NULL and target.is_assigned:
            self.move(target, target.position, target.position_epoch, False)

    def seek(self, partition, long long offset, int offset_epoch=-1):
        """Continue at another offset. Data fetched before is dropped."""
        if offset < 0:
            raise ValueError(f"a position cannot be {offset}")
        self.move(self.known_target(partition), offset, offset_epoch, True)

    def set_topic_id(self, str topic not None, bytes topic_id not None):
        """Set a topic's id from metadata: 16 bytes, all zero for none."""
        cdef FetchTopic* found = self.topic_for(topic)
        cdef const uint8_t* id
        cdef bint has_id
        if len(topic_id) != UUID_SIZE:
            raise ValueError("a topic's id has 16 bytes")
        id = <const uint8_t*>PyBytes_AS_STRING(topic_id)
        has_id = topic_id != bytes(UUID_SIZE)
        with nogil:
            pthread_mutex_lock(&self.lock)
            if has_id != found.has_id or memcmp(found.id, id, UUID_SIZE) != 0:
                memcpy(found.id, id, UUID_SIZE)
                found.has_id = has_id
                self.id_changes += 1
                self.is_dirty = True
            pthread_mutex_unlock(&self.lock)

    def set_leader(self, partition, int node, int leader_epoch=-1):
        """Set the leader of an assigned partition: a slot of the NetworkClient; -1: none for now."""
        cdef FetchTarget* target = self.known_target(partition)
        with nogil:
            pthread_mutex_lock(&self.lock)
            if target.leader != node:
                target.retry_ns = 0
                target.failures = 0
                target.read_replica = NOBODY
            target.leader = node
            target.leader_epoch = leader_epoch
            self.is_dirty = True
            pthread_mutex_unlock(&self.lock)
            self.network.wake()

    def set_read_replica(self, partition, int node, lease_ms):
        """Fetch an assigned partition from a follower for `lease_ms` (KIP-392); -1: from its leader again."""
        cdef FetchTarget* target = self.known_target(partition)
        cdef int64_t until_ns = deadline_of(lease_ms)
        with nogil:
            pthread_mutex_lock(&self.lock)
            target.read_replica = node
            target.read_replica_until_ns = until_ns
            target.retry_ns = 0
            self.is_dirty = True
            pthread_mutex_unlock(&self.lock)
            self.network.wake()

    def pause(self, partition):
        """Stop fetching a partition and returning its records. Fetched data is kept."""
        self.set_paused(self.known_target(partition), True)

    def resume(self, partition):
        self.set_paused(self.known_target(partition), False)

    cdef int set_paused(self, FetchTarget* target, bint is_paused) except -1:
        with nogil:
            pthread_mutex_lock(&self.lock)
            target.is_paused = is_paused
            self.is_dirty = True
            pthread_mutex_unlock(&self.lock)
            self.network.wake()
            self.wakeup.set()
        return 0

    def positions(self):
        """Return the reader's position in each assigned partition: (offset, leader epoch or None).

        The epoch is that of the record before the offset.
        """
        return {partition: (target["position"], None if target["position_epoch"] < 0 else target["position_epoch"])
                for partition, target in self.snapshot()}

    def watermarks(self):
        """Return (log start offset, high watermark, last stable offset) from the last responses; -1: not known."""
        return {partition: (target["log_start_offset"], target["high_watermark"], target["last_stable_offset"])
                for partition, target in self.snapshot()}

    cdef list snapshot(self):
        """Return every assigned partition with its offsets, consistently."""
        cdef ReadPlaces* places
        cdef FetchTarget* target
        cdef int32_t count = 0
        cdef int32_t i
        with nogil:
            pthread_mutex_lock(&self.lock)
            places = <ReadPlaces*>malloc(<size_t>(self.target_count + 1) * sizeof(ReadPlaces))
            for i in range(self.target_count if places != NULL else 0):
                target = self.targets[i]
                if target.is_assigned:
                    places[count].handle = target.topic.handle
                    places[count].index = target.index
                    places[count].position = target.position
                    places[count].position_epoch = target.position_epoch
                    places[count].log_start_offset = target.log_start_offset
                    places[count].high_watermark = target.high_watermark
                    places[count].last_stable_offset = target.last_stable_offset
                    count += 1
            pthread_mutex_unlock(&self.lock)
        if places == NULL:
            raise MemoryError
        try:
            return [((self.names[places[i].handle], places[i].index), places[i]) for i in range(count)]
        finally:
            free(places)

    @property
    def buffered_size(self):
        """Bytes of batches that wait for the reader."""
        return self.buffered_bytes
