"""`format("kcli")`: a replacement for Spark's Kafka source and sink that needs no jar."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource

from kspark.options import OptionError, Options
from kspark.schema import spark_schema
from kspark.sink_options import sink_options
from kspark.source_options import columns_of, source_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kspark.batch_reader import BatchReader
    from kspark.stream_reader import StreamReader
    from kspark.writers import BatchWriter, StreamWriter


class KcliSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "kcli"

    def schema(self) -> str:
        return spark_schema(columns_of(Options(self._given())))

    def reader(self, schema: StructType) -> BatchReader:
        from kspark.batch_reader import BatchReader, FilteringReader

        options = source_options(self._given(), is_streaming=False)
        return FilteringReader(options) if options.pushes_filters else BatchReader(options)

    def streamReader(self, schema: StructType) -> StreamReader:
        from kspark.stream_reader import StreamReader

        return StreamReader(source_options(self._given(), is_streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from kspark.writers import BatchWriter

        if overwrite:
            raise OptionError("mode must be append: a topic cannot be overwritten; delete its records first")
        return BatchWriter(sink_options(self._given(), schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from kspark.writers import StreamWriter

        return StreamWriter(sink_options(self._given(), schema))

    def _given(self) -> dict[str, str]:
        """Copy the options key by key: `dict()` of Spark's mapping looks up names that it does not have."""
        return {name: self.options[name] for name in self.options}
