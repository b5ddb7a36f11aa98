"""The bound: a source of Python that hands out the same rows from Arrow files in memory, and does nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kspark.schema import RECORD_COLUMNS, spark_schema

FORMAT = "arrow-rows"


class ArrowRows(DataSource):
    """The option `path` is a directory of Arrow files, each a task."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return spark_schema(RECORD_COLUMNS)

    def reader(self, schema: StructType) -> DataSourceReader:
        return ArrowFilesReader(self.options["path"])


class ArrowFilesReader(DataSourceReader):
    def __init__(self, path: str) -> None:
        self._path = path

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(str(path)) for path in sorted(Path(self._path).iterdir())]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        with pyarrow.memory_map(partition.value) as file:
            reader = pyarrow.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)
