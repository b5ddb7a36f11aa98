from libc.stdint cimport int64_t, uint8_t

cdef struct MemoryContent:
    uint8_t* data
    int64_t size
    size_t reserved
    size_t usable

# Makes the first `size` bytes writable. -EFBIG above `limit`, which must always be the same for one content.
cdef int content_make_usable(MemoryContent* content, size_t size, size_t limit) noexcept nogil
# Cuts the content, or extends it with zeros.
cdef int content_resize(MemoryContent* content, int64_t size, size_t limit) noexcept nogil
cdef void content_free(MemoryContent* content) noexcept nogil
