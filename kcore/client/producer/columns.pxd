"""Inputs of `send_batch` as native columns: lists of bytes, buffers of fixed width (NumPy), Arrow arrays.

A column returns the bytes of a row without the GIL and without an object per row. Arrow arrays are read through the C
data interface (`__arrow_c_array__`), so arrays of any library work and no library is needed.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum ColumnKind:
    COLUMN_NULLS = 0           # every row is null
    COLUMN_POINTERS = 1        # bytes objects of a Python sequence
    COLUMN_FIXED = 2           # rows of `width` bytes, at intervals of `stride` bytes
    COLUMN_OFFSETS_32 = 3      # Arrow's binary and string
    COLUMN_OFFSETS_64 = 4      # Arrow's large_binary and large_string

cdef struct Column:
    ColumnKind kind
    int64_t count
    const uint8_t* data
    int64_t width
    int64_t stride
    const int32_t* offsets_32
    const int64_t* offsets_64
    const uint8_t* validity    # Arrow's bitmap; NULL: no row is null
    int64_t first              # offset of the first row, if an Arrow array is a slice
    const uint8_t** pointers
    int32_t* sizes


cdef class BytesColumn:
    """Keeps the memory of the column's pointers alive."""
    cdef Column column
    cdef object source
    cdef object capsules
    cdef Py_buffer view
    cdef bint has_view

    cdef int take_sequence(self, values, str what) except -1
    cdef int take_buffer(self, values, str what) except -1
    cdef int take_arrow(self, values, str what) except -1


cdef class LongColumn:
    """Timestamps, one per row."""
    cdef const int64_t* values
    cdef int64_t count
    cdef object source
    cdef Py_buffer view
    cdef bint has_view


cdef class HeadersColumn:
    """Encoded headers, for each row or one entry for all."""
    cdef bytearray encoded
    cdef int64_t* ends         # where the headers of each row end in `encoded`
    cdef int32_t* counts
    cdef int64_t count


cdef inline const uint8_t* column_at(const Column* column, int64_t row, int32_t* size) noexcept nogil:
    """Return the bytes of a row; NULL and size -1 if it is null."""
    cdef int64_t start, end
    size[0] = -1
    if column.kind == COLUMN_POINTERS:
        size[0] = column.sizes[row]
        return column.pointers[row]
    if column.kind == COLUMN_NULLS:
        return NULL
    row += column.first
    if column.validity != NULL and not (column.validity[row >> 3] >> (row & 7)) & 1:
        return NULL
    if column.kind == COLUMN_FIXED:
        size[0] = <int32_t>column.width
        return column.data + row * column.stride
    if column.kind == COLUMN_OFFSETS_32:
        start = column.offsets_32[row]
        end = column.offsets_32[row + 1]
    else:
        start = column.offsets_64[row]
        end = column.offsets_64[row + 1]
    # The offsets of an invalid array may have any value.
    if start < 0 or end < start or end - start > 0x7FFFFFFF:
        return NULL
    size[0] = <int32_t>(end - start)
    return column.data + start


cdef BytesColumn bytes_column(values, str what)
cdef LongColumn long_column(values, int64_t rows)
cdef HeadersColumn headers_column(headers, int64_t rows)
