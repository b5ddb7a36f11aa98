"""A pipeline as its file says it, checked as far as that can be without Spark.

name = "flights"                                  # of the Spark application
checkpoint = "checkpoints"                        # a directory beside the file, one below it for each sink
master = "local[*]"                               # or an existing cluster

[spark]                                           # settings of the session
"spark.sql.shuffle.partitions" = 4

[sources.flights]
format = "kcli"                                   # any of Spark's formats
stream = true                                     # otherwise read once
options = { "kafka.bootstrap.servers" = "localhost:9092", subscribe = "flights", startingOffsets = "earliest" }
value = { format = "json", schema = "carrier string, dep_delay int" }      # json, avro, protobuf
watermark = { column = "timestamp", delay = "10 minutes" }

[steps.late]                                      # in order; each sees the sources and the steps before
sql = "select * from flights where dep_delay > 15"

[steps.marked]
python = "steps:mark"                             # a function of a DataFrame, beside the file or on the path
from = "late"

[sinks.out]
from = "marked"
format = "parquet"
mode = "append"
trigger = "10 seconds"                            # or "available-now", "once"; default: as fast as it goes
path = "out"
options = {}
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import NamedTuple

from kspark.options import KAFKA_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    Part = TypeVar("Part", "Source", "Sink")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PYTHON_STEP = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<function>[A-Za-z_]\w*)")
VALUE_FORMATS = ("json", "avro", "protobuf")
MODES = ("append", "complete", "update")
AVAILABLE_NOW, ONCE = "available-now", "once"
# Ours and that of Spark's own connector.
FORMATS_OF_TOPICS = ("kcli", "kafka")
BOOTSTRAP_SERVERS = "kafka.bootstrap.servers"
INTERVAL = re.compile(r"\d+ (millisecond|second|minute|hour|day)s?")


class PipelineError(ValueError):
    """Something in a pipeline's file that cannot be: names the place, the rule and the remedy."""


class Value(NamedTuple):
    """How a record's value is read; `schema` is Spark's DDL, Avro's JSON or a file of it (.avsc), or a file with
    Protobuf's descriptors (protoc --descriptor_set_out), of which `message` is one.
    """

    format: str
    schema: str
    message: str | None
    keep: tuple[str, ...]


class Watermark(NamedTuple):
    column: str
    delay: str


class Source(NamedTuple):
    name: str
    format: str
    is_stream: bool
    options: dict[str, str]
    path: str | None
    schema: str | None
    value: Value | None
    watermark: Watermark | None


class Step(NamedTuple):
    """Either SQL or a Python function; `inputs` are what the function is given."""

    name: str
    sql: str | None
    module: str | None
    function: str | None
    inputs: tuple[str, ...]


class Sink(NamedTuple):
    name: str
    input: str
    format: str
    mode: str
    trigger: str | None
    path: str | None
    partition_by: tuple[str, ...]
    options: dict[str, str]


class Pipeline(NamedTuple):
    name: str
    directory: str
    checkpoint: str
    master: str | None
    spark: dict[str, str]
    sources: list[Source]
    steps: list[Step]
    sinks: list[Sink]


def read_pipeline(path: str) -> Pipeline:
    """PipelineError for what cannot be; OSError where the file cannot be read."""
    with open(path, "rb") as file:
        try:
            document = tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise PipelineError(f"{path} is not TOML: {error}") from None
    return _Reader(path).pipeline(document)


def at_brokers(pipeline: Pipeline, servers: str, properties: dict[str, str] | None = None) -> Pipeline:
    """The same pipeline with the topics of another cluster, whose clients take `properties` by Kafka's names."""
    given = {f"{KAFKA_PREFIX}{name}": value for name, value in (properties or {}).items()}
    given[BOOTSTRAP_SERVERS] = servers
    replaced = {name.lower() for name in given}

    def there(part: Part) -> Part:
        if part.format not in FORMATS_OF_TOPICS:
            return part
        others = {name: value for name, value in part.options.items() if name.lower() not in replaced}
        return part._replace(options={**others, **given})

    return pipeline._replace(
        sources=[there(source) for source in pipeline.sources], sinks=[there(sink) for sink in pipeline.sinks]
    )


class _Table:
    """A table of the file: every key is taken once, and what is left over is an error."""

    def __init__(self, place: str, table: Any) -> None:
        if not isinstance(table, dict):
            raise PipelineError(f"{place} must be a table, not {table!r}")
        self.place = place
        self._left = dict(table)

    def text(self, key: str, default: str | None = None) -> str | None:
        value = self._left.pop(key, default)
        if value is not None and not isinstance(value, str):
            raise PipelineError(f"{self.place}.{key} must be text, not {value!r}")
        return value

    def needed(self, key: str, remedy: str) -> str:
        value = self.text(key)
        if not value:
            raise PipelineError(f"{self.place}.{key} is missing: {remedy}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._left.pop(key, default)
        if not isinstance(value, bool):
            raise PipelineError(f"{self.place}.{key} must be true or false, not {value!r}")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        value = self._left.pop(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise PipelineError(f"{self.place}.{key} must be a name, or a list of names, not {value!r}")
        return tuple(found)

    def settings(self, key: str) -> dict[str, str]:
        """Values as Spark takes them: text."""
        table = self._left.pop(key, {})
        if not isinstance(table, dict):
            raise PipelineError(f"{self.place}.{key} must be a table, not {table!r}")
        return {name: _setting(f"{self.place}.{key}.{name}", value) for name, value in table.items()}

    def tables(self, key: str) -> dict[str, _Table]:
        table = _Table(f"{key}", self._left.pop(key, {}))
        return {name: _Table(f"{key}.{name}", value) for name, value in table._left.items()}

    def table(self, key: str) -> _Table | None:
        return _Table(f"{self.place}.{key}", self._left.pop(key)) if key in self._left else None

    def end(self) -> None:
        if self._left:
            where = self.place or "the file"
            raise PipelineError(f"{where} has {', '.join(map(repr, self._left))}, which nothing reads: misspelt?")


def _setting(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise PipelineError(f"{place} must be text, a number or true or false, not {value!r}; write JSON as text")


class _Reader:
    def __init__(self, path: str) -> None:
        self._directory = os.path.dirname(os.path.abspath(path))
        self._stem = os.path.splitext(os.path.basename(path))[0]
        self._names: set[str] = set()

    def pipeline(self, document: Mapping[str, Any]) -> Pipeline:
        top = _Table("", document)
        pipeline = Pipeline(
            name=top.text("name") or self._stem,
            directory=self._directory,
            checkpoint=self._beside(top.text("checkpoint") or f"{self._stem}-checkpoint"),
            master=top.text("master"),
            spark=top.settings("spark"),
            sources=[self._source(name, table) for name, table in top.tables("sources").items()],
            steps=[self._step(name, table) for name, table in top.tables("steps").items()],
            sinks=[self._sink(name, table) for name, table in top.tables("sinks").items()],
        )
        top.end()
        for kind, found in (("sources", pipeline.sources), ("sinks", pipeline.sinks)):
            if not found:
                raise PipelineError(f"the pipeline has no {kind}: add [{kind}.NAME]")
        return pipeline

    def _beside(self, path: str) -> str:
        """A path of the file is meant from where the file lies; anything with a scheme is Spark's."""
        return path if "://" in path else os.path.join(self._directory, path)

    def _source(self, name: str, table: _Table) -> Source:
        self._name(table.place, name)
        path = table.text("path")
        source = Source(
            name=name,
            format=table.needed("format", 'such as "kcli", "parquet" or "csv"'),
            is_stream=table.flag("stream", False),
            options=table.settings("options"),
            path=None if path is None else self._beside(path),
            schema=table.text("schema"),
            value=_value(table.table("value")),
            watermark=_watermark(table.table("watermark")),
        )
        table.end()
        return source

    def _step(self, name: str, table: _Table) -> Step:
        sql, python, inputs = table.text("sql"), table.text("python"), table.names("from")
        table.end()
        if (sql is None) == (python is None):
            raise PipelineError(f"{table.place} must have either sql or python")
        match = PYTHON_STEP.fullmatch(python) if python is not None else None
        if python is not None and match is None:
            raise PipelineError(f'{table.place}.python must be "module:function", not {python!r}')
        if match is not None and not inputs:
            raise PipelineError(f"{table.place}.from is missing: name what {python} is given")
        for one in inputs:
            self._known(f"{table.place}.from", one)
        self._name(table.place, name)
        return Step(name, sql, match["module"] if match else None, match["function"] if match else None, inputs)

    def _sink(self, name: str, table: _Table) -> Sink:
        path = table.text("path")
        sink = Sink(
            name=name,
            input=table.needed("from", "name a source or a step"),
            format=table.needed("format", 'such as "kcli", "parquet" or "console"'),
            mode=table.text("mode") or "append",
            trigger=table.text("trigger"),
            path=None if path is None else self._beside(path),
            partition_by=table.names("partition-by"),
            options=table.settings("options"),
        )
        table.end()
        self._known(f"{table.place}.from", sink.input)
        if sink.mode not in MODES:
            raise PipelineError(f"{table.place}.mode must be one of {', '.join(MODES)}, not {sink.mode!r}")
        if sink.trigger not in (None, AVAILABLE_NOW, ONCE) and not INTERVAL.fullmatch(sink.trigger or ""):
            raise PipelineError(
                f'{table.place}.trigger must be "{AVAILABLE_NOW}", "{ONCE}" or a time such as "10 seconds", not '
                f"{sink.trigger!r}"
            )
        return sink

    def _name(self, place: str, name: str) -> None:
        if not NAME.fullmatch(name):
            raise PipelineError(f"{place}: a name is used in SQL, and has letters, digits and _ alone")
        if name in self._names:
            raise PipelineError(f"{place}: another source or step is called {name}")
        self._names.add(name)

    def _known(self, place: str, name: str) -> None:
        if name not in self._names:
            raise PipelineError(
                f"{place}: there is no source or step {name} before it; there are {', '.join(sorted(self._names))}"
            )


def _value(table: _Table | None) -> Value | None:
    if table is None:
        return None
    value = Value(
        format=table.needed("format", f"one of {', '.join(VALUE_FORMATS)}"),
        schema=table.needed("schema", "the columns of the value, or a file that says them"),
        message=table.text("message"),
        keep=table.names("keep"),
    )
    table.end()
    if value.format not in VALUE_FORMATS:
        raise PipelineError(f"{table.place}.format must be one of {', '.join(VALUE_FORMATS)}, not {value.format!r}")
    if (value.message is not None) != (value.format == "protobuf"):
        raise PipelineError(f"{table.place}.message names the message of protobuf, and of nothing else")
    return value


def _watermark(table: _Table | None) -> Watermark | None:
    if table is None:
        return None
    found = Watermark(table.needed("column", "the event's time"), table.needed("delay", 'such as "10 minutes"'))
    table.end()
    return found
