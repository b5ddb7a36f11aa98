from libc.stdint cimport int64_t, uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector
from kcore.platform.memory_content cimport MemoryContent

# A write of `size` bytes at `position`. With size -1 a truncation or extension to `position` bytes.
cdef struct ContentChange:
    int64_t position
    int64_t size

cdef struct DurableContent:
    string* synced                      # NULL: it was never synced
    vector[ContentChange]* changes      # since the last sync; NULL: none

cdef void durable_note_write(DurableContent* durable, int64_t position, int64_t size) noexcept nogil
cdef void durable_note_resize(DurableContent* durable, int64_t size) noexcept nogil
cdef void durable_sync(DurableContent* durable, const MemoryContent* content) noexcept nogil
# Sets `content` to what a loss of power leaves of it, which is then durable. `chance` NULL: nothing unsynced survives.
cdef int durable_restore(DurableContent* durable, MemoryContent* content, size_t limit,
                         uint64_t* chance) noexcept nogil
cdef void durable_free(DurableContent* durable) noexcept nogil
