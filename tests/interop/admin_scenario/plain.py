"""Results of clients as plain values (what JSON knows), and without what no two brokers have in common.

`plain` takes whatever a client's call gives: futures are awaited, errors become their name and message, objects their
public attributes. `Normaliser` then replaces what belongs to one broker alone: its port, its directory, its ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import Future
from enum import Enum
from typing import Any
from uuid import UUID as UUID_TYPE

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from kcore import uuid
from kcore.protocol import apis

TIMEOUT_S = 30
NO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
PYTHON_UUID_LENGTH = 36
# As Kafka writes them, and as Python does.
UUID = re.compile(r"(?<![\w-])([\w-]{21}[AQgw]|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![\w-])")
# Measured at that moment.
DISK_SPACE = ("total_bytes", "usable_bytes")
# What names an item of a list: brokers give such lists in the order of a hash table.
NAMES = ("name", "user", "topic", "partition_index", "partition", "group_id", "topic_id")


def plain(value: Any) -> Any:
    """Anything that a client gives, as strings, numbers, lists and dicts with sorted keys."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.name if isinstance(value, Enum) else value
    if isinstance(value, bytes | bytearray | memoryview):
        return uuid.to_text(bytes(value)) if len(value) == uuid.SIZE else bytes(value).hex()
    if isinstance(value, Future):
        return plain(outcome(value))
    if isinstance(value, BaseException):
        return failure(value)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, KafkaError):
        return {"error": value.name(), "message": value.str()}
    if isinstance(value, TopicPartition):
        return {"partition": f"{value.topic}-{value.partition}", "offset": value.offset, "error": plain(value.error)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, UUID_TYPE):
        return str(value)
    if isinstance(value, Mapping):
        return dict(sorted((name_of(key), plain(item)) for key, item in value.items()))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return plain(attributes(value))


def name_of(key: Any) -> str:
    """The key of a result, as text."""
    if isinstance(key, str):
        return key
    if isinstance(key, TopicPartition) or (hasattr(key, "topic") and hasattr(key, "partition")):
        return f"{key.topic}-{key.partition}"
    if isinstance(key, Enum):
        return key.name
    return str(key)


def attributes(value: Any) -> dict[str, Any]:
    """What an object says of itself under public names."""
    if hasattr(value, "to_dict"):
        return dict(value.to_dict())
    if not hasattr(value, "__dict__"):
        raise TypeError(f"no way to show a {type(value)}")
    return {name: item for name, item in vars(value).items() if not name.startswith("_")}


def outcome(future: Future[Any]) -> Any:
    try:
        return future.result(TIMEOUT_S)
    except Exception as error:
        return error


def failure(error: BaseException) -> dict[str, Any]:
    """An error by the name under which clients know it, and its message."""
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return {"error": error.args[0].name(), "message": error.args[0].str()}
    return {"error": type(error).__name__, "message": str(error)}


class Normaliser:
    """Replaces what belongs to one broker alone in a plain value; `topic_names` has the topics' names by their ids."""

    def __init__(self, port: int, directory: str, topic_names: Mapping[str, str]) -> None:
        self.port = port
        self.texts = ((f"127.0.0.1:{port}", "<broker>"), (directory, "<directory>"))
        self.topic_names = topic_names

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {self._text(key): self._field(key, item) for key, item in value.items()}
        if isinstance(value, list):
            return in_order([self(item) for item in value])
        return value

    def _field(self, name: str, value: Any) -> Any:
        if name == "port" and value == self.port:
            return "<port>"
        if name in DISK_SPACE and value > 0:
            return "<bytes>"
        plain = self(value)
        # One that no topic has, or that a topic only would have got.
        return "<uuid>" if name == "topic_id" and plain not in (None, NO_UUID) and UUID.fullmatch(plain) else plain

    def _text(self, text: str) -> str:
        for found, put in self.texts:
            text = text.replace(found, put)
        return UUID.sub(self._id, text)

    def _id(self, found: re.Match[str]) -> str:
        text = found[0]
        if "-" in text and len(text) == PYTHON_UUID_LENGTH:
            text = uuid.to_text(UUID_TYPE(text).bytes)
        name = self.topic_names.get(text)
        return text if name is None else f"<id of {name}>"


def in_order(items: list[Any]) -> Any:
    """A list of named items by their names; any other as it is. APIs stand under their names."""
    if items and all(isinstance(item, dict) and "api_key" in item for item in items):
        return {api_name(item["api_key"]): item for item in items}
    for name in NAMES:
        if items and all(isinstance(item, dict) and item.get(name) is not None for item in items):
            return sorted(items, key=lambda item: (item[name], repr(item)))
    if items and all(isinstance(item, list) and item and isinstance(item[0], str) for item in items):
        return sorted(items, key=repr)
    return items


def api_name(key: int) -> str:
    return apis.BY_KEY[key].name if key in apis.BY_KEY else f"key {key}"
