"""One replica of a partition, as the broker that holds it sees it."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from kcore.metrics.topic_counters cimport TopicCounters
from kcore.platform.sync cimport pthread_rwlock_t
from kcore.purgatory.purgatory cimport Purgatory
from kcore.replication.partition_watch cimport PartitionWatch, PartitionWatchers
from kcore.record.batch cimport ReceivedBatch
from kcore.record.validator cimport ValidationResult
from kcore.storage.log cimport AppendResult, Log, ReadResult

cdef enum:
    NO_LEADER_EPOCH = -1         # a client that states none

# What the leader knows of another replica.
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
    cdef readonly bint is_internal       # of a topic that brokers keep for themselves
    cdef uint64_t key                    # names the partition in the purgatories; never used again
    cdef TopicCounters served            # written by any thread, with atomic additions
    cdef TopicCounters appended_before   # of the log, by whoever led it before this object
    cdef int32_t pins                    # native users; the object must outlive them
    cdef pthread_rwlock_t leader_lock    # guards what follows
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
    cdef PartitionWatchers watchers      # who notes for himself that something here has changed
    cdef list replica_ids
    cdef list in_sync_ids

    # Appends one partition's batch of a produce request, whose bytes are patched in place, and wakes waiting fetches.
    # `validated` is the result of `validate_for_leader`, or NULL. Release result.record_errors with record_errors_free.
    cdef int16_t append_to_leader(self, const ReceivedBatch* batch, int16_t acks, int origin,
                                  ValidationResult* validated, AppendResult* result) noexcept nogil
    # Reads for a consumer (or a follower, with ISOLATION_LOG_END) that believes in `leader_epoch`, and whose last
    # record was of `last_fetched_epoch`; NO_LEADER_EPOCH where it states none.
    cdef int16_t read_from_leader(self, int64_t offset, int64_t max_bytes, int isolation, bint at_least_one,
                                  int32_t leader_epoch, int32_t last_fetched_epoch, ReadResult* result) noexcept nogil
    # Counts records that leave in an answer.
    cdef void count_bytes_out(self, int64_t size_bytes) noexcept nogil
    # Adds BrokerTopicMetrics of this partition.
    cdef void add_counters(self, TopicCounters* total) noexcept nogil
    # Whether what the asker read last is not in this log (KIP-595); then `result` says where the two part, or the
    # error.
    cdef bint finds_divergence(self, int64_t offset, int32_t last_fetched_epoch, ReadResult* result) noexcept nogil
    # NONE when this broker leads in the epoch the client believes in.
    cdef int16_t check_leadership(self, int32_t leader_epoch) noexcept nogil
    # Whether every in-sync replica has what precedes `offset`; the error of a produce that waits for it otherwise.
    cdef bint is_replicated_to(self, int64_t offset, int16_t* error) noexcept nogil
    # The same for what a producer asked for: of the leader alone with acks=1, where only group commit makes it wait.
    cdef bint is_acknowledged(self, int16_t acks, int64_t offset, int16_t* error) noexcept nogil
    cdef bint is_shown_by_leader_alone(self, int64_t offset) noexcept nogil
    cdef int32_t locked_value(self, const int32_t* field)
    cdef object append_outcome(self, const AppendResult* result)
    cdef void log_was_flushed(self) noexcept nogil
    cdef bint advance_high_watermark(self) noexcept nogil
    cdef void wake_waiters(self) noexcept nogil
    # From now on `watch.changed` is called for every record, change of leadership and the end. False once that has
    # come: the partition has left this broker. Either end must come before the watch's memory, or the pin, is given up.
    cdef bint watch(self, PartitionWatch* watch) noexcept nogil
    cdef void unwatch(self, PartitionWatch* watch) noexcept nogil
    cdef bint has_left(self) noexcept nogil
    # Keeps the object alive for native code; answers its own pointer.
    cdef void* pin(self) noexcept nogil
    cdef void unpin(self) noexcept nogil
