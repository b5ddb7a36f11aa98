"""The native decoders one by one, on memory that ends where the bytes end, so that the sanitizers see every step beyond."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from kcore.network.dispatch cimport DispatchTable, NativeRequest
from kcore.network.request_header cimport read_request_header
from kcore.platform.disk cimport Disk
from kcore.record.batch cimport ReceivedBatch, batch_over
from kcore.record.validator cimport (
    ORIGIN_REPLICATION, ValidationResult, ValidationRules, free_validation_result, validate_and_assign,
    validate_replicated,
)
from kcore.server.fast_path.fetch_request cimport FetchRequest, free_fetch_request, read_fetch_request
from kcore.server.fast_path.produce_request cimport ProduceRequest, free_produce_request, read_produce_request
from kcore.storage.index_file cimport IndexFile, index_close, index_keep, index_load, index_write_back
from kcore.storage.offset_index cimport (
    OFFSET_ENTRY_BYTES, OffsetPosition, offset_index_entry, offset_index_floor, offset_index_is_sane,
    offset_index_truncate,
)
from kcore.storage.producer_state cimport ProducerStateManager
from kcore.storage.time_index cimport (
    TIME_ENTRY_BYTES, TimestampOffset, time_index_is_sane, time_index_last, time_index_lookup, time_index_truncate,
)


cdef uint8_t* exact_copy(bytes data) except NULL:
    cdef size_t size = <size_t>PyBytes_GET_SIZE(data)
    cdef uint8_t* copy = <uint8_t*>malloc(size if size else 1)
    if copy == NULL:
        raise MemoryError
    memcpy(copy, PyBytes_AS_STRING(data), size)
    return copy


def request_header(bytes frame not None, DispatchTable table not None):
    """(key, version, correlation id, client id, position of the body), or None when it is refused."""
    cdef NativeRequest request
    cdef uint8_t* copy = exact_copy(frame)
    cdef object client_id = None
    memset(&request, 0, sizeof(request))
    try:
        if not read_request_header(copy, <size_t>len(frame), table.entries, &request):
            return None
        if request.client_id != NULL:
            client_id = PyBytes_FromStringAndSize(<const char*>request.client_id, request.client_id_size)
        return request.api_key, request.api_version, request.correlation_id, client_id, request.body
    finally:
        free(copy)


def takes_produce_request(bytes body not None, int16_t version):
    """Whether the native reader takes these bytes."""
    cdef ProduceRequest request
    cdef uint8_t* copy = exact_copy(body)
    cdef bint taken = read_produce_request(copy, <size_t>len(body), version, &request)
    free_produce_request(&request)
    free(copy)
    return bool(taken)


def takes_fetch_request(bytes body not None, int16_t version):
    """Whether the native reader takes these bytes."""
    cdef FetchRequest request
    cdef uint8_t* copy = exact_copy(body)
    cdef bint taken = read_fetch_request(copy, <size_t>len(body), version, &request)
    free_fetch_request(&request)
    free(copy)
    return bool(taken)


def validate_in_place(bytes records not None, int origin, int target_codec, bint compacted, bint header_only,
                      int64_t limit_bytes):
    """(error, first offset, last offset, decompressed bytes) of LogValidator's rules."""
    cdef ValidationRules rules
    cdef ValidationResult result
    cdef ReceivedBatch batch
    cdef uint8_t* copy = exact_copy(records)
    cdef size_t size = <size_t>len(records)
    memset(&rules, 0, sizeof(rules))
    rules.compacted = compacted
    rules.header_only = header_only
    rules.target_codec = <int8_t>target_codec
    rules.compression_level = INT32_MIN
    rules.max_message_bytes = 1 << 20
    rules.timestamp_before_max_ms = rules.timestamp_after_max_ms = 0x7FFFFFFFFFFFFFFF
    rules.decompressed_limit_bytes = limit_bytes
    with nogil:
        if origin == ORIGIN_REPLICATION:
            validate_replicated(copy, size, 1000, &result)
        else:
            batch = batch_over(copy, size)
            validate_and_assign(&batch, &rules, origin, 1000, 3, 1, &result)
    outcome = result.error, result.first_offset, result.last_offset, result.cpu_decompressed_bytes
    free_validation_result(&result)
    free(copy)
    return outcome


def producer_snapshot(bytes content not None, int64_t offset, int64_t now_ms, int64_t expiration_ms):
    """None when the snapshot is refused, or the producers, and the snapshot written again."""
    cdef ProducerStateManager producers = ProducerStateManager(expiration_ms)
    cdef uint8_t* copy = exact_copy(content)
    cdef uint8_t* encoded = NULL
    cdef size_t size = <size_t>PyBytes_GET_SIZE(content)
    cdef int outcome = producers.restore(copy, size, offset, now_ms)
    free(copy)
    if outcome < 0:
        return None
    if producers.encode(&encoded, &size) < 0:
        raise MemoryError
    again = PyBytes_FromStringAndSize(<const char*>encoded, <Py_ssize_t>size)
    free(encoded)
    producers.remove_expired(now_ms)
    return producers.active_producers(), again


def offset_index(Disk disk not None, path, int64_t base_offset, int64_t log_bytes, bint writable, list offsets not None):
    """(entries, whether it is sane, what is found for each offset) of an index file, and its life as an active one."""
    cdef IndexFile index
    cdef OffsetPosition found
    cdef bytes name = path.encode()
    cdef const char* raw = name
    cdef int64_t offset
    cdef int32_t place
    disk.check(index_load(&index, &disk.operations, raw, OFFSET_ENTRY_BYTES, 1 << 16, writable), path)
    try:
        sane = bool(offset_index_is_sane(&index, log_bytes))
        entries = [offset_index_entry(&index, base_offset, i) for i in range(index.entries)]
        answers = []
        for offset in offsets:
            place = offset_index_floor(&index, offset - base_offset)
            if place < 0:
                answers.append((base_offset, 0))
            else:
                found = offset_index_entry(&index, base_offset, place)
                answers.append((found.offset, found.position))
        if writable:
            for offset in offsets:
                offset_index_truncate(&index, base_offset, offset)
            index_keep(&index, 0)
            disk.check(index_write_back(&index, &disk.operations, raw), path)
        return [(entry["offset"], entry["position"]) for entry in entries], sane, answers
    finally:
        index_close(&index, &disk.operations)


def time_index(Disk disk not None, path, int64_t base_offset, bint writable, list timestamps not None):
    """(entries, whether it is sane, the last entry, what is found for each time) of a time index file, likewise."""
    cdef IndexFile index
    cdef TimestampOffset found
    cdef bytes name = path.encode()
    cdef const char* raw = name
    cdef int64_t timestamp
    disk.check(index_load(&index, &disk.operations, raw, TIME_ENTRY_BYTES, 1 << 16, writable), path)
    try:
        sane = bool(time_index_is_sane(&index))
        found = time_index_last(&index, base_offset)
        last = found.timestamp, found.offset
        answers = []
        for timestamp in timestamps:
            found = time_index_lookup(&index, base_offset, timestamp)
            answers.append((found.timestamp, found.offset))
        count = index.entries
        if writable:
            for timestamp in timestamps:
                time_index_truncate(&index, base_offset, timestamp)
            index_keep(&index, 0)
            disk.check(index_write_back(&index, &disk.operations, raw), path)
        return count, sane, last, answers
    finally:
        index_close(&index, &disk.operations)
