"""Messages as Python objects: one class per structure of a schema, with a slot for each field of any version."""

from __future__ import annotations

from _thread import allocate_lock

from kcore.protocol.notation import Field, Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

_CLASS_LOCK = allocate_lock()


class Message:
    """The base class of all messages. Fields are attributes. A field that a version lacks has its default.

    `unknown_tags` holds the raw bytes of unknown tagged fields, by tag; encoding writes them again. The codec fills the
    slots directly, without `__init__`.
    """

    __slots__ = ("_unknown_tags",)
    _struct: ClassVar[Struct]
    _unknown_tags: dict[int, bytes] | None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, **fields: object) -> None:
        self._unknown_tags = fields.pop("unknown_tags", None)  # type: ignore[assignment]
        for field in self._struct.fields:
            setattr(self, field.name, fields.pop(field.name) if field.name in fields else new_default(field))
        if fields:
            raise TypeError(f"{self._struct.name} has no field {', '.join(map(repr, fields))}")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @property
    def unknown_tags(self) -> dict[int, bytes]:
        if self._unknown_tags is None:
            self._unknown_tags = {}
        return self._unknown_tags

    @unknown_tags.setter
    def unknown_tags(self, tags: dict[int, bytes] | None) -> None:
        self._unknown_tags = tags

    def to_dict(self) -> dict[str, Any]:
        """The fields by name. Nested messages become dicts too."""
        fields = {field.name: _plain(getattr(self, field.name)) for field in self._struct.fields}
        if self._unknown_tags:
            fields["unknown_tags"] = dict(self._unknown_tags)
        return fields

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        if (self._unknown_tags or None) != (other._unknown_tags or None):
            return False
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self._struct.fields)

    def __repr__(self) -> str:
        """Shows only the fields that differ from their default."""
        values = [(field.name, getattr(self, field.name), new_default(field)) for field in self._struct.fields]
        shown = [f"{name}={value!r}" for name, value, default in values if value != default]
        if self._unknown_tags:
            shown.append(f"unknown_tags={self._unknown_tags!r}")
        return f"{self._struct.name}({', '.join(shown)})"


def _plain(value: object) -> object:
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def message_class(struct: Struct) -> type[Message]:
    """The class of a structure's messages, created once. The codec identifies messages by it."""
    with _CLASS_LOCK:
        if struct.message_class is None:
            slots = tuple(field.name for field in struct.fields)
            attributes = {"__slots__": slots, "_struct": struct, "__qualname__": struct.name, "__module__": __name__}
            struct.message_class = type(struct.name.rpartition(".")[2], (Message,), attributes)
        return struct.message_class


def new_default(field: Field) -> object:
    """The default value of a field in a new message."""
    if not field.has_fresh_default:
        return field.default
    return [] if field.is_array else message_class(field.struct)() if field.struct else None
