"""Serializers of keys and values: `key.serializer` and `value.serializer`.

A serializer is a callable of the topic and the value, an object with Kafka's method `serialize(topic, value)`, or one
of Kafka's class names of simple serializers. None is not serialized: it is a null key or a tombstone.
"""

from __future__ import annotations

import struct

from kcore.config.definition import ConfigException

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Serializer = Callable[[str, Any], bytes]

PACKAGE = "org.apache.kafka.common.serialization."


def _string(topic: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"topic {topic}: StringSerializer needs a str, not a {type(value).__name__}")
    return value.encode()


def _bytes(topic: str, value: Any) -> bytes:
    return bytes(memoryview(value))


def _packed(form: str) -> Serializer:
    pack = struct.Struct(form).pack

    def serialize(topic: str, value: Any) -> bytes:
        return pack(value)

    return serialize


def _json(topic: str, value: Any) -> bytes:
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


NAMED: dict[str, Serializer | None] = {
    "bytes": None,
    "ByteArraySerializer": None,
    "BytesSerializer": _bytes,
    "string": _string,
    "StringSerializer": _string,
    "ShortSerializer": _packed(">h"),
    "IntegerSerializer": _packed(">i"),
    "LongSerializer": _packed(">q"),
    "FloatSerializer": _packed(">f"),
    "DoubleSerializer": _packed(">d"),
    "json": _json,
}


def serializer_of(name: str, given: Any) -> Serializer | None:
    """Return the configured serializer; None if bytes are sent unchanged."""
    if given is None:
        return None
    if isinstance(given, str):
        short = given.removeprefix(PACKAGE)
        if short not in NAMED:
            raise ConfigException(
                f"Invalid value {given} for configuration {name}: Class {given} could not be found. Use one of "
                f"{', '.join(NAMED)}, or a callable of the topic and the value"
            )
        return NAMED[short]
    made = given() if isinstance(given, type) else given
    method = getattr(made, "serialize", None)
    serialize: Serializer | None = method if callable(method) else made
    if not callable(serialize):
        raise ConfigException(f"Invalid value {given!r} for configuration {name}: it is not callable")
    return serialize
