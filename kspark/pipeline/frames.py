"""A pipeline's DataFrames: sources, steps and what each sink is to write. Errors name the part and the column."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import uuid
from contextlib import contextmanager

from kspark.options import OptionError
from kspark.pipeline.definition import PipelineError
from kspark.sink_options import sink_options
from kspark.source_options import DRAIN_FILE, source_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pyspark.sql import Column, DataFrame, SparkSession

    from kspark.pipeline.definition import Pipeline, Sink, Source, Step, Value

OURS = "kcli"
# A file with a schema, instead of the schema itself.
AVRO_FILE = ".avsc"
# Beside the value's own columns.
KEPT = ("key", "topic", "partition", "offset", "timestamp")


class Frames:
    """Every source and step is a temporary view under its name, so that SQL sees it."""

    def __init__(self, session: SparkSession, pipeline: Pipeline) -> None:
        self._session = session
        self._pipeline = pipeline
        self._by_name: dict[str, DataFrame] = {}
        # There only while the run comes to its end.
        self.drain_file = os.path.join(tempfile.gettempdir(), f"kcli-drain-{uuid.uuid4().hex}")
        if pipeline.directory not in sys.path:
            # Python steps lie beside the file.
            sys.path.insert(0, pipeline.directory)

    def build(self) -> None:
        """PipelineError where a part cannot be analysed; nothing is read or written."""
        for source in self._pipeline.sources:
            with blamed(f"sources.{source.name}"):
                self._add(source.name, self._source(source))
        for step in self._pipeline.steps:
            with blamed(f"steps.{step.name}"):
                self._add(step.name, self._step(step))
        for sink in self._pipeline.sinks:
            with blamed(f"sinks.{sink.name}"):
                self._check(sink)

    @property
    def is_drained(self) -> bool:
        """Whether every stream heeds `drain_file`."""
        return all(source.format == OURS for source in self._pipeline.sources if source.is_stream)

    def of_sink(self, sink: Sink) -> DataFrame:
        return self._by_name[sink.input]

    def _add(self, name: str, frame: DataFrame) -> None:
        # Analysis is lazy; here is where its errors belong.
        _ = frame.schema
        frame.createOrReplaceTempView(name)
        self._by_name[name] = frame

    def _check(self, sink: Sink) -> None:
        """What Spark would say only when the query has started."""
        frame = self.of_sink(sink)
        for column in sink.partition_by:
            if column not in frame.columns:
                raise PipelineError(f"partition-by: no column {column}; there are {', '.join(frame.columns)}")
        if sink.format == OURS:
            sink_options(sink.options, frame.schema)
        if frame.isStreaming:
            jvm: Any = self._session._jvm
            modes = jvm.org.apache.spark.sql.streaming.OutputMode
            jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
                frame._jdf.queryExecution().analyzed(), getattr(modes, sink.mode.capitalize())()
            )

    def _source(self, source: Source) -> DataFrame:
        reader = self._session.readStream if source.is_stream else self._session.read
        reader = reader.format(source.format).options(**source.options)
        if source.format == OURS:
            # Spark would ask for it when the query starts.
            source_options(source.options, is_streaming=source.is_stream)
            reader = reader.option(DRAIN_FILE, self.drain_file)
        if source.schema is not None:
            reader = reader.schema(source.schema)
        frame = reader.load(source.path) if source.path is not None else reader.load()
        if source.value is not None:
            frame = self._with_value(frame, source.value)
        if source.watermark is not None:
            frame = frame.withWatermark(source.watermark.column, source.watermark.delay)
        return frame

    def _step(self, step: Step) -> DataFrame:
        from pyspark.sql import DataFrame

        if step.sql is not None:
            return self._session.sql(step.sql)
        assert step.module is not None
        assert step.function is not None
        function = getattr(importlib.import_module(step.module), step.function, None)
        if function is None:
            raise PipelineError(f"module {step.module} has no function {step.function}")
        frame = function(*(self._by_name[name] for name in step.inputs))
        if not isinstance(frame, DataFrame):
            raise PipelineError(f"{step.module}:{step.function} must return a DataFrame, not {type(frame).__name__}")
        return frame

    def _with_value(self, frame: DataFrame, value: Value) -> DataFrame:
        """The value's columns, by Spark's own functions, beside those of the record that are kept."""
        from pyspark import __version__
        from pyspark.errors import PySparkException

        kept = [name for name in (value.keep or KEPT) if name in frame.columns]
        try:
            return frame.select(*kept, self._parsed(value).alias("value")).select(*kept, "value.*")
        except PySparkException as error:
            if "NOT_LOADED" not in (error.getCondition() or ""):
                raise
            raise PipelineError(
                f"value.format {value.format} needs a jar of Spark's: add to [spark] "
                f'"spark.jars.packages" = "org.apache.spark:spark-{value.format}_2.13:{__version__}", or, where Maven '
                "Central lacks that version, the newest before it"
            ) from None

    def _parsed(self, value: Value) -> Column:
        from pyspark.sql import functions
        from pyspark.sql.avro.functions import from_avro
        from pyspark.sql.protobuf.functions import from_protobuf

        if value.format == "json":
            return functions.from_json(functions.col("value").cast("string"), value.schema)
        beside = os.path.join(self._pipeline.directory, value.schema)
        if value.format == "avro":
            return from_avro("value", _text_of(beside) if value.schema.endswith(AVRO_FILE) else value.schema)
        assert value.message is not None
        return from_protobuf("value", value.message, beside)


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


@contextmanager
def blamed(place: str) -> Iterator[None]:
    """What goes wrong within is said of this part of the file."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (PipelineError, OptionError, ImportError, OSError) as error:
        raise PipelineError(f"{place}: {error}") from error
    except PySparkException as error:
        raise PipelineError(f"{place}: {_without_trace(str(error))}") from error


def _without_trace(text: str) -> str:
    """What Spark says, without the plan and the stack behind it."""
    lines = []
    for line in text.strip().splitlines():
        if not line.strip() or line.startswith(("'", "+-", "==", "JVM stacktrace", "Traceback", "\tat ")):
            break
        lines.append(line.strip())
    return " ".join(lines) or text
