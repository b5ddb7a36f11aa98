"""Arrow's C data and stream interfaces over a ColumnSet, without copying. The schema is that of Spark's Kafka source.

    key binary | value binary | topic utf8 | partition int32 | offset int64 | timestamp timestamp[us, UTC]
    timestampType int32 | [headers list<struct<key utf8, value binary>>]

All columns are nullable, as in Spark. Only key, value, headers and header values contain nulls. An exported struct
belongs to its consumer. Children may be moved out of their parent, and `release` may be called on any thread. So every
array holds the columns itself, and releasing needs no GIL. Source: the specifications of the Arrow C data interface,
the C stream interface and the PyCapsule interface; KafkaRecordToRowConverter of Apache Spark for the schema.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.errno cimport ENOMEM
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset
from kcore.client.consumer.columns cimport ColumnSet, VariableColumn, hold_columns, release_columns

cdef extern from *:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    #define ARROW_FLAG_NULLABLE 2
    struct ArrowSchema {
      const char* format;
      const char* name;
      const char* metadata;
      int64_t flags;
      int64_t n_children;
      struct ArrowSchema** children;
      struct ArrowSchema* dictionary;
      void (*release)(struct ArrowSchema*);
      void* private_data;
    };
    struct ArrowArray {
      int64_t length;
      int64_t null_count;
      int64_t offset;
      int64_t n_buffers;
      int64_t n_children;
      const void** buffers;
      struct ArrowArray** children;
      struct ArrowArray* dictionary;
      void (*release)(struct ArrowArray*);
      void* private_data;
    };
    #endif
    #ifndef ARROW_C_STREAM_INTERFACE
    #define ARROW_C_STREAM_INTERFACE
    struct ArrowArrayStream {
      int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
      int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
      const char* (*get_last_error)(struct ArrowArrayStream*);
      void (*release)(struct ArrowArrayStream*);
      void* private_data;
    };
    #endif
    """
    enum:
        ARROW_FLAG_NULLABLE
    ctypedef struct ArrowSchema "struct ArrowSchema":
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept nogil
        void* private_data
    ctypedef struct ArrowArray "struct ArrowArray":
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept nogil
        void* private_data
    ctypedef struct ArrowArrayStream "struct ArrowArrayStream":
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*) noexcept nogil
        void* private_data

cdef enum:
    COLUMNS = 7
    BUFFERS_MAX = 3

cdef const char** FORMATS = ["z", "z", "u", "i", "l", "tsu:UTC", "i", "+l"]
cdef const char** NAMES = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


# --- schema ----------------------------------------------------------------------------------------------------------


cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i] != NULL:
            if schema.children[i].release != NULL:
                schema.children[i].release(schema.children[i])
            free(schema.children[i])
    free(schema.children)
    schema.children = NULL
    schema.release = NULL


cdef bint begin_schema(ArrowSchema* schema, const char* format, const char* name, int64_t children) noexcept nogil:
    """Fill a zeroed schema and allocate its children. The texts are static."""
    cdef int64_t i
    schema.format = format
    schema.name = name
    schema.flags = ARROW_FLAG_NULLABLE
    schema.release = release_schema
    if children == 0:
        return True
    schema.children = <ArrowSchema**>calloc(<size_t>children, sizeof(ArrowSchema*))
    if schema.children == NULL:
        return False
    schema.n_children = children
    for i in range(children):
        schema.children[i] = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
        if schema.children[i] == NULL:
            return False
    return True


cdef bint fill_schema(ArrowSchema* schema, bint with_headers) noexcept nogil:
    """Fill a zeroed schema. It must be released even if this fails."""
    cdef ArrowSchema* entry
    cdef int64_t i
    if not begin_schema(schema, "+s", "", COLUMNS + with_headers):
        return False
    schema.flags = 0
    for i in range(COLUMNS):
        if not begin_schema(schema.children[i], FORMATS[i], NAMES[i], 0):
            return False
    if not with_headers:
        return True
    if not begin_schema(schema.children[COLUMNS], FORMATS[COLUMNS], NAMES[COLUMNS], 1):
        return False
    entry = schema.children[COLUMNS].children[0]
    return (begin_schema(entry, "+s", "element", 2)
            and begin_schema(entry.children[0], "u", "key", 0)
            and begin_schema(entry.children[1], "z", "value", 0))


# --- arrays ----------------------------------------------------------------------------------------------------------


cdef void release_array(ArrowArray* array) noexcept nogil:
    cdef int64_t i
    for i in range(array.n_children):
        if array.children[i] != NULL:
            if array.children[i].release != NULL:
                array.children[i].release(array.children[i])
            free(array.children[i])
    free(array.children)
    free(array.buffers)
    array.children = NULL
    array.buffers = NULL
    array.release = NULL
    release_columns(<ColumnSet*>array.private_data)


cdef bint begin_array(ArrowArray* array, ColumnSet* columns, int64_t length, int64_t null_count, int64_t buffers,
                      int64_t children) noexcept nogil:
    """Fill a zeroed array and allocate its buffers and children."""
    cdef int64_t i
    array.length = length
    array.null_count = null_count
    array.private_data = columns
    array.release = release_array
    hold_columns(columns)
    array.buffers = <const void**>calloc(BUFFERS_MAX, sizeof(void*))
    if array.buffers == NULL:
        return False
    array.n_buffers = buffers
    if children == 0:
        return True
    array.children = <ArrowArray**>calloc(<size_t>children, sizeof(ArrowArray*))
    if array.children == NULL:
        return False
    array.n_children = children
    for i in range(children):
        array.children[i] = <ArrowArray*>calloc(1, sizeof(ArrowArray))
        if array.children[i] == NULL:
            return False
    return True


cdef bint fill_fixed(ArrowArray* array, ColumnSet* columns, const void* values) noexcept nogil:
    if not begin_array(array, columns, columns.rows, 0, 2, 0):
        return False
    array.buffers[1] = values
    return True


cdef bint fill_variable(ArrowArray* array, ColumnSet* columns, const VariableColumn* column,
                        int64_t rows) noexcept nogil:
    if not begin_array(array, columns, rows, column.null_count, 3, 0):
        return False
    array.buffers[0] = column.valid if column.null_count > 0 else NULL
    array.buffers[1] = column.ends
    # Some readers dereference the data pointer even if all strings are empty.
    array.buffers[2] = column.data.data if column.data.data != NULL else <uint8_t*>column.ends
    return True


cdef bint fill_headers(ArrowArray* array, ColumnSet* columns) noexcept nogil:
    cdef ArrowArray* entries
    if not begin_array(array, columns, columns.rows, columns.header_null_count, 2, 1):
        return False
    array.buffers[0] = columns.headers_valid if columns.header_null_count > 0 else NULL
    array.buffers[1] = columns.header_ends
    entries = array.children[0]
    return (begin_array(entries, columns, columns.header_rows, 0, 1, 2)
            and fill_variable(entries.children[0], columns, &columns.header_names, columns.header_rows)
            and fill_variable(entries.children[1], columns, &columns.header_values, columns.header_rows))


cdef bint fill_array(ArrowArray* array, ColumnSet* columns) noexcept nogil:
    """Fill a zeroed array. It must be released even if this fails."""
    return (
        begin_array(array, columns, columns.rows, 0, 1, COLUMNS + columns.with_headers)
        and fill_variable(array.children[0], columns, &columns.keys, columns.rows)
        and fill_variable(array.children[1], columns, &columns.values, columns.rows)
        and fill_variable(array.children[2], columns, &columns.topics, columns.rows)
        and fill_fixed(array.children[3], columns, columns.partitions)
        and fill_fixed(array.children[4], columns, columns.offsets)
        and fill_fixed(array.children[5], columns, columns.timestamps)
        and fill_fixed(array.children[6], columns, columns.timestamp_types)
        and (not columns.with_headers or fill_headers(array.children[COLUMNS], columns))
    )


# --- streams ---------------------------------------------------------------------------------------------------------


cdef struct StreamState:
    ColumnSet* columns
    bint taken


cdef int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept nogil:
    cdef ArrowSchema empty
    zero_schema(&empty)
    out[0] = empty
    if fill_schema(out, (<StreamState*>stream.private_data).columns.with_headers):
        return 0
    out.release(out)
    return ENOMEM


cdef int stream_next(ArrowArrayStream* stream, ArrowArray* out) noexcept nogil:
    """Return all rows as one array, then a released array as the end."""
    cdef StreamState* state = <StreamState*>stream.private_data
    cdef ArrowArray empty
    zero_array(&empty)
    out[0] = empty
    if state.taken:
        return 0
    if not fill_array(out, state.columns):
        out.release(out)
        return ENOMEM
    state.taken = True
    return 0


cdef const char* stream_error(ArrowArrayStream* stream) noexcept nogil:
    return NULL


cdef void release_stream(ArrowArrayStream* stream) noexcept nogil:
    cdef StreamState* state = <StreamState*>stream.private_data
    release_columns(state.columns)
    free(state)
    stream.release = NULL


cdef inline void zero_schema(ArrowSchema* schema) noexcept nogil:
    memset(schema, 0, sizeof(ArrowSchema))


cdef inline void zero_array(ArrowArray* array) noexcept nogil:
    memset(array, 0, sizeof(ArrowArray))


# --- capsules --------------------------------------------------------------------------------------------------------


cdef void free_schema_capsule(object capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void free_array_capsule(object capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void free_stream_capsule(object capsule) noexcept:
    cdef ArrowArrayStream* stream = <ArrowArrayStream*>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release != NULL:
        stream.release(stream)
    free(stream)


cdef object export_schema(ColumnSet* columns):
    cdef ArrowSchema* schema = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
    if schema == NULL:
        raise MemoryError
    capsule = PyCapsule_New(schema, "arrow_schema", free_schema_capsule)
    if not fill_schema(schema, columns.with_headers):
        raise MemoryError
    return capsule


cdef object export_array(ColumnSet* columns):
    cdef ArrowArray* array = <ArrowArray*>calloc(1, sizeof(ArrowArray))
    if array == NULL:
        raise MemoryError
    capsule = PyCapsule_New(array, "arrow_array", free_array_capsule)
    if not fill_array(array, columns):
        raise MemoryError
    return capsule


cdef object export_stream(ColumnSet* columns):
    cdef ArrowArrayStream* stream = <ArrowArrayStream*>calloc(1, sizeof(ArrowArrayStream))
    cdef StreamState* state = <StreamState*>calloc(1, sizeof(StreamState))
    if stream == NULL or state == NULL:
        free(stream)
        free(state)
        raise MemoryError
    hold_columns(columns)
    state.columns = columns
    stream.get_schema = stream_schema
    stream.get_next = stream_next
    stream.get_last_error = stream_error
    stream.release = release_stream
    stream.private_data = state
    return PyCapsule_New(stream, "arrow_array_stream", free_stream_capsule)
