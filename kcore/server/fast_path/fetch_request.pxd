"""A parsed fetch request. Topic names point into the receive buffer."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

cdef struct FetchPartition:
    int32_t index
    int32_t leader_epoch         # the client's current leader epoch, or -1
    int32_t last_fetched_epoch   # epoch of the last fetched record, or -1
    int32_t max_bytes
    int64_t offset

cdef struct FetchTopic:
    const uint8_t* name          # borrowed: the name up to version 12, the 16-byte id from version 13 on
    int32_t name_size
    int32_t first                # index of its first partition in `partitions`
    int32_t count

cdef struct FetchRequest:
    int16_t version
    bint flexible
    bint by_id
    int32_t replica_id           # -1 for a consumer
    int32_t max_wait_ms
    int32_t min_bytes
    int32_t max_bytes
    int8_t isolation_level       # 0 read_uncommitted, 1 read_committed
    int32_t session_id
    int32_t session_epoch
    FetchTopic* topics
    int32_t topic_count
    FetchPartition* partitions
    int32_t partition_count
    int32_t partition_capacity
    FetchTopic* forgotten_topics # of the session; `first` is an index into `forgotten`
    int32_t forgotten_topic_count
    int32_t* forgotten           # partition indexes
    int32_t forgotten_count
    int32_t forgotten_capacity

# Returns False if the bytes are not a fetch request of `version` (4 to 17). Call free_fetch_request in both cases.
cdef bint read_fetch_request(const uint8_t* body, size_t size, int16_t version, FetchRequest* out) noexcept nogil
cdef void free_fetch_request(FetchRequest* request) noexcept nogil
