from libc.stdint cimport int64_t, uint8_t

cdef struct MemoryContent:
    uint8_t* data
    int64_t size
    size_t reserved
    size_t usable

# Lets the first `size` bytes be written; -EFBIG above `limit`, which must always be the same for one content.
cdef int content_make_usable(MemoryContent* content, size_t size, size_t limit) noexcept nogil
# Cuts, or extends with zeros.
cdef int content_resize(MemoryContent* content, int64_t size, size_t limit) noexcept nogil
cdef void content_free(MemoryContent* content) noexcept nogil
