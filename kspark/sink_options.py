"""Checks the options of a sink and the columns of its rows before anything is written. Follows Spark's Kafka sink."""

from __future__ import annotations

from typing import NamedTuple

from kspark.options import OptionError, Options, mistakes
from kspark.source_options import SERVERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

# All options except client settings (`kafka.*`). includeHeaders has no effect here, because a column `headers` is
# enough; Spark's Kafka sink requires it. Spark passes checkpointLocation for every stream.
SINK_OPTIONS = ("topic", "includeHeaders", "checkpointLocation")
# Allowed types of each column. Only the column value is required.
SINK_TYPES = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
KEPT_SETTINGS = {
    "key.serializer": "keys are written as the column has them",
    "value.serializer": "values are written as the column has them",
    "transactional.id": "a repeated task cannot know what its first run committed",
}


class SinkOptions(NamedTuple):
    client: dict[str, str]
    # Topic for all rows; None: each row has one.
    topic: str | None
    columns: tuple[str, ...]


def sink_options(given: dict[str, str], schema: StructType) -> SinkOptions:
    """Return the options. Raises OptionError if an option or a column is invalid."""
    options = Options(given)
    return SinkOptions(_client(options), _topic(options, schema), _columns(schema))


def option_mistakes(given: dict[str, str]) -> list[str]:
    """Return the messages of all errors in the options that do not depend on the rows."""
    return mistakes([lambda: _client(Options(given))])


def row_mistakes(given: dict[str, str], schema: StructType) -> list[str]:
    """Return the messages of all errors in the rows' columns for these options."""
    columns = (lambda field=field: _check_type(field) for field in schema.fields)
    return mistakes([lambda: _require_value(schema), lambda: _topic(Options(given), schema), *columns])


def _client(options: Options) -> dict[str, str]:
    settings = options.of_client()
    if not settings.get(SERVERS):
        raise OptionError("kafka.bootstrap.servers must name the cluster, such as localhost:9092")
    for name, reason in KEPT_SETTINGS.items():
        if name in settings:
            raise OptionError(f"kafka.{name} is not supported by this sink: {reason}")
    return settings


def _topic(options: Options, schema: StructType) -> str | None:
    topic = options.text("topic")
    if topic is None and "topic" not in schema.fieldNames():
        raise OptionError("topic must be given, as an option or as a column of the rows")
    return topic


def _columns(schema: StructType) -> tuple[str, ...]:
    _require_value(schema)
    for field in schema.fields:
        _check_type(field)
    return tuple(field.name for field in schema.fields if field.name in SINK_TYPES)


def _require_value(schema: StructType) -> None:
    if "value" not in schema.fieldNames():
        raise OptionError(f"the rows must have a column value; their columns are {', '.join(schema.fieldNames())}")


def _check_type(field: StructField) -> None:
    allowed = SINK_TYPES.get(field.name, ())
    if allowed and field.dataType.simpleString() not in allowed:
        raise OptionError(
            f"column {field.name} must be {' or '.join(allowed)}, not {field.dataType.simpleString()}: "
            f"cast it, or make JSON of it with to_json"
        )
