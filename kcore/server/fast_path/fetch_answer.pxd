"""The bytes of a fetch response, versions 4 to 17."""

from libc.stdint cimport int16_t, int32_t, uint8_t

from kcore.network.dispatch cimport Disposition
from kcore.network.response cimport Response
from kcore.protocol.output cimport Output
from kcore.storage.log cimport ReadResult

# A response that is being written: `output` runs ahead of `response`, to which it moves where records follow.
cdef struct FetchAnswer:
    int16_t version
    bint flexible
    bint by_id
    int isolation
    void* server                 # a SocketServer, which counts errors
    int32_t throttle_ms
    Output output
    Response* response

# `topic_count` topics must follow, then finish_answer.
cdef void begin_answer(FetchAnswer* answer, int32_t correlation_id, int16_t error, int32_t session_id,
                       int32_t topic_count) noexcept nogil
# `partition_count` partitions must follow, then end_topic.
cdef void begin_topic(FetchAnswer* answer, const uint8_t* name, int32_t name_size,
                      int32_t partition_count) noexcept nogil
cdef void end_topic(FetchAnswer* answer) noexcept nogil
# The response takes over the segment that the read has pinned; `partition` counts what it gives, and may be NULL.
cdef void put_partition(FetchAnswer* answer, int32_t index, void* partition, ReadResult* read) noexcept nogil
# RESPONDED, or CLOSE, and an empty response, when memory ran out.
cdef Disposition finish_answer(FetchAnswer* answer) noexcept nogil
# A whole answer without topics.
cdef Disposition answer_error(FetchAnswer* answer, int32_t correlation_id, int16_t error,
                              int32_t session_id) noexcept nogil
