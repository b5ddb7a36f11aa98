"""Fetched records as NumPy arrays and as Arrow data that share the memory of the native columns.

Nothing is copied: arrays are views that keep the columns alive. NumPy is imported on first use. The Arrow interface
needs no package. Concurrency: immutable once filled.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.client.consumer.arrow_array cimport export_array, export_schema, export_stream
from kcore.client.consumer.columns cimport (
    ColumnSet, VariableColumn, hold_columns, live_column_sets, new_column_set, pooled_column_bytes, release_columns, take_columns,
)
from kcore.client.consumer.fetched_partition cimport (
    FETCHED_BY_PYTHON, FETCHED_DRAINED, FetchedPartition, FetchedStatus, open_by_python,
)


cdef FetchedStatus take_into(RecordColumns target, FetchedPartition* fetched, str topic, int32_t partition,
                             int64_t limit):
    cdef Py_ssize_t topic_size
    cdef const char* text = PyUnicode_AsUTF8AndSize(topic, &topic_size)
    cdef int64_t first = target.columns.rows
    cdef FetchedStatus status
    while True:
        with nogil:
            status = take_columns(fetched, <const uint8_t*>text, <size_t>topic_size, partition, limit, target.columns)
        if status != FETCHED_BY_PYTHON:
            break
        open_by_python(fetched)
    if target.columns.rows > first:
        target.runs.append((topic, partition, first))
    return status


@cython.final
cdef class ColumnMemory:
    """Read-only buffer over a column's bytes. Keeps the ColumnSet alive."""

    cdef ColumnSet* columns
    cdef void* start
    cdef Py_ssize_t size

    def __dealloc__(self):
        if self.columns != NULL:
            with nogil:
                release_columns(self.columns)

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.start, self.size, 1, flags)


cdef object array_over(ColumnSet* columns, const void* start, int64_t count, int64_t item_size, str kind):
    import numpy

    cdef ColumnMemory memory = ColumnMemory.__new__(ColumnMemory)
    hold_columns(columns)
    memory.columns = columns
    memory.start = <void*>start
    memory.size = <Py_ssize_t>(count * item_size)
    return numpy.frombuffer(memory, dtype=kind)


cdef object bits_over(ColumnSet* columns, const uint8_t* bits, int64_t rows):
    import numpy

    packed = array_over(columns, bits, (rows + 7) // 8, 1, "u1")
    return numpy.unpackbits(packed, count=rows, bitorder="little").view(bool)


@cython.final
cdef class BytesColumn:
    """Concatenated byte strings: string i is `data[ends[i]:ends[i + 1]]`.

    `data` is an array of uint8. `ends` is an array of int32 with one more entry than there are strings. `valid` is an
    array of bool, False for null, or None if no string is null.
    """

    cdef readonly object data
    cdef readonly object ends
    cdef readonly object valid

    def __len__(self):
        return len(self.ends) - 1

    def __getitem__(self, Py_ssize_t index):
        """Return string `index` as bytes; None if it is null."""
        cdef Py_ssize_t count = len(self.ends) - 1
        if index < 0:
            index += count
        if not 0 <= index < count:
            raise IndexError(f"there are {count} values")
        if self.valid is not None and not self.valid[index]:
            return None
        return self.data[self.ends[index]:self.ends[index + 1]].tobytes()

    def fixed_width(self):
        """Return the strings as rows of a uint8 array.

        Raises ValueError if their lengths differ or one is null.
        """
        cdef Py_ssize_t count = len(self)
        width = int(self.ends[1]) if count else 0
        sizes = self.ends[1:] - self.ends[:count]
        if self.valid is not None or (sizes != width).any():
            raise ValueError("the values are not all of one length")
        return self.data.reshape(count, width)


cdef BytesColumn bytes_column(ColumnSet* columns, const VariableColumn* column, int64_t rows):
    cdef BytesColumn out = BytesColumn.__new__(BytesColumn)
    out.data = array_over(columns, column.data.data, column.ends[rows], 1, "u1")
    out.ends = array_over(columns, column.ends, rows + 1, sizeof(int32_t), "i4")
    if column.null_count > 0:
        out.valid = bits_over(columns, column.valid, rows)
    return out


@cython.final
cdef class RecordColumns:
    """Records as columns: NumPy arrays as attributes, or Arrow data through the PyCapsule interface.

    Columns from `poll_arrow` can be passed to `pyarrow.record_batch(columns)`, `pyarrow.table(columns)` and
    `polars.DataFrame(columns)`. Their schema is that of Spark's Kafka source.
    """

    def __cinit__(self, bint for_arrow=False, bint with_headers=False):
        self.columns = new_column_set(for_arrow, with_headers)
        if self.columns == NULL:
            raise MemoryError
        self.runs = []

    def __dealloc__(self):
        if self.columns != NULL:
            with nogil:
                release_columns(self.columns)

    def __len__(self):
        return self.columns.rows

    @property
    def nbytes(self):
        """Bytes of keys and values."""
        return self.data_size()

    @property
    def sources(self):
        """Runs of rows from one partition, in order: (topic, partition, first row, row after the last)."""
        return self.ended_runs()

    @property
    def key(self):
        return bytes_column(self.columns, &self.columns.keys, self.columns.rows)

    @property
    def value(self):
        return bytes_column(self.columns, &self.columns.values, self.columns.rows)

    @property
    def topic(self):
        """Array of str."""
        import numpy

        names = numpy.empty(self.columns.rows, dtype=object)
        for topic, _, start, end in self.ended_runs():
            names[start:end] = topic
        return names

    @property
    def partition(self):
        return array_over(self.columns, self.columns.partitions, self.columns.rows, sizeof(int32_t), "i4")

    @property
    def offset(self):
        return array_over(self.columns, self.columns.offsets, self.columns.rows, sizeof(int64_t), "i8")

    @property
    def timestamp(self):
        """Array of datetime64, in ms; in us if the columns are for Arrow."""
        times = array_over(self.columns, self.columns.timestamps, self.columns.rows, sizeof(int64_t), "i8")
        return times.view("datetime64[us]" if self.columns.for_arrow else "datetime64[ms]")

    @property
    def timestamp_type(self):
        """Array of int32: 0 CreateTime, 1 LogAppendTime, -1 none."""
        return array_over(self.columns, self.columns.timestamp_types, self.columns.rows, sizeof(int32_t), "i4")

    def headers(self, Py_ssize_t row):
        """A row's headers as pairs of name and value, in order."""
        cdef const VariableColumn* names = &self.columns.header_names
        cdef const VariableColumn* values = &self.columns.header_values
        cdef int32_t entry
        if not self.columns.with_headers:
            raise ValueError("the columns were made without headers: ask for them with include_headers=True")
        if not 0 <= row < self.columns.rows:
            raise IndexError(f"there are {self.columns.rows} rows")
        found = []
        for entry in range(self.columns.header_ends[row], self.columns.header_ends[row + 1]):
            name = names.data.data[names.ends[entry]:names.ends[entry + 1]]
            value = None
            if values.valid[entry >> 3] >> (entry & 7) & 1:
                value = values.data.data[values.ends[entry]:values.ends[entry + 1]]
            found.append((name.decode(), value))
        return found

    def offset_at(self, int64_t row):
        if not 0 <= row < self.columns.rows:
            raise IndexError(f"there are {self.columns.rows} rows")
        return self.columns.offsets[row]

    def first_row_from(self, int64_t offset, int64_t start, int64_t end):
        """Return the first row at or after an offset, among a partition's rows `start` to `end` (see `sources`).

        Returns `end` if there is none.
        """
        cdef int64_t middle
        if not 0 <= start <= end <= self.columns.rows:
            raise IndexError(f"there are {self.columns.rows} rows")
        while start < end:
            middle = (start + end) // 2
            if self.columns.offsets[middle] < offset:
                start = middle + 1
            else:
                end = middle
        return start

    def __arrow_c_schema__(self):
        return export_schema(self.for_export())

    def __arrow_c_array__(self, requested_schema=None):
        return export_schema(self.for_export()), export_array(self.for_export())

    def __arrow_c_stream__(self, requested_schema=None):
        return export_stream(self.for_export())

    cdef size_t data_size(self):
        return self.columns.keys.data.size + self.columns.values.data.size

    cdef list ended_runs(self):
        cdef list ends = [first for _, _, first in self.runs[1:]] + [self.columns.rows]
        return [(*run, end) for run, end in zip(self.runs, ends)]

    cdef ColumnSet* for_export(self) except NULL:
        if not self.columns.for_arrow:
            raise ValueError("these columns were made for NumPy: poll_arrow makes them for Arrow")
        return self.columns

    def __repr__(self):
        return f"<RecordColumns rows={self.columns.rows} bytes={self.data_size()}>"


def pooled_bytes():
    """Return the bytes of column memory that are kept for reuse."""
    return pooled_column_bytes()


def live_columns():
    """Return how many column sets of this process are still in use, by RecordColumns, views of them or Arrow data."""
    return live_column_sets()
