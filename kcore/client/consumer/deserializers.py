"""Deserializers for keys and values: `key.deserializer` and `value.deserializer`.

A deserializer is a callable of topic and bytes, or an object with Kafka's method `deserialize(topic, data)`. Java's
class names of the simple ones are accepted, too. None (a null key, a tombstone) is never deserialized.
"""

from __future__ import annotations

import struct

from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Deserializer = Callable[[str, bytes], Any]

PACKAGE = "org.apache.kafka.common.serialization."


def _string(topic: str, data: bytes) -> str:
    return data.decode()


def _unpacked(form: str) -> Deserializer:
    packed = struct.Struct(form)

    def deserialize(topic: str, data: bytes) -> Any:
        if len(data) != packed.size:
            raise ValueError(f"topic {topic}: {len(data)} bytes instead of the {packed.size} of a number")
        return packed.unpack(data)[0]

    return deserialize


def _json(topic: str, data: bytes) -> Any:
    import json

    return json.loads(data)


NAMED: dict[str, Deserializer | None] = {
    "bytes": None,
    "ByteArrayDeserializer": None,
    "BytesDeserializer": None,
    "string": _string,
    "StringDeserializer": _string,
    "ShortDeserializer": _unpacked(">h"),
    "IntegerDeserializer": _unpacked(">i"),
    "LongDeserializer": _unpacked(">q"),
    "FloatDeserializer": _unpacked(">f"),
    "DoubleDeserializer": _unpacked(">d"),
    "json": _json,
}


def deserializer_of(name: str, given: Any) -> Deserializer | None:
    """Return the configured deserializer; None: leave bytes unchanged. Raises ConfigException if it is unknown."""
    if given is None:
        return None
    if isinstance(given, str):
        short = given.removeprefix(PACKAGE)
        if short not in NAMED:
            known = ", ".join(NAMED)
            raise ConfigException(f"Invalid value {given} for configuration {name}. Use one of {known}, or a callable")
        return NAMED[short]
    made = given() if isinstance(given, type) else given
    method: Deserializer | None = getattr(made, "deserialize", made)
    if not callable(method):
        raise ConfigException(f"Invalid value {given} for configuration {name}: it is not callable")
    return method
