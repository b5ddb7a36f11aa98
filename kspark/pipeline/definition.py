"""Reads a pipeline's TOML file and reports those mistakes that need neither Spark nor a cluster to find.

name = "flights"                                  # name of the Spark application
checkpoint = "checkpoints"                        # directory relative to the file; one subdirectory per sink
master = "local[*]"                               # or an existing cluster

[spark]                                           # session settings
"spark.sql.shuffle.partitions" = 4

[sources.flights]
format = "kcli"                                   # any Spark format
stream = true                                     # default: read once
options = { "kafka.bootstrap.servers" = "localhost:9092", subscribe = "flights", startingOffsets = "earliest" }
value = { format = "json", schema = "carrier string, dep_delay int" }      # json, avro, protobuf
watermark = { column = "timestamp", delay = "10 minutes" }

[steps.late]                                      # in order; each sees the sources and the earlier steps
sql = "select * from flights where dep_delay > 15"

[steps.marked]
python = "steps:mark"                             # a function of DataFrames, beside the file or on the Python path
from = "late"

[sinks.out]
from = "marked"
format = "parquet"
mode = "append"
trigger = "10 seconds"                            # or "available-now", "once"; default: without a pause
path = "out"
options = {}
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import NamedTuple

from kspark.options import KAFKA_PREFIX
from kspark.pipeline.findings import Findings, PipelineError, hint

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
# The formats of this package and of Spark's own connector.
FORMATS_OF_TOPICS = ("kcli", "kafka")
BOOTSTRAP_SERVERS = "kafka.bootstrap.servers"
INTERVAL = re.compile(r"\d+ (millisecond|second|minute|hour|day)s?")


class Value(NamedTuple):
    """How to parse a record's value.

    `schema` is Spark DDL (json), an Avro schema as JSON or a file with it (.avsc), or a file with Protobuf descriptors
    (protoc --descriptor_set_out), where `message` is the message's name.
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
    """Either SQL or a Python function. `inputs` are the arguments of the function."""

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
    """Read a pipeline. Raises PipelineError with all mistakes of the file, and OSError if it cannot be read."""
    findings = Findings()
    pipeline = declared(path, findings)
    findings.raise_mistakes()
    return pipeline


def declared(path: str, findings: Findings) -> Pipeline:
    """Read all parts of the file and add its mistakes to `findings`. Parts with mistakes are included.

    Raises PipelineError if the file is not TOML, and OSError if it cannot be read.
    """
    with open(path, "rb") as file:
        try:
            document = tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PipelineError(f"the file is not TOML: {error}") from None
    return _Reader(path, findings).pipeline(document)


def at_brokers(pipeline: Pipeline, servers: str, properties: dict[str, str] | None = None) -> Pipeline:
    """Return the pipeline with its topics in another cluster. `properties` are client settings without `kafka.`."""
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
    """A TOML table. Each method takes one key and returns its default after a mistake. `end` reports the rest."""

    def __init__(self, findings: Findings, place: str, table: Any) -> None:
        self.findings = findings
        self.place = place
        self._known: list[str] = []
        self._is_table = isinstance(table, dict)
        self._left: dict[str, Any] = dict(table) if self._is_table else {}
        if not self._is_table:
            findings.mistake(place, f"must be a table, not {table!r}")

    def mistake(self, key: str | None, text: str) -> None:
        """Report a mistake. Ignored if the value is not a table at all, which is already reported."""
        if self._is_table:
            self.findings.mistake(".".join(name for name in (self.place, key) if name), text)

    def text(self, key: str) -> str | None:
        value = self._take(key, None)
        if value is not None and not isinstance(value, str):
            self.mistake(key, f"must be text, not {value!r}")
            return None
        return value

    def needed(self, key: str, remedy: str) -> str:
        """Return a required text; empty after a mistake."""
        is_given = key in self._left
        value = self.text(key)
        if not value and (value is not None or not is_given):
            self.mistake(key, f"is missing: {remedy}")
        return value or ""

    def one_of(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.text(key) or default
        if value not in allowed:
            self.mistake(key, f"must be one of {', '.join(allowed)}, not {value!r}{hint(value, allowed)}")
            return default
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._take(key, default)
        if not isinstance(value, bool):
            self.mistake(key, f"must be true or false, not {value!r}")
            return default
        return value

    def names(self, key: str) -> tuple[str, ...]:
        value = self._take(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            self.mistake(key, f"must be a name, or a list of names, not {value!r}")
            return ()
        return tuple(found)

    def settings(self, key: str) -> dict[str, str]:
        """Return a table with all values as text, as Spark expects them."""
        table = self._take(key, {})
        if not isinstance(table, dict):
            self.mistake(key, f"must be a table, not {table!r}")
            return {}
        settings = {name: self._setting(f"{key}.{name}", value) for name, value in table.items()}
        return {name: value for name, value in settings.items() if value is not None}

    def _setting(self, key: str, value: Any) -> str | None:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (str, int, float)):
            return str(value)
        self.mistake(key, f"must be text, a number or true or false, not {value!r}; write JSON as text")
        return None

    def tables(self, key: str) -> dict[str, _Table]:
        table = _Table(self.findings, key, self._take(key, {}))
        return {name: _Table(self.findings, f"{key}.{name}", value) for name, value in table._left.items()}

    def table(self, key: str) -> _Table | None:
        value = self._take(key, None)
        return None if value is None else _Table(self.findings, f"{self.place}.{key}", value)

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._left.pop(key, default)

    def end(self) -> list[str]:
        """Report the keys that were not taken, and return them."""
        for key in self._left:
            near = hint(key, self._known)
            self.mistake(key, f"unknown key{near or '; valid keys: ' + ', '.join(self._known)}")
        return list(self._left)


class _Reader:
    def __init__(self, path: str, findings: Findings) -> None:
        self._directory = os.path.dirname(os.path.abspath(path))
        self._stem = os.path.splitext(os.path.basename(path))[0]
        self._findings = findings
        # Names of all sources and steps, and of those before the part that is being read.
        self._all_names: list[str] = []
        self._names: list[str] = []

    def pipeline(self, document: Mapping[str, Any]) -> Pipeline:
        top = _Table(self._findings, "", document)
        name, checkpoint, master, spark = (
            top.text("name") or self._stem,
            self._beside(top.text("checkpoint") or f"{self._stem}-checkpoint"),
            top.text("master"),
            top.settings("spark"),
        )
        sources, steps, sinks = (top.tables(kind) for kind in ("sources", "steps", "sinks"))
        self._all_names = [*sources, *steps]
        pipeline = Pipeline(
            name=name,
            directory=self._directory,
            checkpoint=checkpoint,
            master=master,
            spark=spark,
            sources=[self._source(name, table) for name, table in sources.items()],
            steps=[self._step(name, table) for name, table in steps.items()],
            sinks=[self._sink(name, table) for name, table in sinks.items()],
        )
        unknown = top.end()
        for kind, found in (("sources", sources), ("sinks", sinks)):
            if not found and not self._findings.has_mistake_in(kind) and not hint(kind, unknown):
                self._findings.mistake("", f"the pipeline has no {kind}: add [{kind}.NAME]")
        return pipeline

    def _beside(self, path: str) -> str:
        """Resolve a path relative to the directory of the file. Leave paths with a URL scheme to Spark."""
        return path if "://" in path else os.path.join(self._directory, path)

    def _source(self, name: str, table: _Table) -> Source:
        self._name(table, name)
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
        if (sql is None) == (python is None) and not self._findings.has_mistake_in(table.place):
            table.mistake(None, "must have either sql or python")
        match = PYTHON_STEP.fullmatch(python) if python is not None else None
        if python is not None and match is None:
            table.mistake("python", f'must be "module:function", not {python!r}')
        if match is not None and not inputs:
            table.mistake("from", f"is missing: name the inputs of {python}")
        for one in inputs:
            self._require_known(table, one)
        self._name(table, name)
        return Step(name, sql, match["module"] if match else None, match["function"] if match else None, inputs)

    def _sink(self, name: str, table: _Table) -> Sink:
        path = table.text("path")
        sink = Sink(
            name=name,
            input=table.needed("from", "name a source or a step"),
            format=table.needed("format", 'such as "kcli", "parquet" or "console"'),
            mode=table.one_of("mode", MODES, "append"),
            trigger=table.text("trigger"),
            path=None if path is None else self._beside(path),
            partition_by=table.names("partition-by"),
            options=table.settings("options"),
        )
        table.end()
        if sink.input:
            self._require_known(table, sink.input)
        if sink.trigger not in (None, AVAILABLE_NOW, ONCE) and not INTERVAL.fullmatch(sink.trigger or ""):
            table.mistake(
                "trigger", f'must be "{AVAILABLE_NOW}", "{ONCE}" or a time such as "10 seconds", not {sink.trigger!r}'
            )
        return sink

    def _name(self, table: _Table, name: str) -> None:
        if not NAME.fullmatch(name):
            table.mistake(None, "names are used in SQL: use only letters, digits and _")
        if name in self._names:
            table.mistake(None, f"another source or step has the name {name}; choose another name")
        self._names.append(name)

    def _require_known(self, table: _Table, name: str) -> None:
        """Report an input that is not defined before this part: parts run in the order of the file."""
        if name in self._names:
            return
        before = ", ".join(sorted(self._names)) or "none"
        if name in self._all_names:
            reason = f"{name} does not come before it; a step sees only the sources and the steps before it: {before}"
        else:
            reason = f"unknown source or step {name}{hint(name, self._names) or f'; defined: {before}'}"
        table.mistake("from", reason)


def _value(table: _Table | None) -> Value | None:
    if table is None:
        return None
    value = Value(
        format=table.needed("format", f"one of {', '.join(VALUE_FORMATS)}"),
        schema=table.needed("schema", "the columns of the value, or a file that has them"),
        message=table.text("message"),
        keep=table.names("keep"),
    )
    table.end()
    if value.format and value.format not in VALUE_FORMATS:
        near = hint(value.format, VALUE_FORMATS)
        table.mistake("format", f"must be one of {', '.join(VALUE_FORMATS)}, not {value.format!r}{near}")
    elif value.format and (value.message is not None) != (value.format == "protobuf"):
        table.mistake("message", "is for protobuf only; remove it")
    return value


def _watermark(table: _Table | None) -> Watermark | None:
    if table is None:
        return None
    found = Watermark(table.needed("column", "the event's time"), table.needed("delay", 'such as "10 minutes"'))
    table.end()
    return found
