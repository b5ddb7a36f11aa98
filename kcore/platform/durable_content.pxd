from libc.stdint cimport int64_t, uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector
from kcore.platform.memory_content cimport MemoryContent

# A write of `size` bytes at `position`, or with a size of -1 a cut (or extension) at `position`.
cdef struct ContentChange:
    int64_t position
    int64_t size

cdef struct DurableContent:
    string* synced                      # NULL: nothing was ever synced
    vector[ContentChange]* changes      # since then; NULL: none

cdef void durable_note_write(DurableContent* durable, int64_t position, int64_t size) noexcept nogil
cdef void durable_note_resize(DurableContent* durable, int64_t size) noexcept nogil
cdef void durable_sync(DurableContent* durable, const MemoryContent* content) noexcept nogil
# Makes `content` what a loss of power leaves of it, which is durable from then on; `chance` NULL: nothing unsynced.
cdef int durable_restore(DurableContent* durable, MemoryContent* content, size_t limit,
                         uint64_t* chance) noexcept nogil
cdef void durable_free(DurableContent* durable) noexcept nogil
