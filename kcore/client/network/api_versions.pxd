"""ApiVersions (KIP-35, KIP-511) without the codec. Every connection begins with it.

    request, version 3        client software name compact string | client software version compact string | tagged fields
    response, version 0       error int16 | int32 count of: key int16, lowest int16, highest int16
    response, version 3       error int16 | compact count of: key, lowest, highest, tagged fields | throttle int32 | tagged fields

The response header never has tagged fields. A broker that does not support the requested version responds in version 0
with UNSUPPORTED_VERSION, and gets another request in version 0.
"""

from libc.stdint cimport int16_t, uint8_t

cdef enum:
    API_VERSIONS = 18
    ASKED_VERSION = 3
    FALLBACK_VERSION = 0
    MAX_APIS = 256               # keys from this on are ignored
    VERSIONS_UNREADABLE = -1000
    UNSUPPORTED_VERSION_ERROR = 35

# The versions that a broker supports. highest < lowest: none.
cdef struct VersionTable:
    int16_t[256] lowest
    int16_t[256] highest

cdef void versions_clear(VersionTable* table) noexcept nogil
# Reads a response after its header. Returns the broker's error code, or VERSIONS_UNREADABLE.
cdef int versions_read(VersionTable* table, const uint8_t* body, size_t size, int16_t version) noexcept nogil
cdef bint versions_include(const VersionTable* table, int16_t api_key, int16_t version) noexcept nogil
# Returns the newest version from `lowest` to `highest` that the broker supports, or -1.
cdef int16_t versions_common(const VersionTable* table, int16_t api_key, int16_t lowest, int16_t highest) noexcept nogil
# Returns whether the header of a response has tagged fields.
cdef bint has_tagged_header(int16_t api_key, int16_t version) noexcept nogil
