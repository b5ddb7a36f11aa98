"""Fetcher: the network thread's driver for a consumer. It fetches from partition leaders, ahead of the reader."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from kcore.client.consumer.fetch_request cimport AnsweredPartition, FetchTerms
from kcore.client.consumer.fetch_session cimport FetchSession, FetchTarget, FetchTopic, PendingEvent
from kcore.client.consumer.record_reader cimport RecordReader
from kcore.client.network.client_request cimport ReceivedFrame, ReplyStatus


cdef class Fetcher(RecordReader):
    cdef readonly object settings
    cdef bytes client_id
    cdef bytes rack
    cdef FetchTerms terms
    cdef int32_t max_bytes
    cdef int32_t partition_max_bytes
    cdef bint check_crcs
    cdef size_t decompressed_limit_bytes
    cdef size_t buffer_bytes
    cdef int64_t request_timeout_ns
    cdef int64_t backoff_ns
    cdef int64_t backoff_max_ns
    # Under the mutex
    cdef FetchSession** sessions     # by slot of the node
    cdef int32_t session_count
    cdef int64_t group               # counts groupings of targets in requests
    cdef int32_t first_target        # where the next turn begins
    cdef int32_t first_session
    cdef size_t reserved_bytes       # reserved for responses in flight
    cdef int64_t look_ns             # when the next turn is due

    # On the network thread
    cdef int64_t turn(self, int64_t now_ns) noexcept nogil
    cdef int64_t gather(self, int64_t now_ns) noexcept nogil
    cdef int32_t node_of(self, FetchTarget* target, int64_t now_ns) noexcept nogil
    cdef FetchSession* session_of(self, int32_t node) noexcept nogil
    cdef bint may_connect(self, FetchSession* session, int64_t now_ns) noexcept nogil
    cdef bint prepare(self, FetchSession* session, int64_t now_ns) noexcept nogil
    cdef int16_t version_for(self, FetchSession* session) noexcept nogil
    cdef int32_t room_for(self, FetchSession* session) noexcept nogil
    cdef void finished(self, FetchSession* session, ReplyStatus status, ReceivedFrame* frame, size_t body,
                       int64_t now_ns) noexcept nogil
    cdef bint take_answer(self, FetchSession* session, ReceivedFrame* frame, size_t body, int64_t now_ns) noexcept nogil
    cdef FetchTopic* topic_named(self, const uint8_t* name, int32_t size, bint by_id, FetchTopic* hint) noexcept nogil
    cdef void take_partition(self, FetchSession* session, FetchTopic* topic, AnsweredPartition* answered,
                             ReceivedFrame* frame, int64_t now_ns) noexcept nogil
    cdef bint take_records_of(self, FetchTarget* target, int16_t version, AnsweredPartition* answered,
                              ReceivedFrame* frame) noexcept nogil
    cdef void take_error(self, FetchSession* session, FetchTarget* target, AnsweredPartition* answered,
                         int64_t now_ns) noexcept nogil
    cdef void back_off(self, FetchTarget* target, int64_t now_ns) noexcept nogil
    cdef void node_failed(self, FetchSession* session, int64_t now_ns) noexcept nogil
    cdef void tell_failure(self, FetchSession* session) noexcept nogil
    # For take_events
    cdef bint take_failed_node(self, int32_t* node) noexcept nogil    # under the mutex
    cdef object event_from(self, const FetchTarget* target, const PendingEvent* event)
