"""Growing arrays of plain structs: the capacity at least doubles, up to INT32_MAX items."""

from libc.stdint cimport INT32_MAX, int32_t, int64_t
from libc.stdlib cimport realloc

cdef enum:
    FIRST_CAPACITY = 8


cdef inline void* grown(void* items, int32_t* capacity, int64_t wanted, size_t item_size) noexcept nogil:
    """The array with room for `wanted` items. NULL if memory is exhausted; the old array then stays valid."""
    cdef int64_t enlarged
    cdef void* moved
    if wanted <= capacity[0] and items != NULL:
        return items
    enlarged = min(<int64_t>INT32_MAX, max(<int64_t>FIRST_CAPACITY, max(wanted, 2 * <int64_t>capacity[0])))
    if wanted > enlarged:
        return NULL
    moved = realloc(items, <size_t>enlarged * item_size)
    if moved != NULL:
        capacity[0] = <int32_t>enlarged
    return moved
