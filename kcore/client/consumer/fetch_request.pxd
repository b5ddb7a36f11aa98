"""Fetch, API key 1, versions 4 to 17, encoded and decoded natively. The schema is in `kcore/protocol/schemas`.

    request   replica_id(-14) max_wait_ms min_bytes max_bytes isolation_level session_id(7+) session_epoch(7+)
              [topic: name(-12) or id(13+) [partition: index leader_epoch(9+) offset last_fetched_epoch(12+)
              log_start_offset(5+) max_bytes]] [forgotten(7+): name or id [index]] rack_id(11+)
    response  throttle_time_ms error_code(7+) session_id(7+) [topic: name or id [partition: index error_code
              high_watermark last_stable_offset log_start_offset(5+) [aborted: producer_id first_offset]
              preferred_read_replica(11+) records, tagged(12+): 0 diverging epoch, 1 current leader]],
              tagged: 0 node endpoints(16+)
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from kcore.client.consumer.fetched_partition cimport AbortedTransaction
from kcore.cursor cimport Cursor
from kcore.protocol.output cimport Output

cdef enum:
    FETCH_KEY = 1
    LOWEST_FETCH_VERSION = 4
    HIGHEST_FETCH_VERSION = 17
    # Last version with topic names. Later ones have topic ids (KIP-516).
    LAST_FETCH_VERSION_BY_NAME = 12
    FIRST_VERSION_WITH_SESSION = 7
    UUID_SIZE = 16
    NO_SESSION = 0
    INITIAL_SESSION_EPOCH = 0      # a full request that creates a session
    FINAL_SESSION_EPOCH = -1       # a full request outside any session; closes the session that it names

# The fields that all requests of a fetcher share.
cdef struct FetchTerms:
    const uint8_t* client_id
    int32_t client_id_size         # -1: none
    const uint8_t* rack
    int32_t rack_size
    int32_t max_wait_ms
    int32_t min_bytes
    int8_t isolation_level

# Write a frame in this order, with the same `version`. Check output.failed at the end.
cdef void begin_fetch_request(Output* out, int16_t version, const FetchTerms* terms, int32_t max_bytes,
                              int32_t session_id, int32_t session_epoch, int32_t topic_count) noexcept nogil
cdef void put_fetch_topic(Output* out, int16_t version, const uint8_t* name, int32_t name_size, const uint8_t* id,
                          int32_t partition_count) noexcept nogil
cdef void put_fetch_partition(Output* out, int16_t version, int32_t index, int32_t leader_epoch, int64_t offset,
                              int32_t last_fetched_epoch, int32_t max_bytes) noexcept nogil
cdef void end_fetch_topic(Output* out, int16_t version) noexcept nogil
# From version 7 on: topics, each with `put_fetch_topic`, `put_forgotten_partition` and `end_fetch_topic`.
cdef void begin_forgotten_topics(Output* out, int16_t version, int32_t topic_count) noexcept nogil
cdef void put_forgotten_partition(Output* out, int32_t index) noexcept nogil
cdef void end_fetch_request(Output* out, int16_t version, const FetchTerms* terms) noexcept nogil

cdef struct FetchAnswer:
    int32_t throttle_time_ms
    int16_t error_code
    int32_t session_id
    int32_t topic_count

cdef struct AnsweredTopic:
    const uint8_t* name            # points into the frame; from version 13 on, the 16 bytes of the id
    int32_t name_size
    int32_t partition_count

cdef struct AnsweredPartition:
    int32_t index
    int16_t error_code
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    int32_t aborted_count
    Cursor aborted                 # for `next_aborted`
    int32_t preferred_read_replica # -1: none
    const uint8_t* records         # NULL: none
    int32_t records_size
    int32_t diverging_epoch        # -1: none
    int64_t diverging_end_offset
    int32_t leader_id              # -1: not in the response
    int32_t leader_epoch

cdef struct NodeEndpoint:
    int32_t node_id
    const uint8_t* host
    int32_t host_size
    int32_t port

# Read in this order. Check cursor.failed before you use any result.
cdef void read_fetch_answer(Cursor* cursor, int16_t version, FetchAnswer* answer) noexcept nogil
cdef void next_answered_topic(Cursor* cursor, int16_t version, AnsweredTopic* topic) noexcept nogil
cdef void next_answered_partition(Cursor* cursor, int16_t version, AnsweredPartition* partition) noexcept nogil
cdef void end_answered_topic(Cursor* cursor, int16_t version) noexcept nogil
# Reads the end of the response. Returns the number of node endpoints; `endpoints` is then at the first one.
cdef int32_t end_fetch_answer(Cursor* cursor, int16_t version, Cursor* endpoints) noexcept nogil
cdef void next_aborted(Cursor* aborted, int16_t version, AbortedTransaction* transaction) noexcept nogil
cdef void next_endpoint(Cursor* endpoints, NodeEndpoint* endpoint) noexcept nogil
