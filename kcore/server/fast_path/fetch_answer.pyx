"""The native writer of fetch responses, versions 4 to 17. `kcore/protocol/schemas` has the format.

Records are not copied: the response refers to them as ranges of segment files, and releases the segments once sent.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t
from libc.string cimport memcpy

from kcore.errors cimport NONE
from kcore.network.dispatch cimport CLOSE, RESPONDED, Disposition
from kcore.network.response cimport response_bytes, response_file, response_free, response_init
from kcore.network.socket_server cimport SocketServer
from kcore.replication.partition cimport Partition
from kcore.protocol.output cimport (
    Output, output_free, put_array_size, put_raw, put_int16, put_int32, put_int64, put_no_tags, put_string,
    put_unsigned_varint,
)
from kcore.storage.log cimport ISOLATION_TXN_COMMITTED, ReadResult
from kcore.storage.segment cimport LogSegment, segment_note_unreadable, segment_release
from kcore.storage.transaction_index cimport AbortedTransactions

cdef enum:
    FETCH_KEY = 1
    FIRST_WITH_LOG_START_OFFSET = 5
    FIRST_WITH_SESSION = 7
    FIRST_WITH_PREFERRED_REPLICA = 11
    DIVERGING_EPOCH_TAG = 0
    DIVERGING_EPOCH_SIZE = 13    # epoch, offset, no tags


cdef void begin_answer(FetchAnswer* answer, int32_t correlation_id, int16_t error, int32_t session_id,
                       int32_t topic_count) noexcept nogil:
    cdef Output* output = &answer.output
    output[0] = Output(NULL, 0, 0, False)
    count_error(answer, error)
    put_int32(output, correlation_id)
    put_no_tags(output, answer.flexible)
    put_int32(output, answer.throttle_ms)
    answer.response.throttle_ms = answer.throttle_ms
    if answer.version >= FIRST_WITH_SESSION:
        put_int16(output, error)
        put_int32(output, session_id)
    put_array_size(output, topic_count, answer.flexible)


cdef void begin_topic(FetchAnswer* answer, const uint8_t* name, int32_t name_size,
                      int32_t partition_count) noexcept nogil:
    if answer.by_id:
        put_raw(&answer.output, name, name_size)
    else:
        put_string(&answer.output, name, name_size, answer.flexible)
    put_array_size(&answer.output, partition_count, answer.flexible)


cdef void end_topic(FetchAnswer* answer) noexcept nogil:
    put_no_tags(&answer.output, answer.flexible)


cdef inline void count_error(FetchAnswer* answer, int16_t error) noexcept nogil:
    if error != NONE:
        answer.response.has_error = True
        (<SocketServer>answer.server).errors.add(FETCH_KEY, error, 1)


cdef void put_partition(FetchAnswer* answer, int32_t index, void* partition, ReadResult* read) noexcept nogil:
    cdef Output* output = &answer.output
    cdef bint failed = read.error != NONE
    count_error(answer, read.error)
    if partition != NULL:
        (<Partition>partition).count_bytes_out(read.size_bytes)
    put_int32(output, index)
    put_int16(output, read.error)
    put_int64(output, -1 if failed else read.high_watermark)
    put_int64(output, -1 if failed else read.last_stable_offset)
    if answer.version >= FIRST_WITH_LOG_START_OFFSET:
        put_int64(output, -1 if failed else read.log_start_offset)
    if failed or read.diverges or answer.isolation != ISOLATION_TXN_COMMITTED:
        put_array_size(output, -1, answer.flexible)  # aborted transactions: null
    else:
        put_aborted(output, &read.aborted, answer.flexible)
    if answer.version >= FIRST_WITH_PREFERRED_REPLICA:
        put_int32(output, -1)
    put_records(answer, read)
    if read.diverges and answer.flexible:
        put_diverging_epoch(output, read)
    else:
        put_no_tags(output, answer.flexible)


cdef void put_aborted(Output* output, const AbortedTransactions* aborted, bint flexible) noexcept nogil:
    """The aborted transactions, whose records the client skips."""
    cdef int32_t i
    put_array_size(output, aborted.count, flexible)
    for i in range(aborted.count):
        put_int64(output, aborted.entries[i].producer_id)
        put_int64(output, aborted.entries[i].first_offset)
        put_no_tags(output, flexible)


cdef void put_diverging_epoch(Output* output, const ReadResult* read) noexcept nogil:
    """Writes the tagged field DivergingEpoch."""
    put_unsigned_varint(output, 1)
    put_unsigned_varint(output, DIVERGING_EPOCH_TAG)
    put_unsigned_varint(output, DIVERGING_EPOCH_SIZE)
    put_int32(output, read.diverging_epoch)
    put_int64(output, read.diverging_end_offset)
    put_no_tags(output, True)


cdef void put_records(FetchAnswer* answer, ReadResult* read) noexcept nogil:
    if answer.flexible:
        put_unsigned_varint(&answer.output, <unsigned int>read.size_bytes + 1)
    else:
        put_int32(&answer.output, <int32_t>read.size_bytes)
    if read.size_bytes == 0:
        return
    move_to_response(answer)
    if response_file(answer.response, read.segment.descriptor, read.position, read.size_bytes, release_segment,
                     read.segment):
        read.segment = NULL  # the response owns the pin now
    else:
        answer.output.failed = True


cdef void release_segment(void* segment, int error) noexcept nogil:
    if error < 0:
        segment_note_unreadable(<LogSegment*>segment, error)
    segment_release(<LogSegment*>segment)


cdef void move_to_response(FetchAnswer* answer) noexcept nogil:
    cdef uint8_t* target
    if answer.output.failed or answer.output.size == 0:
        return
    target = response_bytes(answer.response, answer.output.size)
    if target == NULL:
        answer.output.failed = True
        return
    memcpy(target, answer.output.data, answer.output.size)
    answer.output.size = 0


cdef Disposition finish_answer(FetchAnswer* answer) noexcept nogil:
    put_no_tags(&answer.output, answer.flexible)
    move_to_response(answer)
    cdef bint failed = answer.output.failed
    output_free(&answer.output)
    if failed:
        response_free(answer.response)
        response_init(answer.response)
        return CLOSE
    return RESPONDED


cdef Disposition answer_error(FetchAnswer* answer, int32_t correlation_id, int16_t error,
                              int32_t session_id) noexcept nogil:
    begin_answer(answer, correlation_id, error, session_id, 0)
    return finish_answer(answer)
