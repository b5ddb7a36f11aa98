"""`format("kcli-log")`: reads segment files directly, without a broker."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kspark.log_options import log_columns, log_options
from kspark.log_segments import splits
from kspark.options import Options
from kspark.schema import spark_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow
    from pyspark.sql.types import StructType

    from kspark.log_options import LogOptions
    from kspark.log_segments import SegmentSplit


class SplitPartition(InputPartition):
    def __init__(self, split: SegmentSplit) -> None:
        super().__init__(split)


class LogSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "kcli-log"

    def schema(self) -> str:
        return spark_schema(log_columns(Options(self._given())))

    def reader(self, schema: StructType) -> LogReader:
        return LogReader(log_options(self._given()))

    def _given(self) -> dict[str, str]:
        """Copy the options key by key: `dict()` of Spark's mapping looks up names that it does not have."""
        return {name: self.options[name] for name in self.options}


class LogReader(DataSourceReader):
    def __init__(self, options: LogOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        return [SplitPartition(split) for split in splits(self._options.path, self._options.split_bytes)]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        from kspark.segment_reader import read_split

        return read_split(self._options, partition.value)
