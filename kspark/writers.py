"""Batch and stream writers of the sink. Tasks write the rows; the driver's commit does nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

    from kspark.sink_options import SinkOptions


@dataclass
class Written(WriterCommitMessage):
    """Number of rows that a task has written. All are acknowledged."""

    rows: int


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        from kspark.row_writer import write_rows

        return Written(write_rows(self._options, iterator))


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> WriterCommitMessage:
        from kspark.row_writer import write_rows

        return Written(write_rows(self._options, iterator))
