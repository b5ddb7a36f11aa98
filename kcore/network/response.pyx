"""Builds responses from malloc'ed byte runs and file ranges.

Layout: `length int32`, written by the network layer, then the response header and body as the handler wrote them. A run
grows in place up to MAX_GROWN_RUN. Then a new run begins, so that long responses are not copied again.

Concurrency: a response belongs to one thread at a time. `SocketServer.respond` hands it over.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

cdef extern from "<endian.h>" nogil:
    uint32_t htobe32(uint32_t)

cdef enum:
    LENGTH_PREFIX = 4
    FIRST_RUN = 256
    MAX_GROWN_RUN = 64 * 1024
    FIRST_PARTS = 4


cdef void response_init(Response* response) noexcept nogil:
    memset(response, 0, sizeof(Response))


cdef void release_part(ResponsePart* part) noexcept nogil:
    if part.data != NULL:
        free(part.data)
        part.data = NULL
    part_let_go(part, 0)


cdef void part_let_go(ResponsePart* part, int error) noexcept nogil:
    if part.release != NULL:
        part.release(part.owner, error)
        part.release = NULL


cdef void response_free(Response* response) noexcept nogil:
    cdef int32_t i
    for i in range(response.count):
        release_part(&response.parts[i])
    free(response.parts)
    response_init(response)


cdef ResponsePart* add_part(Response* response) noexcept nogil:
    """Appends a zeroed part. If memory is exhausted, marks the response as failed and returns NULL."""
    cdef int32_t capacity
    cdef ResponsePart* parts
    if response.count == response.capacity:
        capacity = response.capacity * 2 if response.capacity else FIRST_PARTS
        parts = <ResponsePart*>realloc(response.parts, <size_t>capacity * sizeof(ResponsePart))
        if parts == NULL:
            response.failed = True
            return NULL
        response.parts = parts
        response.capacity = capacity
    memset(&response.parts[response.count], 0, sizeof(ResponsePart))
    response.count += 1
    return &response.parts[response.count - 1]


cdef ResponsePart* begin_run(Response* response, size_t capacity) noexcept nogil:
    cdef ResponsePart* part = add_part(response)
    if part == NULL:
        return NULL
    part.data = <uint8_t*>malloc(capacity)
    if part.data == NULL:
        response.count -= 1
        response.failed = True
        return NULL
    part.capacity_bytes = <int64_t>capacity
    return part


cdef ResponsePart* run_with_room(Response* response, size_t size) noexcept nogil:
    """The last run, grown if needed, or a new one, with room for `size` more bytes."""
    cdef ResponsePart* part
    cdef uint8_t* grown
    cdef int64_t capacity
    if response.count == 0:
        part = begin_run(response, FIRST_RUN if size + LENGTH_PREFIX <= FIRST_RUN else size + LENGTH_PREFIX)
        if part != NULL:
            part.size_bytes = LENGTH_PREFIX
        return part
    part = &response.parts[response.count - 1]
    if part.data == NULL:
        return begin_run(response, size if size > FIRST_RUN else FIRST_RUN)
    if part.size_bytes + <int64_t>size <= part.capacity_bytes:
        return part
    if part.size_bytes + <int64_t>size > MAX_GROWN_RUN:
        return begin_run(response, size if size > FIRST_RUN else FIRST_RUN)
    capacity = part.capacity_bytes * 2
    while capacity < part.size_bytes + <int64_t>size:
        capacity *= 2
    grown = <uint8_t*>realloc(part.data, <size_t>capacity)
    if grown == NULL:
        response.failed = True
        return NULL
    part.data = grown
    part.capacity_bytes = capacity
    return part


cdef uint8_t* response_bytes(Response* response, size_t size) noexcept nogil:
    cdef ResponsePart* part = run_with_room(response, size)
    if part == NULL:
        return NULL
    part.size_bytes += <int64_t>size
    return part.data + part.size_bytes - size


cdef bint response_file(Response* response, int descriptor, int64_t position, int64_t size_bytes,
                        PartRelease release, void* owner) noexcept nogil:
    cdef ResponsePart* part
    if response.count == 0 and run_with_room(response, 0) == NULL:
        return False
    part = add_part(response)
    if part == NULL:
        return False
    part.descriptor = descriptor
    part.position = position
    part.size_bytes = size_bytes
    part.release = release
    part.owner = owner
    return True


cdef int64_t response_size(const Response* response) noexcept nogil:
    cdef int64_t size = 0
    cdef int32_t i
    for i in range(response.count):
        size += response.parts[i].size_bytes
    return size - LENGTH_PREFIX if response.count else 0


cdef bint response_seal(Response* response) noexcept nogil:
    cdef int64_t size = response_size(response)
    cdef uint32_t prefix
    if response.count == 0 or response.failed or size > INT32_MAX:
        return False
    prefix = htobe32(<uint32_t>size)
    memcpy(response.parts[0].data, &prefix, LENGTH_PREFIX)
    if response.cut_bytes > 0:
        cut_response(response)
    return True


cdef void cut_response(Response* response) noexcept nogil:
    """Truncates the response to its first `cut_bytes`."""
    cdef int64_t left = response.cut_bytes
    cdef int32_t i
    for i in range(response.count):
        response.parts[i].size_bytes = min(response.parts[i].size_bytes, left)
        left -= response.parts[i].size_bytes
    while response.count > 1 and response.parts[response.count - 1].size_bytes == 0:
        response.count -= 1
        release_part(&response.parts[response.count])
    response.close_after = True
