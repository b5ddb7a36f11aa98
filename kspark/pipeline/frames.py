"""Creates a pipeline's DataFrames and has Spark analyse them: sources, steps, and the input of each sink.

Every part whose inputs have known columns is analysed. A part with a broken input is skipped, so one mistake gives one
message.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import uuid
from contextlib import contextmanager

from kspark.log_options import log_columns
from kspark.options import OptionError, Options
from kspark.pipeline.findings import PipelineError, hint
from kspark.pipeline.part_options import FILE_FORMATS, LOGS, TOPICS
from kspark.pipeline.spark_errors import blamed, brief, python_failure, unknown_table, unlogged
from kspark.sink_options import row_mistakes
from kspark.source_options import DRAIN_FILE, columns_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pyspark.sql import Column, DataFrame, SparkSession

    from kspark.pipeline.definition import Pipeline, Sink, Source, Step, Value
    from kspark.pipeline.findings import Findings

# Spark creates these sinks itself; they cannot be looked up by name.
FORMATS_OF_QUERIES = ("memory",)
# Extension of a file that contains the schema.
AVRO_FILE = ".avsc"
# Default record columns to keep beside the value's own columns.
KEPT = ("key", "topic", "partition", "offset", "timestamp")


class Frames:
    """Each source and step becomes a temporary view with its name, so that SQL can use it."""

    def __init__(self, session: SparkSession, pipeline: Pipeline) -> None:
        self._session = session
        self._pipeline = pipeline
        self._by_name: dict[str, DataFrame] = {}
        # This file exists only while the pipeline stops.
        self.drain_file = os.path.join(tempfile.gettempdir(), f"kcli-drain-{uuid.uuid4().hex}")
        if pipeline.directory not in sys.path:
            # Python steps are in the directory of the pipeline's file.
            sys.path.insert(0, pipeline.directory)

    def build(self, findings: Findings) -> None:
        """Analyse all parts and add the mistakes to `findings`. Nothing is read or written."""
        with unlogged():
            for source in self._pipeline.sources:
                self._build_source(source, f"sources.{source.name}", findings)
            for step in self._pipeline.steps:
                self._build_step(step, f"steps.{step.name}", findings)
            for sink in self._pipeline.sinks:
                if sink.input in self._by_name:
                    self._check_sink(sink, f"sinks.{sink.name}", findings)

    @property
    def is_drained(self) -> bool:
        """Whether every stream obeys `drain_file`."""
        return all(source.format == TOPICS for source in self._pipeline.sources if source.is_stream)

    def of_sink(self, sink: Sink) -> DataFrame:
        return self._by_name[sink.input]

    def _add(self, name: str, frame: DataFrame) -> None:
        # Analysis is lazy. Accessing the schema raises its errors here.
        _ = frame.schema
        frame.createOrReplaceTempView(name)
        self._by_name[name] = frame

    def _build_source(self, source: Source, place: str, findings: Findings) -> None:
        """Add a source, unless a mistake affects its columns. Mistakes in its other options do not."""
        if findings.has_mistake_in(place, besides="options"):
            return
        try:
            if source.format in (TOPICS, LOGS):
                (columns_of if source.format == TOPICS else log_columns)(Options(source.options))
        except OptionError:
            return  # reported with the other mistakes of the options
        with _blaming(place, findings):
            self._add(source.name, self._watermarked(source, self._source(source), place, findings))

    def _build_step(self, step: Step, place: str, findings: Findings) -> None:
        if findings.has_mistake_in(place) or any(name not in self._by_name for name in step.inputs):
            return
        if step.sql is None:
            with _blaming(place, findings):
                self._add(step.name, self._called(step))
            return
        with _blaming(f"{place}.sql", findings):
            self._add_sql(step.name, step.sql)

    def _add_sql(self, name: str, sql: str) -> None:
        """Add a SQL step. Raises PipelineError if it selects from a name that is no earlier part.

        An earlier part without a view is not reported here, because its own mistake already is.
        """
        from pyspark.errors import PySparkException

        try:
            self._add(name, self._session.sql(sql))
        except PySparkException as error:
            missing = unknown_table(error)
            if missing is None:
                raise
            sources, steps = ([part.name for part in parts] for parts in (self._pipeline.sources, self._pipeline.steps))
            before = [*sources, *steps[: steps.index(name)]]
            if missing.lower() in map(str.lower, before):
                return
            if missing.lower() in map(str.lower, steps):
                raise PipelineError(
                    f"{missing} does not come before it; a step sees only the sources and the steps before it: "
                    f"{', '.join(before)}"
                ) from None
            raise PipelineError(brief(error, before)) from None

    def _check_sink(self, sink: Sink, place: str, findings: Findings) -> None:
        """Find mistakes that Spark would report only after the query has started."""
        frame = self.of_sink(sink)
        for column in sink.partition_by:
            if column not in frame.columns:
                rest = hint(column, frame.columns) or f"; columns: {', '.join(frame.columns)}"
                findings.mistake(f"{place}.partition-by", f"no column {column}{rest}")
        if sink.format == TOPICS:
            for text in row_mistakes(sink.options, frame.schema):
                findings.mistake(place, text)
        elif not findings.has_mistake_in(f"{place}.format"):
            with _blaming(f"{place}.format", findings):
                self._require_format(sink.format)
        if frame.isStreaming and not findings.has_mistake_in(f"{place}.mode"):
            if sink.format in FILE_FORMATS and sink.mode != "append":
                findings.mistake(f"{place}.mode", f"must be append, not {sink.mode}: files cannot be changed")
            else:
                with _blaming(f"{place}.mode", findings):
                    self._require_mode(frame, sink.mode)

    def _require_format(self, name: str) -> None:
        jvm: Any = self._session._jvm
        session: Any = self._session._jsparkSession
        if name.lower() not in FORMATS_OF_QUERIES:
            jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(
                name, session.sessionState().conf()
            )

    def _require_mode(self, frame: DataFrame, mode: str) -> None:
        jvm: Any = self._session._jvm
        modes = jvm.org.apache.spark.sql.streaming.OutputMode
        jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker.checkForStreaming(
            frame._jdf.queryExecution().analyzed(), getattr(modes, mode.capitalize())()
        )

    def _source(self, source: Source) -> DataFrame:
        reader = self._session.readStream if source.is_stream else self._session.read
        reader = reader.format(source.format).options(**source.options)
        if source.format == TOPICS:
            reader = reader.option(DRAIN_FILE, self.drain_file)
        if source.schema is not None:
            reader = reader.schema(source.schema)
        frame = reader.load(source.path) if source.path is not None else reader.load()
        return frame if source.value is None else self._with_value(frame, source.value)

    def _watermarked(self, source: Source, frame: DataFrame, place: str, findings: Findings) -> DataFrame:
        """Return the frame with its watermark, or unchanged after a mistake: its columns are the same."""
        if source.watermark is None:
            return frame
        column, delay = source.watermark
        if column not in frame.columns:
            rest = hint(column, frame.columns) or f"; columns: {', '.join(frame.columns)}"
            findings.mistake(f"{place}.watermark.column", f"no column {column}{rest}")
            return frame
        with _blaming(f"{place}.watermark", findings):
            marked = frame.withWatermark(column, delay)
            _ = marked.schema
            return marked
        return frame

    def _called(self, step: Step) -> DataFrame:
        """Call the function of a Python step. Raises PipelineError if it fails or does not return a DataFrame."""
        from pyspark.sql import DataFrame

        assert step.module is not None
        assert step.function is not None
        try:
            function = getattr(importlib.import_module(step.module), step.function, None)
        except ImportError:
            raise
        except Exception as error:
            raise PipelineError(f"module {step.module} cannot be imported: {python_failure(error)}") from error
        if function is None:
            raise PipelineError(f"module {step.module} has no function {step.function}")
        try:
            frame = function(*(self._by_name[name] for name in step.inputs))
        except Exception as error:
            raise PipelineError(f"{step.module}:{step.function} failed: {python_failure(error)}") from error
        if not isinstance(frame, DataFrame):
            raise PipelineError(f"{step.module}:{step.function} must return a DataFrame, not {type(frame).__name__}")
        return frame

    def _with_value(self, frame: DataFrame, value: Value) -> DataFrame:
        """Parse the value with Spark's functions and add its columns to the kept record columns."""
        from pyspark import __version__
        from pyspark.errors import PySparkException

        kept = [name for name in (value.keep or KEPT) if name in frame.columns]
        try:
            return frame.select(*kept, self._parsed(value).alias("value")).select(*kept, "value.*")
        except PySparkException as error:
            if "NOT_LOADED" not in (error.getCondition() or ""):
                raise
            raise PipelineError(
                f"value.format {value.format} needs a jar of Spark. Add to [spark] "
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
def _blaming(place: str, findings: Findings) -> Iterator[None]:
    """Report errors within the block as mistakes of this place."""
    try:
        with blamed(place):
            yield
    except PipelineError as error:
        findings.mistake(place, str(error).removeprefix(f"{place}: "))
