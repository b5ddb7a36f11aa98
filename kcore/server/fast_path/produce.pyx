"""Produce requests of versions 3 to 11, appended and answered without the GIL.

There are two passes. The first one pins every partition and checks for everything that needs a handler: an unknown
partition, an internal topic, a transactional id or batch, records that the version forbids, a codec without a library,
a batch that takes long to decompress. If there is any, the whole request goes to `handlers/produce.py`. The second pass
appends, and always ends in a response.

With acks=all the response waits in the produce purgatory until the in-sync replicas have the records. With
`log.flush.group.commit` it also waits until the leader has them on the device, even with acks=1. The response is
encoded at once. Only the error codes of partitions may change later; they are patched in place.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from kcore.errors cimport NONE
from kcore.network.dispatch cimport CLOSE, DELAYED, RESPONDED, TO_HANDLER, DispatchEntry, Disposition, NativeRequest
from kcore.network.response cimport Response, response_bytes, response_init
from kcore.network.socket_server cimport SocketServer
from kcore.purgatory.purgatory cimport DelayedOperation
from kcore.record.batch cimport COMPRESSION_MASK, ReceivedBatch
from kcore.record.compression cimport codec_is_available
from kcore.record.record_errors cimport (
    RECORD_ERRORS_MAX, RECORD_ERRORS_SIZE_MAX, RecordErrors, describe_record_error, describe_record_errors,
    record_errors_free,
)
from kcore.record.validator cimport ORIGIN_CLIENT
from kcore.replication.partition cimport Partition
from kcore.replication.partition_wait cimport AwaitedPartition, are_acknowledged, awaited_error, wait_for_partitions
from kcore.replication.replica_manager cimport ReplicaManager
from kcore.protocol.output cimport (
    Output, output_free, put_array_size, put_int16, put_int32, put_int64, put_no_tags, put_sentence, put_string,
)
from kcore.server.fast_path.produce_request cimport (
    PartitionRecords, ProduceRequest, TopicRecords, free_produce_request, read_produce_request,
)
from kcore.server.fast_path.throttling cimport charge_produce
from kcore.server.produce_rules cimport check_produced_batch, is_large, is_transactional
from kcore.storage.log cimport AppendResult

cdef enum:
    PRODUCE_KEY = 0
    FIRST_VERSION = 3
    LAST_VERSION = 11
    FIRST_FLEXIBLE = 9
    FIRST_VERSION_WITH_LOG_START_OFFSET = 5
    FIRST_VERSION_WITH_RECORD_ERRORS = 8
    NO_ACKS = 0

# A partition that waits for replication or a flush.
cdef struct PendingPartition:
    AwaitedPartition awaited     # first: wait_for_partitions steps through these
    size_t error_position        # of its error code in the response

cdef struct DelayedProduce:
    DelayedOperation operation   # first: the purgatory's callbacks cast it to DelayedProduce
    void* path
    uint64_t connection
    int32_t throttle_ms
    int32_t record_errors_left   # how many more the response may list
    Output answer
    bint failed                  # a partition has an error
    int16_t acks
    int32_t count
    PendingPartition pending[1]  # `count` of them follow


cdef class ProducePath:
    """The native handler of Produce. `install` adds it to the server's dispatch table."""

    def __init__(self, ReplicaManager replicas not None, SocketServer server not None, int64_t inline_bytes):
        self.replicas = replicas
        self.server = server
        self.inline_bytes = inline_bytes

    def install(self):
        """Lets the processors answer Produce. This object must outlive them."""
        cdef DispatchEntry* entry = &self.server.dispatch.entries[PRODUCE_KEY]
        entry.context = <void*>self
        entry.min_version = FIRST_VERSION
        entry.max_version = LAST_VERSION
        entry.first_flexible = FIRST_FLEXIBLE
        entry.handle = handle_produce

    cdef Disposition handle(self, NativeRequest* request, Response* response) noexcept nogil:
        cdef ProduceRequest produce
        cdef void** partitions = NULL
        cdef Disposition disposition = TO_HANDLER
        cdef int32_t position
        if (read_produce_request(request.frame + request.body, request.size - request.body, request.api_version,
                                 &produce)
                and not produce.transactional and -1 <= produce.acks <= 1):
            partitions = <void**>calloc(max(1, produce.partition_count), sizeof(void*))
            if partitions != NULL and self.pin_all(&produce, partitions):
                disposition = self.append_all(request, &produce, partitions, response)
        if partitions != NULL:
            for position in range(produce.partition_count):
                if partitions[position] != NULL:
                    (<Partition>partitions[position]).unpin()
            free(partitions)
        free_produce_request(&produce)
        return disposition

    cdef bint pin_all(self, const ProduceRequest* produce, void** partitions) noexcept nogil:
        """Fills `partitions`. False if the request needs a handler."""
        cdef int32_t topic_position, position
        cdef const TopicRecords* topic
        cdef const PartitionRecords* records
        cdef const char* message
        for topic_position in range(produce.topic_count):
            topic = &produce.topics[topic_position]
            for position in range(topic.first, topic.first + topic.count):
                records = &produce.partitions[position]
                if (check_produced_batch(&records.batch, produce.version, &message) != NONE
                        or is_transactional(&records.batch) or not is_readable(&records.batch)
                        or is_large(&records.batch, self.inline_bytes)):
                    return False
                partitions[position] = self.replicas.pin_by_name(topic.name, topic.name_size, records.index)
                if partitions[position] == NULL or (<Partition>partitions[position]).is_internal:
                    return False
        return True

    cdef Disposition append_all(self, NativeRequest* request, const ProduceRequest* produce, void** partitions,
                                Response* response) noexcept nogil:
        cdef Output answer = Output(NULL, 0, 0, False)
        cdef DelayedProduce* delayed = new_delayed(<void*>self, produce.acks, produce.partition_count)
        cdef int32_t topic_position
        cdef int32_t throttle_ms
        cdef bint failed = False
        if delayed == NULL:
            return CLOSE
        put_int32(&answer, request.correlation_id)
        put_no_tags(&answer, produce.flexible)
        put_array_size(&answer, produce.topic_count, produce.flexible)
        for topic_position in range(produce.topic_count):
            failed |= append_topic(produce, &produce.topics[topic_position], partitions, &answer, delayed)
        throttle_ms = charge_produce(self.server.quotas, request, produce.acks != 0)
        response.throttle_ms = throttle_ms
        put_int32(&answer, throttle_ms)
        put_no_tags(&answer, produce.flexible)
        response.has_error = failed
        if produce.acks == 0:
            response.empty = True
            output_free(&answer)
            free(delayed)
            return CLOSE if failed else RESPONDED
        if delayed.count == 0:
            free(delayed)
            return hand_over(&answer, response)
        delayed.throttle_ms = throttle_ms
        response.throttle_ms = 0
        return self.wait(request, produce, &answer, delayed, failed)

    cdef Disposition wait(self, NativeRequest* request, const ProduceRequest* produce, Output* answer,
                          DelayedProduce* delayed, bint failed) noexcept nogil:
        cdef int32_t position
        delayed.connection = request.connection
        delayed.answer = answer[0]
        delayed.failed = failed
        for position in range(delayed.count):
            # The caller releases its own pins.
            (<Partition>delayed.pending[position].awaited.partition).pin()
        if answer.failed or not wait_for_partitions(
                self.replicas.produce_purgatory, &delayed.operation, &delayed.pending[0].awaited,
                sizeof(PendingPartition), delayed.count, produce.timeout_ms):
            free_delayed(&delayed.operation)
            return CLOSE
        return DELAYED


cdef Disposition handle_produce(void* context, NativeRequest* request, Response* response) noexcept nogil:
    return (<ProducePath>context).handle(request, response)


cdef inline bint is_readable(const ReceivedBatch* batch) noexcept nogil:
    """Whether the system has the library of the batch's codec. An invalid batch is refused later."""
    return codec_is_available(batch.header.attributes & COMPRESSION_MASK)


cdef bint append_topic(const ProduceRequest* produce, const TopicRecords* topic, void** partitions, Output* answer,
                       DelayedProduce* delayed) noexcept nogil:
    """Appends a topic's records and writes its part of the response. True if a partition failed."""
    cdef int32_t position
    cdef int16_t error
    cdef AppendResult result
    cdef const PartitionRecords* records
    cdef bint failed = False
    put_string(answer, topic.name, topic.name_size, produce.flexible)
    put_array_size(answer, topic.count, produce.flexible)
    for position in range(topic.first, topic.first + topic.count):
        records = &produce.partitions[position]
        error = (<Partition>partitions[position]).append_to_leader(
            &records.batch, produce.acks, ORIGIN_CLIENT, NULL, &result)
        if error != NONE:
            failed = True
            (<ProducePath>delayed.path).server.errors.add(PRODUCE_KEY, error, 1)
        put_int32(answer, records.index)
        if produce.acks != NO_ACKS and error == NONE:
            wait_unless_acknowledged(delayed, partitions[position], result.last_offset + 1, answer)
        write_result(answer, produce, topic, records.index, &result, &delayed.record_errors_left)
        record_errors_free(&result.record_errors)
    put_no_tags(answer, produce.flexible)
    return failed


cdef inline void wait_unless_acknowledged(DelayedProduce* delayed, void* partition, int64_t required_offset,
                                          Output* answer) noexcept nogil:
    cdef PendingPartition* pending = &delayed.pending[delayed.count]
    pending.awaited.partition = partition
    pending.awaited.required_offset = required_offset
    pending.error_position = answer.size
    if awaited_error(&pending.awaited, delayed.acks) != NONE:
        delayed.count += 1


cdef void write_result(Output* answer, const ProduceRequest* produce, const TopicRecords* topic, int32_t index,
                       const AppendResult* result, int32_t* record_errors_left) noexcept nogil:
    put_int16(answer, result.error)
    put_int64(answer, result.base_offset)
    put_int64(answer, result.log_append_time_ms)
    if produce.version >= FIRST_VERSION_WITH_LOG_START_OFFSET:
        put_int64(answer, result.log_start_offset)
    if produce.version >= FIRST_VERSION_WITH_RECORD_ERRORS and result.record_errors.count > 0:
        put_record_errors(answer, produce.flexible, topic, index, &result.record_errors, record_errors_left)
    elif produce.version >= FIRST_VERSION_WITH_RECORD_ERRORS:
        put_array_size(answer, 0, produce.flexible)
        put_sentence(answer, result.message if result.error != NONE else NULL, produce.flexible)
    put_no_tags(answer, produce.flexible)


cdef void put_record_errors(Output* answer, bint flexible, const TopicRecords* topic, int32_t index,
                            const RecordErrors* errors, int32_t* left) noexcept nogil:
    """Writes the invalid records and the message about all of them."""
    cdef char sentence[RECORD_ERRORS_SIZE_MAX]
    cdef int32_t count = min(errors.count, left[0])
    cdef int32_t position, size
    left[0] -= count
    put_array_size(answer, count, flexible)
    for position in range(count):
        put_int32(answer, errors.errors[position].index)
        size = describe_record_error(errors, position, topic.name, topic.name_size, index, sentence)
        put_string(answer, <const uint8_t*>sentence, size, flexible)
        put_no_tags(answer, flexible)
    size = describe_record_errors(errors, topic.name, topic.name_size, index, sentence)
    put_string(answer, <const uint8_t*>sentence, size, flexible)


cdef Disposition hand_over(Output* answer, Response* response) noexcept nogil:
    cdef uint8_t* target = response_bytes(response, answer.size) if not answer.failed else NULL
    if target != NULL:
        memcpy(target, answer.data, answer.size)
    output_free(answer)
    return RESPONDED if target != NULL else CLOSE


cdef DelayedProduce* new_delayed(void* path, int16_t acks, int32_t capacity) noexcept nogil:
    cdef DelayedProduce* delayed = <DelayedProduce*>calloc(
        1, sizeof(DelayedProduce) + <size_t>capacity * sizeof(PendingPartition))
    if delayed != NULL:
        delayed.path = path
        delayed.acks = acks
        delayed.record_errors_left = RECORD_ERRORS_MAX
        delayed.operation.try_complete = is_acknowledged
        delayed.operation.complete = answer_delayed
        delayed.operation.release = free_delayed
    return delayed


cdef bint is_acknowledged(DelayedOperation* operation) noexcept nogil:
    cdef DelayedProduce* delayed = <DelayedProduce*>operation
    return are_acknowledged(&delayed.pending[0].awaited, sizeof(PendingPartition), delayed.count, delayed.acks)


cdef void answer_delayed(DelayedOperation* operation, bint expired) noexcept nogil:
    cdef DelayedProduce* delayed = <DelayedProduce*>operation
    cdef PendingPartition* pending
    cdef Response response
    cdef int32_t position
    cdef int16_t error
    response_init(&response)
    for position in range(delayed.count):
        pending = &delayed.pending[position]
        error = awaited_error(&pending.awaited, delayed.acks)
        if error != NONE:
            delayed.failed = True
            (<ProducePath>delayed.path).server.errors.add(PRODUCE_KEY, error, 1)
        delayed.answer.data[pending.error_position] = <uint8_t>(error >> 8)
        delayed.answer.data[pending.error_position + 1] = <uint8_t>error
    if hand_over(&delayed.answer, &response) == CLOSE:
        response.close_after = True
    response.throttle_ms = delayed.throttle_ms
    response.has_error = delayed.failed
    (<ProducePath>delayed.path).server.respond(delayed.connection, &response)


cdef void free_delayed(DelayedOperation* operation) noexcept nogil:
    cdef DelayedProduce* delayed = <DelayedProduce*>operation
    cdef int32_t position
    for position in range(delayed.count):
        (<Partition>delayed.pending[position].awaited.partition).unpin()
    output_free(&delayed.answer)
    free(delayed)
