"""The sink of batches and of streams: tasks write, and the driver has nothing left to do."""

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
    """How many rows a task has written, all of them acknowledged."""

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
