"""The bytes of one file of a MemoryDisk: address space is reserved once, so they do not move while they grow.

A mapping of such a file is its memory. Beyond the end of the file the memory is always zero: bytes that are cut off are
wiped. Concurrency: a caller that changes a content holds the disk's lock.
"""

from libc.errno cimport EFBIG, ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

cdef extern from "<sys/mman.h>" nogil:
    enum:
        PROT_NONE
        PROT_READ
        PROT_WRITE
        MAP_PRIVATE
        MAP_ANONYMOUS
        MAP_NORESERVE
        MADV_DONTNEED
    void* MAP_FAILED
    void* mmap(void* address, size_t size, int protection, int flags, int descriptor, long position)
    int munmap(void* address, size_t size)
    int mprotect(void* address, size_t size, int protection)
    int madvise(void* address, size_t size, int advice)

cdef enum:
    PAGE_BYTES = 4096
    GROWTH_BYTES = 1 << 16


cdef int content_make_usable(MemoryContent* content, size_t size, size_t limit) noexcept nogil:
    cdef void* memory
    cdef size_t wanted = (size + GROWTH_BYTES - 1) // GROWTH_BYTES * GROWTH_BYTES
    if size > limit:
        return -EFBIG
    if size <= content.usable:
        return 0
    if content.data == NULL:
        content.reserved = (limit + GROWTH_BYTES - 1) // GROWTH_BYTES * GROWTH_BYTES
        memory = mmap(NULL, content.reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        if memory == MAP_FAILED:
            return -ENOMEM
        content.data = <uint8_t*>memory
    if mprotect(content.data, wanted, PROT_READ | PROT_WRITE) != 0:
        return -ENOMEM
    content.usable = wanted
    return 0


cdef int content_resize(MemoryContent* content, int64_t size, size_t limit) noexcept nogil:
    cdef int outcome = content_make_usable(content, <size_t>size, limit)
    cdef size_t page
    if outcome < 0:
        return outcome
    if size < content.size:
        # Whole pages go back to the system and the rest is wiped, because growing again must show zeros.
        page = (<size_t>size + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
        if page < content.usable:
            madvise(content.data + page, content.usable - page, MADV_DONTNEED)
        memset(content.data + size, 0, min(page, content.usable) - <size_t>size)
    content.size = size
    return 0


cdef void content_free(MemoryContent* content) noexcept nogil:
    if content.data != NULL:
        munmap(content.data, content.reserved)
        content.data = NULL
