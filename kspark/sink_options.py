"""Where rows go: the options of Spark's Kafka sink and the columns it takes, checked before anything is written."""

from __future__ import annotations

from typing import NamedTuple

from kspark.options import OptionError, Options
from kspark.source_options import SERVERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# What each column may be; without a value there is nothing to write.
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
    "transactional.id": "a task that is run again could not know what its first run has committed",
}


class SinkOptions(NamedTuple):
    client: dict[str, str]
    # For all rows; None: each says it.
    topic: str | None
    columns: tuple[str, ...]


def sink_options(given: dict[str, str], schema: StructType) -> SinkOptions:
    """OptionError for what cannot be."""
    options = Options(given)
    settings = options.of_client()
    if not settings.get(SERVERS):
        raise OptionError("kafka.bootstrap.servers must name the cluster, such as localhost:9092")
    for name, reason in KEPT_SETTINGS.items():
        if name in settings:
            raise OptionError(f"kafka.{name} is not for this sink: {reason}")
    topic = options.text("topic")
    columns = _columns(schema)
    if topic is None and "topic" not in columns:
        raise OptionError("topic must be given, as an option or as a column of the rows")
    return SinkOptions(settings, topic, columns)


def _columns(schema: StructType) -> tuple[str, ...]:
    columns = tuple(field.name for field in schema.fields if field.name in SINK_TYPES)
    if "value" not in columns:
        raise OptionError(f"the rows must have a column value, and have {', '.join(schema.fieldNames())}")
    for field in schema.fields:
        allowed = SINK_TYPES.get(field.name, ())
        if allowed and field.dataType.simpleString() not in allowed:
            raise OptionError(
                f"column {field.name} must be {' or '.join(allowed)}, not {field.dataType.simpleString()}: "
                f"cast it, or make JSON of it with to_json"
            )
    return columns
