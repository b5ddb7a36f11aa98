"""Creates columns from Python objects; see columns.pxd."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from kcore.record.record cimport put_varlong

cdef extern from *:
    """
    /* The Arrow C data interface, as its specification lays it down. */
    struct kcore_ArrowSchema {
        const char *format, *name, *metadata; int64_t flags, n_children;
        struct kcore_ArrowSchema **children, *dictionary;
        void (*release)(struct kcore_ArrowSchema *); void *private_data;
    };
    struct kcore_ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children; const void **buffers;
        struct kcore_ArrowArray **children, *dictionary;
        void (*release)(struct kcore_ArrowArray *); void *private_data;
    };
    """
    struct ArrowSchema "kcore_ArrowSchema":
        const char* format
        ArrowSchema* dictionary
    struct ArrowArray "kcore_ArrowArray":
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        const void** buffers


cdef object wrong(str what, values):
    return TypeError(
        f"{what} are a {type(values).__name__}: give a list of bytes, a buffer of fixed width (NumPy's S or V type, or two "
        "dimensions of bytes) or an Arrow array of binary or string type"
    )


cdef class BytesColumn:
    def __dealloc__(self):
        free(self.column.pointers)
        free(self.column.sizes)
        if self.has_view:
            PyBuffer_Release(&self.view)

    cdef int take_sequence(self, values, str what) except -1:
        cdef tuple rows = tuple(values)
        cdef Py_ssize_t i
        cdef object value
        cdef Py_ssize_t size
        cdef list changed = None
        self.source = rows
        self.column.kind = COLUMN_POINTERS
        self.column.count = len(rows)
        self.column.pointers = <const uint8_t**>malloc(max(<size_t>len(rows), 1) * sizeof(uint8_t*))
        self.column.sizes = <int32_t*>malloc(max(<size_t>len(rows), 1) * sizeof(int32_t))
        if self.column.pointers == NULL or self.column.sizes == NULL:
            raise MemoryError
        for i in range(len(rows)):
            value = rows[i]
            if value is None:
                self.column.pointers[i] = NULL
                self.column.sizes[i] = -1
                continue
            if not PyBytes_CheckExact(value):
                if isinstance(value, str):
                    raise TypeError(f"{what}: row {i} is a str, not bytes: encode it first")
                value = bytes(memoryview(value))
                if changed is None:
                    changed = []
                changed.append(value)
            size = PyBytes_GET_SIZE(value)
            if size > INT32_MAX:
                raise ValueError(f"{what}: row {i} is larger than 2 GiB")
            self.column.pointers[i] = <const uint8_t*>PyBytes_AS_STRING(value)
            self.column.sizes[i] = <int32_t>size
        self.capsules = changed
        return 0

    cdef int take_buffer(self, values, str what) except -1:
        PyObject_GetBuffer(values, &self.view, PyBUF_STRIDES | PyBUF_FORMAT)
        self.has_view = True
        cdef bytes form = self.view.format if self.view.format != NULL else b"B"
        self.column.kind = COLUMN_FIXED
        self.column.data = <const uint8_t*>self.view.buf
        if self.view.ndim == 2 and self.view.itemsize == 1 and (self.view.strides[1] == 1 or self.view.shape[1] == 1):
            self.column.width = self.view.shape[1]
        elif self.view.ndim == 1 and form.strip(b"@=<>!0123456789") in (b"s", b"x", b"p") and self.view.itemsize > 0:
            self.column.width = self.view.itemsize
        elif self.view.ndim == 1 and form.startswith(b"T{"):
            self.column.width = self.view.itemsize
        else:
            raise wrong(what, values)
        self.column.count = self.view.shape[0]
        self.column.stride = self.view.strides[0]
        return 0

    cdef int take_arrow(self, values, str what) except -1:
        cdef const ArrowSchema* schema
        cdef const ArrowArray* array
        cdef bytes form
        if not hasattr(values, "__arrow_c_array__"):
            values = values.combine_chunks()
        self.source = values
        schema_capsule, array_capsule = values.__arrow_c_array__()
        self.capsules = (schema_capsule, array_capsule)
        schema = <const ArrowSchema*>PyCapsule_GetPointer(schema_capsule, "arrow_schema")
        array = <const ArrowArray*>PyCapsule_GetPointer(array_capsule, "arrow_array")
        form = schema.format
        if schema.dictionary != NULL:
            raise wrong(what, values)
        if form == b"n":
            self.column.kind = COLUMN_NULLS
        elif form in (b"z", b"u"):
            self.column.kind = COLUMN_OFFSETS_32
            self.column.offsets_32 = <const int32_t*>array.buffers[1]
            self.column.data = <const uint8_t*>array.buffers[2]
        elif form in (b"Z", b"U"):
            self.column.kind = COLUMN_OFFSETS_64
            self.column.offsets_64 = <const int64_t*>array.buffers[1]
            self.column.data = <const uint8_t*>array.buffers[2]
        elif form.startswith(b"w:"):
            self.column.kind = COLUMN_FIXED
            self.column.width = self.column.stride = int(form[2:])
            self.column.data = <const uint8_t*>array.buffers[1]
        else:
            raise wrong(what, values)
        self.column.count = array.length
        self.column.first = array.offset
        if array.null_count != 0 and self.column.kind != COLUMN_NULLS:
            self.column.validity = <const uint8_t*>array.buffers[0]
        return 0


cdef BytesColumn bytes_column(values, str what):
    """Return the column for a list, a buffer or an Arrow array. Raises TypeError for other types."""
    cdef BytesColumn column = BytesColumn.__new__(BytesColumn)
    if isinstance(values, (list, tuple)):
        column.take_sequence(values, what)
    elif isinstance(values, (bytes, bytearray, str)):
        raise wrong(what, values)
    elif hasattr(values, "__arrow_c_array__") or hasattr(values, "combine_chunks"):
        column.take_arrow(values, what)
    elif PyObject_CheckBuffer(values):
        if getattr(getattr(values, "dtype", None), "kind", "") == "O":
            column.take_sequence(values, what)
        else:
            column.take_buffer(values, what)
    else:
        column.take_sequence(values, what)
    return column


cdef class LongColumn:
    def __dealloc__(self):
        if self.has_view:
            PyBuffer_Release(&self.view)


cdef LongColumn long_column(values, int64_t rows):
    """Return timestamps from a sequence or a buffer of 64-bit integers, one per row."""
    cdef LongColumn column = LongColumn.__new__(LongColumn)
    cdef bytes form
    if getattr(getattr(values, "dtype", None), "kind", "") == "M":
        values = values.astype("datetime64[ms]").astype("int64")
    if isinstance(values, (list, tuple)):
        from array import array
        values = array("q", values)
    PyObject_GetBuffer(values, &column.view, PyBUF_STRIDES | PyBUF_FORMAT)
    column.has_view = True
    form = column.view.format if column.view.format != NULL else b"B"
    if column.view.ndim != 1 or form.strip(b"@=<") not in (b"q", b"l") or column.view.itemsize != 8:
        raise TypeError("timestamps are not 64-bit integers: give milliseconds as int64, or datetime64")
    if column.view.shape[0] > 0 and column.view.strides[0] != 8:
        raise TypeError("timestamps are not contiguous: give a copy of them")
    if column.view.shape[0] != rows:
        raise ValueError(f"{column.view.shape[0]} timestamps for {rows} values")
    column.source = values
    column.values = <const int64_t*>column.view.buf
    column.count = rows
    return column


cdef class HeadersColumn:
    def __dealloc__(self):
        free(self.ends)
        free(self.counts)


cdef int encode_headers(bytearray encoded, headers) except -1:
    """Append one record's encoded headers. Returns their number."""
    cdef uint8_t[10] length
    cdef bytes name, value
    cdef int count = 0
    for header_name, header_value in headers.items() if isinstance(headers, dict) else headers:
        name = (<str>header_name).encode("utf-8", "surrogateescape") if type(header_name) is str else bytes(header_name)
        encoded += length[:put_varlong(length, PyBytes_GET_SIZE(name)) - length]
        encoded += name
        if header_value is None:
            encoded += b"\x01"
        else:
            value = header_value if PyBytes_CheckExact(header_value) else bytes(memoryview(header_value))
            encoded += length[:put_varlong(length, PyBytes_GET_SIZE(value)) - length]
            encoded += value
        count += 1
    return count


cdef HeadersColumn headers_column(headers, int64_t rows):
    """Encode headers: a dictionary for all records, or a sequence with one entry per record, which may be None."""
    cdef HeadersColumn column = HeadersColumn.__new__(HeadersColumn)
    cdef int64_t i
    cdef list each
    column.encoded = bytearray()
    each = [headers] if isinstance(headers, dict) else list(headers)
    if not isinstance(headers, dict) and len(each) != rows:
        raise ValueError(
            f"headers of {len(each)} records for {rows} values: give one entry a record, or a dictionary for all of them"
        )
    column.count = len(each)
    column.ends = <int64_t*>malloc(max(<size_t>len(each), 1) * sizeof(int64_t))
    column.counts = <int32_t*>malloc(max(<size_t>len(each), 1) * sizeof(int32_t))
    if column.ends == NULL or column.counts == NULL:
        raise MemoryError
    for i in range(len(each)):
        column.counts[i] = 0 if each[i] is None else encode_headers(column.encoded, each[i])
        column.ends[i] = len(column.encoded)
    return column
