"""The partitions to fetch, and the state of the fetch session with each broker.

A FetchTarget is a partition that the consumer reads. It lives as long as its fetcher, even when it is not assigned. A
FetchSession is the state of the fetches from one node: at most one request in flight, and with KIP-227 the partitions
that the broker remembers. Requests of a session only name new, changed and removed partitions.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.client.consumer.fetch_request cimport UUID_SIZE, FetchTerms
from kcore.client.network.client_request cimport ClientRequest
from kcore.platform.disk cimport iovec
from kcore.protocol.output cimport Output

# An event that has not been taken yet; see fetch_event.py.
cdef struct PendingEvent:
    int16_t error_code
    int64_t offset                 # the requested offset
    int32_t diverging_epoch        # -1: none
    int64_t diverging_end_offset
    int32_t leader_id              # the newer leader in the response; -1: none
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
    int64_t generation             # raised by assign, seek and unassign; older responses are ignored
    bint is_assigned
    bint is_paused
    bint is_blocked                # its position cannot be fetched; cleared by a seek
    int32_t leader                 # slot of the NetworkClient; -1: not known
    int32_t leader_epoch
    int32_t read_replica           # -1: the leader
    int64_t read_replica_until_ns
    int64_t fetch_offset           # start of the next fetch, ahead of the reader
    int32_t fetched_epoch          # epoch of the batch before fetch_offset; -1: not known
    int64_t retry_ns               # do not fetch before
    int32_t failures               # consecutive failures
    # Used by the reader
    int64_t position
    int32_t position_epoch
    int32_t queued                 # responses that wait for the reader
    size_t buffered_bytes
    # From responses; -1: not yet known
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    # Membership in a session
    FetchSession* session
    int32_t member
    int64_t wanted                 # the round in which it was last wanted
    FetchTarget* next_in_group
    bint has_event
    PendingEvent event
    FetchTarget* next_with_event

# A partition as the last request described it to the broker.
cdef struct SessionMember:
    FetchTarget* target
    int64_t generation
    int64_t offset
    int32_t leader_epoch
    int32_t fetched_epoch

cdef struct FetchSession:
    int32_t node
    int32_t id                     # 0: no session
    int32_t epoch                  # of the next request
    bint must_restart              # the next request must be a full one
    int64_t id_changes             # the fetcher's count of topic id changes at the last request
    int16_t version
    int64_t round
    bint in_flight
    int64_t retry_ns
    int64_t doubted_ns             # it could not be connected to; when to report that again
    size_t reserved_bytes          # reserved for the response in flight
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
    bint is_blocked                # one of its partitions must be read first
    bint has_failed                # a failure that is not reported yet
    ClientRequest request
    iovec part
    Output frame
    void* fetcher

cdef FetchSession* new_fetch_session(int32_t node) noexcept nogil
cdef void free_fetch_session(FetchSession* session) noexcept nogil
cdef bint want(FetchSession* session, FetchTarget* target) noexcept nogil
# Writes the next request for the wanted targets into `frame`. `group` counts groupings of the whole fetcher. Returns
# False if memory cannot be allocated.
cdef bint write_session_request(FetchSession* session, int16_t version, const FetchTerms* terms, int32_t max_bytes,
                                int32_t partition_max_bytes, int64_t* group) noexcept nogil
# Applies the session id and error of a response.
cdef void session_answered(FetchSession* session, int16_t error_code, int32_t session_id) noexcept nogil
# No response arrived, or topic ids have changed: the next request closes the session and creates a new one.
cdef void restart_session(FetchSession* session) noexcept nogil
# Returns what the answered request said about a target; NULL if it said nothing, or nothing that is still valid.
cdef SessionMember* member_of(FetchSession* session, FetchTarget* target) noexcept nogil
