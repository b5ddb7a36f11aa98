"""One replica of a partition, as its own broker sees it."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from kcore.metrics.topic_counters cimport TopicCounters
from kcore.platform.sync cimport pthread_rwlock_t
from kcore.purgatory.purgatory cimport Purgatory
from kcore.replication.partition_watch cimport PartitionWatch, PartitionWatchers
from kcore.record.batch cimport ReceivedBatch
from kcore.record.validator cimport ValidationResult
from kcore.storage.log cimport AppendResult, Log, ReadResult

cdef enum:
    NO_LEADER_EPOCH = -1         # the client sends no epoch

# The leader's view of another replica.
cdef struct RemoteReplica:
    int32_t broker_id
    bint in_sync
    int64_t log_end_offset       # -1 before its first fetch

cdef class Partition:
    cdef readonly str topic
    cdef readonly int index
    cdef readonly bytes topic_id
    cdef readonly Log log
    cdef readonly int local_broker_id
    cdef readonly bint is_internal       # of an internal topic
    cdef uint64_t key                    # identifies the partition in the purgatories; unique in the process
    cdef TopicCounters served            # written by any thread, with atomic additions
    cdef TopicCounters appended_before   # what `log` had counted before this object existed
    cdef int32_t pins                    # users in native code; the object must outlive them
    cdef pthread_rwlock_t leader_lock    # guards the fields from here on
    cdef bint leads
    cdef bint closed
    cdef int32_t current_leader_id
    cdef int32_t current_leader_epoch
    cdef int32_t min_in_sync
    cdef int32_t in_sync_count
    cdef RemoteReplica* remotes
    cdef int32_t remote_count
    cdef Purgatory fetch_purgatory
    cdef Purgatory produce_purgatory
    cdef PartitionWatchers watchers      # fetch sessions and others that are notified of changes
    cdef list replica_ids
    cdef list in_sync_ids

    # Appends one partition's batch of a produce request, patching its bytes in place, and wakes waiting fetches.
    # `validated` is the result of `validate_for_leader`, or NULL. Release result.record_errors with record_errors_free.
    cdef int16_t append_to_leader(self, const ReceivedBatch* batch, int16_t acks, int origin,
                                  ValidationResult* validated, AppendResult* result) noexcept nogil
    # Reads for a consumer (or for a follower, with ISOLATION_LOG_END). `leader_epoch` is the leader epoch that the
    # client knows, `last_fetched_epoch` the epoch of its last record; NO_LEADER_EPOCH if it sends none.
    cdef int16_t read_from_leader(self, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                                  int32_t leader_epoch, int32_t last_fetched_epoch, ReadResult* result) noexcept nogil
    # Counts the bytes of records in a response.
    cdef void count_bytes_out(self, int64_t size_bytes) noexcept nogil
    # Adds this partition's BrokerTopicMetrics.
    cdef void add_counters(self, TopicCounters* total) noexcept nogil
    # Whether the requester's log diverges from this one (KIP-595). Then `result` has the point of divergence or the
    # error.
    cdef bint finds_divergence(self, int64_t offset, int32_t last_fetched_epoch, ReadResult* result) noexcept nogil
    # NONE if this broker is the leader, in the epoch that the client knows.
    cdef int16_t check_leadership(self, int32_t leader_epoch) noexcept nogil
    # Whether a produce need not wait any longer: all in-sync replicas have the records below `offset`, or `error` is
    # set.
    cdef bint is_replicated_to(self, int64_t offset, int16_t* error) noexcept nogil
    # The same for the given acks. With acks=1 only the leader counts, and only group commit makes a produce wait.
    cdef bint is_acknowledged(self, int16_t acks, int64_t offset, int16_t* error) noexcept nogil
    cdef bint is_shown_by_leader_alone(self, int64_t offset) noexcept nogil
    cdef int32_t locked_value(self, const int32_t* field)
    cdef object append_outcome(self, const AppendResult* result)
    cdef void log_was_flushed(self) noexcept nogil
    cdef bint advance_high_watermark(self) noexcept nogil
    cdef void wake_waiters(self) noexcept nogil
    # From now on `watch.changed` is called for appends, changes of leadership and the removal of the partition. False
    # if the partition has left this broker already. Remove the watch before you free its memory or drop the pin.
    cdef bint watch(self, PartitionWatch* watch) noexcept nogil
    cdef void unwatch(self, PartitionWatch* watch) noexcept nogil
    cdef bint has_left(self) noexcept nogil
    # Keeps the object alive for native code. Returns a pointer to it.
    cdef void* pin(self) noexcept nogil
    cdef void unpin(self) noexcept nogil
