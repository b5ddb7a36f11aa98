"""Reads the versions that a broker supports, and knows which response headers have tagged fields."""

from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset
from kcore.client.network.api_versions cimport VersionTable
from kcore.cursor cimport Cursor, cursor_over, read_int16, read_int32, read_unsigned_varint, take

from kcore.protocol.apis import BY_KEY

# The first version of each API whose response header has tagged fields (kcore/protocol/apis.py).
cdef int16_t[256] first_tagged


cdef void learn_headers():
    cdef int key
    for key in range(MAX_APIS):
        first_tagged[key] = 32767
    for api in BY_KEY.values():
        if 0 <= api.key < MAX_APIS and api.response_header_version(api.latest_version) == 1:
            first_tagged[api.key] = api.first_flexible


learn_headers()


def api_versions_requests(client_id: str, software_version: str) -> tuple[bytes, bytes]:
    """Return the bytes after the correlation id, for requests of version 3 and of version 0."""
    identity = client_id.encode()
    header = len(identity).to_bytes(2, "big") + identity
    software = b"".join(_compact(text) for text in ("kcli", software_version))
    return header + b"\0" + software + b"\0", header


def _compact(text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > 126:
        raise ValueError(f"{text!r} is too long for the name or version of a client's software")
    return bytes([len(encoded) + 1]) + encoded


cdef void versions_clear(VersionTable* table) noexcept nogil:
    memset(table.lowest, 0, sizeof(table.lowest))
    memset(table.highest, 0xFF, sizeof(table.highest))


cdef void skip_tagged_fields(Cursor* cursor) noexcept nogil:
    cdef uint32_t count = read_unsigned_varint(cursor)
    while count > 0 and not cursor.failed:
        read_unsigned_varint(cursor)
        take(cursor, read_unsigned_varint(cursor))
        count -= 1


cdef int versions_read(VersionTable* table, const uint8_t* body, size_t size, int16_t version) noexcept nogil:
    cdef Cursor cursor = cursor_over(body, size)
    cdef int error = read_int16(&cursor)
    cdef int64_t count
    cdef int16_t key
    cdef int16_t lowest
    cdef int16_t highest
    versions_clear(table)
    if cursor.failed:
        return VERSIONS_UNREADABLE
    if error == UNSUPPORTED_VERSION_ERROR:
        return error
    count = read_int32(&cursor) if version < ASKED_VERSION else <int64_t>read_unsigned_varint(&cursor) - 1
    while count > 0 and not cursor.failed:
        key = read_int16(&cursor)
        lowest = read_int16(&cursor)
        highest = read_int16(&cursor)
        if version >= ASKED_VERSION:
            skip_tagged_fields(&cursor)
        if not cursor.failed and 0 <= key < MAX_APIS:
            table.lowest[key] = lowest
            table.highest[key] = highest
        count -= 1
    return VERSIONS_UNREADABLE if cursor.failed else error


cdef bint versions_include(const VersionTable* table, int16_t api_key, int16_t version) noexcept nogil:
    return 0 <= api_key < MAX_APIS and table.lowest[api_key] <= version <= table.highest[api_key]


cdef int16_t versions_common(const VersionTable* table, int16_t api_key, int16_t lowest, int16_t highest) noexcept nogil:
    cdef int16_t version
    if not 0 <= api_key < MAX_APIS:
        return -1
    version = min(highest, table.highest[api_key])
    return version if version >= max(lowest, table.lowest[api_key]) else <int16_t>-1


cdef bint has_tagged_header(int16_t api_key, int16_t version) noexcept nogil:
    return 0 <= api_key < MAX_APIS and version >= first_tagged[api_key]
