"""FetchTargets: the partitions that a consumer reads, and the data that was fetched for them."""

from libc.stdint cimport int32_t, int64_t
from kcore.client.consumer.fetch_session cimport FetchTarget, FetchTopic
from kcore.client.consumer.fetched_partition cimport FetchedPartition
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.network.wakeup cimport Wakeup
from kcore.platform.sync cimport pthread_mutex_t

cdef int64_t deadline_of(timeout_ms) except -1


cdef class FetchTargets:
    cdef NetworkClient network
    cdef readonly Wakeup wakeup      # of the reader's thread
    # Python's view of the table
    cdef object growing              # a lock: one thread at a time adds to the table
    cdef dict topic_places           # addresses of topics, by name
    cdef dict target_places          # addresses of targets, by partition
    cdef list names                  # of topics, by handle
    # Under the mutex
    cdef pthread_mutex_t lock
    cdef FetchTopic** topics
    cdef int32_t topic_count
    cdef int64_t id_changes          # number of changes of topic ids
    cdef FetchTarget** targets
    cdef int32_t target_count
    cdef FetchedPartition* first     # queue for the reader, oldest first
    cdef FetchedPartition* last
    cdef size_t buffered_bytes
    cdef bint is_dirty               # something has changed since the driver's last turn
    cdef bint is_starved             # the driver waits for the reader to make room
    cdef bint has_made_room          # room was made since the driver looked
    cdef int32_t in_flight           # requests
    cdef FetchTarget* first_event
    cdef FetchTarget* last_event
    cdef int event_descriptor

    # Under the mutex, on any thread
    cdef void enqueue(self, FetchedPartition* fetched) noexcept nogil
    cdef void throw_away(self, FetchedPartition* fetched) noexcept nogil    # must not be in the queue any more
    cdef void drop_queued(self, FetchTarget* target) noexcept nogil
    cdef FetchedPartition* dequeue(self) noexcept nogil
    cdef void post_event(self, FetchTarget* target) noexcept nogil
    cdef void tell_events(self) noexcept nogil

    cdef FetchTopic* topic_for(self, str name) except NULL
    cdef FetchTopic* topic_made(self, str name) except NULL
    cdef FetchTarget* find_target(self, partition) except? NULL
    cdef FetchTarget* known_target(self, partition) except NULL
    cdef FetchTarget* target_for(self, partition) except NULL
    cdef FetchTarget* target_made(self, partition) except NULL
    cdef int move(self, FetchTarget* target, int64_t offset, int32_t epoch, bint is_assigned) except -1
    cdef int set_paused(self, FetchTarget* target, bint is_paused) except -1
    cdef list snapshot(self)
