"""Records as lines, as kafka-console-consumer prints them (DefaultMessageFormatter), or as JSON objects.

[CreateTime:N] [Partition:N] [Offset:N] [headers] [key] [value]       with `key.separator` between the parts
"""

from __future__ import annotations

from kcli.failures import UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.client.fetched_records import FetchedRecords
    from kcore.record.decoder import Record

FORMATTER_FLAGS = (
    "print.timestamp",
    "print.partition",
    "print.offset",
    "print.headers",
    "print.key",
    "print.value",
)
FORMATTER_TEXTS = ("key.separator", "line.separator", "headers.separator", "null.literal")


class RecordFormatter:
    def __init__(self, properties: dict[str, str]) -> None:
        for name, value in properties.items():
            if name not in FORMATTER_FLAGS + FORMATTER_TEXTS:
                raise UsageFailure(f"--property {name}: must be one of {', '.join(FORMATTER_FLAGS + FORMATTER_TEXTS)}")
            if name in FORMATTER_FLAGS and value.lower() not in ("true", "false"):
                raise UsageFailure(f"--property {name}={value}: must be true or false")
        flags = {name: properties.get(name, "false").lower() == "true" for name in FORMATTER_FLAGS}
        self._timestamp = flags["print.timestamp"]
        self._partition = flags["print.partition"]
        self._offset = flags["print.offset"]
        self._headers = flags["print.headers"]
        self._key = flags["print.key"]
        self._value = properties.get("print.value", "true").lower() == "true"
        self._separator = properties.get("key.separator", "\t").encode()
        self._line_separator = properties.get("line.separator", "\n").encode()
        self._headers_separator = properties.get("headers.separator", ",").encode()
        self._null = properties.get("null.literal", "null").encode()
        self._only_value = self._value and not any(
            (self._timestamp, self._partition, self._offset, self._headers, self._key)
        )

    def lines(self, fetched: FetchedRecords, records: list[Record]) -> bytes:
        """The given records of what was fetched, each with its line's end."""
        if self._only_value:
            end, null = self._line_separator, self._null
            return b"".join([(null if record.value is None else record.value) + end for record in records])
        return b"".join([self._line(fetched, record) for record in records])

    def _line(self, fetched: FetchedRecords, record: Record) -> bytes:
        parts = []
        if self._timestamp:
            parts.append(self._timestamp_of(fetched, record))
        if self._partition:
            parts.append(b"Partition:%d" % fetched.partition.partition)
        if self._offset:
            parts.append(b"Offset:%d" % record.offset)
        if self._headers:
            parts.append(self._headers_of(record))
        if self._key:
            parts.append(self._null if record.key is None else record.key)
        if self._value:
            parts.append(self._null if record.value is None else record.value)
        return self._separator.join(parts) + self._line_separator

    def _timestamp_of(self, fetched: FetchedRecords, record: Record) -> bytes:
        if record.timestamp < 0:
            return b"NO_TIMESTAMP"
        return b"%s:%d" % (fetched.timestamp_type.encode(), record.timestamp)

    def _headers_of(self, record: Record) -> bytes:
        headers = record.headers
        if not headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            name.encode("utf-8", "surrogateescape") + b":" + (self._null if value is None else value)
            for name, value in headers
        )


def record_object(fetched: FetchedRecords, record: Record) -> dict[str, Any]:
    """The record under stable keys; headers stay in order and may repeat."""
    return {
        "topic": fetched.partition.topic,
        "partition": fetched.partition.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": fetched.timestamp_type,
        "key": record.key,
        "value": record.value,
        "headers": record.headers,
    }
