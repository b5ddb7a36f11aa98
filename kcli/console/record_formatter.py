"""Records in the format of kafka-console-consumer (DefaultMessageFormatter), or in a format of the user.

    [CreateTime:N] [Partition:N] [Offset:N] [Delivery:N] [Epoch:N] [headers] [key] [value]

`key.separator` separates the parts, and `line.separator` ends the record. If no part is requested, nothing is printed.
A deserializer turns keys or values into text; null is never deserialized.
"""

from __future__ import annotations

from kcli.failures import UsageFailure
from kcore.client.consumer.deserializers import deserializer_of
from kcore.client.consumer.record_text import RecordText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcore.client.consumer.consumer_record import ConsumerRecord
    from kcore.client.consumer.record_columns import RecordColumns

FLAGS = (
    "print.timestamp",
    "print.partition",
    "print.offset",
    "print.delivery",
    "print.epoch",
    "print.headers",
    "print.key",
    "print.value",
)
TEXTS = ("key.separator", "line.separator", "headers.separator", "null.literal")
DESERIALIZERS = ("key.deserializer", "value.deserializer", "headers.deserializer")
PARTS: dict[str, list[bytes | str]] = {
    "print.timestamp": ["stamp"],
    "print.partition": [b"Partition:", "partition"],
    "print.offset": [b"Offset:", "offset"],
    # Only share groups have delivery counts.
    "print.delivery": [b"Delivery:NOT_PRESENT"],
    "print.epoch": [b"Epoch:", "epoch"],
    "print.headers": ["headers"],
    "print.key": ["key"],
    "print.value": ["value"],
}
DEFAULT_CLASSES = ("org.apache.kafka.tools.consumer.DefaultMessageFormatter", "kafka.tools.DefaultMessageFormatter")
NO_OP_CLASSES = ("org.apache.kafka.tools.consumer.NoOpMessageFormatter", "kafka.tools.NoOpMessageFormatter")


class TextFormatter:
    """Formats records by a template. `of_columns` works without an object per record, where that is possible."""

    def __init__(
        self,
        text: RecordText,
        deserialize_key: Callable[[str, bytes], Any] | None = None,
        deserialize_value: Callable[[str, bytes], Any] | None = None,
    ) -> None:
        self._text = text
        self._deserialize_key = deserialize_key
        self._deserialize_value = deserialize_value
        self.needs_headers = text.needs_headers
        has_objects = text.needs_epoch or deserialize_key is not None or deserialize_value is not None
        self.of_columns: Callable[[RecordColumns, int, int], bytes] | None = None if has_objects else text.of_columns

    def of_records(self, records: list[ConsumerRecord]) -> bytes:
        """Raises ValueError if a deserializer cannot read a key or a value."""
        if self._deserialize_key is not None or self._deserialize_value is not None:
            records = [self._deserialized(record) for record in records]
        return self._text.of_records(records)

    def _deserialized(self, record: ConsumerRecord) -> ConsumerRecord:
        key = _printed(record.topic, record.key, self._deserialize_key)
        return record.with_contents(key, _printed(record.topic, record.value, self._deserialize_value))


def _printed(topic: str, data: bytes | None, deserialize: Callable[[str, bytes], Any] | None) -> bytes | None:
    if data is None or deserialize is None:
        return data
    return str(deserialize(topic, data)).encode("utf-8", "surrogatepass")


def formatter_of(properties: dict[str, str], parts: list[bytes | str] | None = None) -> TextFormatter:
    """The formatter for the properties. `parts` are those of a format; without them, Kafka's parts are printed."""
    _refuse_unknown(properties)
    null = properties.get("null.literal", "null" if parts is None else "").encode()
    between_headers = _text(properties, "headers.separator", ",")
    if parts is not None:
        text = RecordText(parts, null=null, header_separator=between_headers, header_key_separator=b"=")
    else:
        default = _default_parts(properties)
        text = RecordText(default, null=null, header_separator=between_headers, no_headers=b"NO_HEADERS")
    if _deserializer(properties, "headers.deserializer") not in (None, deserializer_of("", "string")):
        raise UsageFailure(
            "headers.deserializer: only StringDeserializer is supported. Header values are printed as text: remove it"
        )
    return TextFormatter(
        text, _deserializer(properties, "key.deserializer"), _deserializer(properties, "value.deserializer")
    )


def _refuse_unknown(properties: dict[str, str]) -> None:
    """Properties of a deserializer itself are accepted."""
    known = FLAGS + TEXTS + DESERIALIZERS
    for name in properties:
        if name not in known and not name.startswith(tuple(f"{key}." for key in DESERIALIZERS)):
            raise UsageFailure(f"--property {name}: unknown property. Valid properties: {', '.join(known)}")


def _default_parts(properties: dict[str, str]) -> list[bytes | str]:
    separator = _text(properties, "key.separator", "\t")
    parts: list[bytes | str] = []
    for name in FLAGS:
        if properties.get(name, str(name == "print.value")).strip().lower() == "true":
            parts += [separator, *PARTS[name]] if parts else PARTS[name]
    return [*parts, _text(properties, "line.separator", "\n")] if parts else []


def _text(properties: dict[str, str], name: str, default: str) -> bytes:
    return properties.get(name, default).encode("utf-8", "surrogateescape")


def _deserializer(properties: dict[str, str], name: str) -> Callable[[str, bytes], Any] | None:
    return deserializer_of(name, properties.get(name) or None)
