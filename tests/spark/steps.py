"""What a case asks of a source and a sink, and what happens to its topics in between: steps, played one after another.

Each is played on a Stage: one format of one session before one broker. What a step finds is plain data in the case's
own words, so that two runs are equal when what they have found is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, TimestampType

from tests.spark.contents import Record, Topic, Transaction
from tests.spark.queries import begun
from tests.spark.scene import Scene

Found: TypeAlias = dict[str, Any]
Query: TypeAlias = Callable[[DataFrame], DataFrame]

CONNECTOR, OURS = "kafka", "kcli"
END_TIMEOUT_S = 120
# The kinds of errors that users tell apart: failOnDataLoss decides about one of them.
DATA_LOSS, FAILED = "data loss", "failed"
DATA_LOSS_WORDS = ("KAFKA_DATA_LOSS", "DataLoss:", "data may have been lost", "data was lost")
# What ours says in words of its own; anything else is a defect.
OUR_ERRORS = ("OptionError:", "DataLoss:", "WriteError:", "TimeoutError:", "kcore.errors.", "kcore.client.errors.")
# And Spark, before ours is asked at all: sources of Python can be appended to, and not be created.
SPARKS_ERRORS = ("UNSUPPORTED_DATA_SOURCE_SAVE_MODE",)


class Stage:
    """`options` are the case's, with `$names`; `directory` is the run's own."""

    def __init__(
        self, session: SparkSession, source: str, scene: Scene, options: Mapping[str, str], directory: Path
    ) -> None:
        self.session = session
        self.source = source
        self.scene = scene
        self.directory = directory
        self._options = options

    def options(self, more: Mapping[str, str]) -> dict[str, str]:
        """An empty one of `more` takes the case's away."""
        given = {name: self.scene.real(text) for name, text in {**self._options, **more}.items() if text}
        return {"kafka.bootstrap.servers": self.scene.servers, **given}

    def rows(self, frame: DataFrame) -> list[tuple[Any, ...]]:
        """In the order in which they came; times in microseconds."""
        plain = frame.selectExpr(
            *(
                f"unix_micros(`{field.name}`) AS `{field.name}`"
                if field.dataType == TimestampType()
                else f"`{field.name}`"
                for field in frame.schema.fields
            )
        )
        texts = {number for number, field in enumerate(plain.schema.fields) if field.dataType == StringType()}
        return [
            tuple(self._told(value) if number in texts else _plain(value) for number, value in enumerate(row))
            for row in plain.collect()
        ]

    def _told(self, text: str | None) -> str | None:
        return None if text is None else self.scene.told(text)


class Step(Protocol):
    def play(self, stage: Stage) -> Found | None:
        """None when there is nothing to compare."""


def everything(frame: DataFrame) -> DataFrame:
    return frame


# What is asked


class Read(NamedTuple):
    """A batch. `options` go over the case's."""

    options: Mapping[str, str] = {}
    query: Query = everything
    # Whether the other source is to cut it into as many tasks.
    counts_tasks: bool = False

    def play(self, stage: Stage) -> Found:
        with told_errors(stage.source) as found:
            frame = stage.session.read.format(stage.source).options(**stage.options(self.options)).load()
            asked = self.query(frame)
            rows = stage.rows(asked)
            found["columns"] = [field.simpleString() for field in asked.schema.fields]
            found["in order"] = _is_in_order(asked.columns, rows)
            found["rows"] = sorted(rows, key=repr)
            if self.counts_tasks:
                found["tasks"] = asked.rdd.getNumPartitions()
        return found


class Stream(NamedTuple):
    """A query from the case's checkpoint on, over a sink that keeps each batch's rows.

    It ends by itself with what is there when it begins, or, with `meanwhile`, when these steps were played and all that
    they left was read. How many batches it takes to read what a step leaves is a matter of time: they count as one.
    """

    options: Mapping[str, str] = {}
    query: Query = everything
    meanwhile: tuple[Step, ...] = ()
    once: bool = False
    mode: str = "append"

    def play(self, stage: Stage) -> Found:
        batches: dict[int, list[tuple[Any, ...]]] = {}

        def keep(frame: DataFrame, number: int) -> None:
            batches[number] = sorted(stage.rows(frame), key=repr)

        progress: list[Any] = []
        # The last batch before each step.
        ends: list[int] = []
        with told_errors(stage.source) as found:
            frame = stage.session.readStream.format(stage.source).options(**stage.options(self.options)).load()
            writer = self.query(frame).writeStream.foreachBatch(keep).outputMode(self.mode)
            writer = writer.option("checkpointLocation", str(stage.directory / "checkpoint"))
            if self.once:
                writer = writer.trigger(once=True)
            elif not self.meanwhile:
                writer = writer.trigger(availableNow=True)
            query = begun(writer)
            try:
                for step in self.meanwhile:
                    query.processAllAvailable()
                    ends.append(max(batches, default=-1))
                    step.play(stage)
                if self.meanwhile:
                    query.processAllAvailable()
                else:
                    assert query.awaitTermination(END_TIMEOUT_S), "the query does not end"
            finally:
                query.stop()
                progress = [one for one in query.recentProgress if one["batchId"] in batches]
        parts: dict[int, list[int]] = {}
        for number in sorted(number for number, rows in batches.items() if rows):
            part = sum(number > end for end in ends) if self.meanwhile else number
            parts.setdefault(part, []).append(number)
        found["batches"] = [sorted((row for one in part for row in batches[one]), key=repr) for part in parts.values()]
        sources = {one["batchId"]: one["sources"][0] for one in progress}
        found["offsets"] = [
            (
                stage.scene.offsets(sources[part[0]]["startOffset"]),
                stage.scene.offsets(sources[part[-1]]["endOffset"]),
            )
            for part in parts.values()
            if sources.keys() >= set(part)
        ]
        return found


class Write(NamedTuple):
    """Rows of a VALUES clause, written as a batch. They are read by the step that comes after."""

    columns: str
    values: str
    options: Mapping[str, str] = {}
    mode: str = "append"

    def play(self, stage: Stage) -> Found:
        with told_errors(stage.source) as found:
            rows = stage.session.sql(stage.scene.real(f"SELECT * FROM VALUES {self.values} AS t({self.columns})"))
            rows.coalesce(1).write.format(stage.source).mode(self.mode).options(**stage.options(self.options)).save()
        return found


class Copy(NamedTuple):
    """A stream of the case's topics into `topic`, from the checkpoint on, through the format at both ends."""

    topic: str
    options: Mapping[str, str] = {}
    query: Query = everything

    def play(self, stage: Stage) -> Found:
        with told_errors(stage.source) as found:
            reader = stage.session.readStream.format(stage.source).options(**stage.options(self.options))
            asked = self.query(reader.load().drop("topic"))
            target = {"kafka.bootstrap.servers": stage.scene.servers, "topic": stage.scene.name(self.topic)}
            writer = asked.writeStream.format(stage.source).options(**target)
            writer = writer.option("checkpointLocation", str(stage.directory / "checkpoint"))
            query = begun(writer.trigger(availableNow=True))
            try:
                assert query.awaitTermination(END_TIMEOUT_S), "the query does not end"
            finally:
                query.stop()
        return found


class ReadBack(NamedTuple):
    """What a sink left, by Spark's own connector whatever the sink was. Times and producers' choices are left out."""

    topic: str
    columns: tuple[str, ...] = ("topic", "key", "value", "headers")

    def play(self, stage: Stage) -> Found:
        options = {"subscribe": stage.scene.name(self.topic), "includeHeaders": "true"}
        reader = stage.session.read.format(CONNECTOR).option("kafka.bootstrap.servers", stage.scene.servers)
        return {"rows": sorted(stage.rows(reader.options(**options).load().select(*self.columns)), key=repr)}


# What happens in between


class Append(NamedTuple):
    topic: str
    records: tuple[Record | Transaction, ...]

    def play(self, stage: Stage) -> None:
        stage.scene.write(self.topic, self.records)


class Create(NamedTuple):
    topic: Topic

    def play(self, stage: Stage) -> None:
        stage.scene.create(self.topic)


class Delete(NamedTuple):
    topic: str

    def play(self, stage: Stage) -> None:
        stage.scene.delete(self.topic)


class AddPartitions(NamedTuple):
    topic: str
    total: int

    def play(self, stage: Stage) -> None:
        stage.scene.add_partitions(self.topic, self.total)


class DeleteRecords(NamedTuple):
    """Those before an offset of each partition."""

    topic: str
    before: Mapping[int, int]

    def play(self, stage: Stage) -> None:
        stage.scene.delete_records(self.topic, self.before)


class Compacted(NamedTuple):
    """Waits until the topic has one record a key, but for its last segment, which one more record begins."""

    topic: str

    def play(self, stage: Stage) -> None:
        stage.scene.wait_until_compacted(self.topic)


def _plain(value: Any) -> Any:
    """Rows in rows become tuples, and bytes stay bytes."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return tuple(_plain(one) for one in value)
    return value


def _is_in_order(columns: list[str], rows: list[tuple[Any, ...]]) -> bool:
    """Whether each partition's offsets ascend; so they do where they are not asked for."""
    if not {"topic", "partition", "offset"} <= set(columns):
        return True
    places = [columns.index(name) for name in ("topic", "partition", "offset")]
    last: dict[tuple[Any, Any], int] = {}
    for row in rows:
        topic, partition, offset = (row[place] for place in places)
        if offset <= last.get((topic, partition), -1):
            return False
        last[topic, partition] = offset
    return True


@contextlib.contextmanager
def told_errors(source: str) -> Iterator[Found]:
    """An error of Spark's is something found."""
    found: Found = {}
    try:
        yield found
    except (PySparkException, Py4JJavaError) as error:
        text = f"{type(error).__name__} {error}"
        is_loss = any(words in text for words in DATA_LOSS_WORDS)
        found["error"] = DATA_LOSS if is_loss else FAILED
        found["text of the error"] = text
        if source == OURS and not any(words in text for words in OUR_ERRORS + SPARKS_ERRORS):
            raise
