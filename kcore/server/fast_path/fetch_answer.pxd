"""Writes fetch responses, versions 4 to 17."""

from libc.stdint cimport int16_t, int32_t, uint8_t

from kcore.network.dispatch cimport Disposition
from kcore.network.response cimport Response
from kcore.protocol.output cimport Output
from kcore.storage.log cimport ReadResult

# A response being written. `output` collects bytes and moves them to `response` before records follow.
cdef struct FetchAnswer:
    int16_t version
    bint flexible
    bint by_id
    int isolation
    void* server                 # a SocketServer, for its error counts
    int32_t throttle_ms
    Output output
    Response* response

# Call begin_topic `topic_count` times after this, then finish_answer.
cdef void begin_answer(FetchAnswer* answer, int32_t correlation_id, int16_t error, int32_t session_id,
                       int32_t topic_count) noexcept nogil
# Call put_partition `partition_count` times after this, then end_topic.
cdef void begin_topic(FetchAnswer* answer, const uint8_t* name, int32_t name_size,
                      int32_t partition_count) noexcept nogil
cdef void end_topic(FetchAnswer* answer) noexcept nogil
# The response takes over the pinned segment of `read`. `partition` counts the bytes and may be NULL.
cdef void put_partition(FetchAnswer* answer, int32_t index, void* partition, ReadResult* read) noexcept nogil
# RESPONDED. If memory is exhausted: CLOSE, and an empty response.
cdef Disposition finish_answer(FetchAnswer* answer) noexcept nogil
# A complete response without topics.
cdef Disposition answer_error(FetchAnswer* answer, int32_t correlation_id, int16_t error,
                              int32_t session_id) noexcept nogil
