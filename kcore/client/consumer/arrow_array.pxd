"""Exports columns through Arrow's C data interface."""

from kcore.client.consumer.columns cimport ColumnSet

# PyCapsules named arrow_schema, arrow_array and arrow_array_stream. The columns must be `for_arrow`.
cdef object export_schema(ColumnSet* columns)
cdef object export_array(ColumnSet* columns)
cdef object export_stream(ColumnSet* columns)
