"""What is fetched, and what one broker has been told of it.

A FetchTarget is a partition that the consumer reads; it lives as long as its fetcher, assigned or not. A FetchSession is the
conversation with one node: one request on the way at a time, and with KIP-227 the list of partitions that the broker
remembers, of which a request only says what is new, changed or gone.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.client.consumer.fetch_request cimport UUID_SIZE, FetchTerms
from kcore.client.network.client_request cimport ClientRequest
from kcore.platform.disk cimport iovec
from kcore.protocol.output cimport Output

# What only a decision can answer, until it is taken; see fetch_event.py.
cdef struct PendingEvent:
    int16_t error_code
    int64_t offset                 # that was asked for
    int32_t diverging_epoch        # -1: none
    int64_t diverging_end_offset
    int32_t leader_id              # the newer leader that the answer named; -1: none
    int32_t leader_epoch
    int32_t preferred_read_replica # broker id; -1: none

cdef struct FetchTopic:
    int32_t handle
    uint8_t* name
    int32_t name_size
    uint8_t[UUID_SIZE] id
    bint has_id
    FetchTarget** targets          # by partition index; NULL where there is none
    int32_t target_count
    # While a request is written
    int64_t group
    FetchTopic* next_in_group
    FetchTarget* first_in_group
    FetchTarget* last_in_group
    int32_t group_count

cdef struct FetchTarget:
    FetchTopic* topic
    int32_t index
    int32_t slot                   # place among the fetcher's targets
    int64_t generation             # raised by assign, seek and unassign: what was asked before does not count
    bint is_assigned
    bint is_paused
    bint is_blocked                # its position cannot be fetched: until it is sought
    int32_t leader                 # slot of the NetworkClient; -1: not known
    int32_t leader_epoch
    int32_t read_replica           # -1: the leader
    int64_t read_replica_until_ns
    int64_t fetch_offset           # where the next fetch begins, ahead of the reader
    int32_t fetched_epoch          # of the batch before it; -1: not known
    int64_t retry_ns               # not to be fetched before
    int32_t failures               # one after the other
    # The reader's
    int64_t position
    int32_t position_epoch
    int32_t queued                 # answers that wait for the reader
    size_t buffered_bytes
    # What answers said; -1: not yet
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    # Its membership of a session
    FetchSession* session
    int32_t member
    int64_t wanted                 # the round in which it was last asked for
    FetchTarget* next_in_group
    bint has_event
    PendingEvent event
    FetchTarget* next_with_event

# A partition as the broker was told of it last.
cdef struct SessionMember:
    FetchTarget* target
    int64_t generation
    int64_t offset
    int32_t leader_epoch
    int32_t fetched_epoch

cdef struct FetchSession:
    int32_t node
    int32_t id                     # 0: there is none
    int32_t epoch                  # of the next request
    bint must_restart              # that one is to be a full one
    int64_t id_changes             # of topics, up to the last request
    int16_t version
    int64_t round
    bint in_flight
    int64_t retry_ns
    int64_t doubted_ns             # it could not be connected to: when that is told again
    size_t reserved_bytes          # of the answer on the way
    SessionMember* members
    int32_t member_count
    int32_t member_capacity
    FetchTarget** forgotten
    int32_t forgotten_count
    int32_t forgotten_capacity
    FetchTarget** wanted
    int32_t wanted_count
    int32_t wanted_capacity
    int64_t groups
    bint is_blocked                # one of its partitions has to be read first
    bint has_failed                # and nobody was told yet
    ClientRequest request
    iovec part
    Output frame
    void* fetcher

cdef FetchSession* new_fetch_session(int32_t node) noexcept nogil
cdef void free_fetch_session(FetchSession* session) noexcept nogil
cdef bint want(FetchSession* session, FetchTarget* target) noexcept nogil
# Writes the next request for the wanted targets into `frame`; `group` counts groups for the whole fetcher. False without memory.
cdef bint write_session_request(FetchSession* session, int16_t version, const FetchTerms* terms, int32_t max_bytes,
                                int32_t partition_max_bytes, int64_t* group) noexcept nogil
# What the answer says of the session itself.
cdef void session_answered(FetchSession* session, int16_t error_code, int32_t session_id) noexcept nogil
# The answer did not come, or the topic ids have changed: the next request closes the session and asks for another.
cdef void restart_session(FetchSession* session) noexcept nogil
# What was asked of a target in the request that is answered; NULL when nothing was that still counts.
cdef SessionMember* member_of(FetchSession* session, FetchTarget* target) noexcept nogil
