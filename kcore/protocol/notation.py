"""The notation of schemas: one definition of a message for all its versions.

A line is a field: its name, type and versions, then optional attributes. Indented lines are the fields of a structure.
A structure that is used twice is defined once, before the fields.

    define Partition
        index              int32        0+

    throttle_time_ms       int32        3+    ignorable
    topics                 []           0+    nullable=1+
        name               string       0-12
        topic_id           uuid         13+
        partitions         []Partition  0+
    cluster_id             string       12+   nullable tag=0 default=null

Types: bool, int8, int16, uint16, int32, uint32, int64, float64, string, bytes, records, uuid; `struct` (of the
indented lines) or a defined name. `[]` before a type makes an array; `[]` alone is an array of the indented lines.

    nullable[=VERSIONS]      null is allowed, in all versions of the field or in these
    tag=N [tagged=VERSIONS]  a tagged field (KIP-482), in all versions of the field or in these
    default=VALUE            the default; otherwise zero, "", an empty array, null for records
    ignorable                a version that lacks the field drops its value; otherwise such a value is an error
    inflexible               keeps the old two-byte length in flexible versions

Versions are `3`, `3+` or `3-5`. Everything has the meaning that it has in Kafka's message definitions.
"""

from __future__ import annotations

NEWEST = 32767
NO_VERSION = (1, 0)
INTEGERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")
ZEROS: dict[str, object] = {
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": bytes(16),
}
ZEROS |= dict.fromkeys(INTEGERS, 0)


class SchemaError(ValueError):
    """A schema that does not follow the notation."""


class Struct:
    """A named list of fields. `message.message_class` sets `message_class` on first use."""

    __slots__ = ("fields", "message_class", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: list[Field] = []
        self.message_class: type | None = None


class Field:
    """One field. `element` is its type without `[]`. A range of versions is a pair, both ends inclusive.

    All messages share `default`. If each needs its own empty list or structure, `has_fresh_default` is set instead.
    """

    __slots__ = (
        "default",
        "element",
        "has_fresh_default",
        "ignorable",
        "inflexible",
        "is_array",
        "name",
        "nullable",
        "struct",
        "tag",
        "tagged",
        "versions",
    )

    def __init__(self, name: str, field_type: str, versions: tuple[int, int]) -> None:
        self.name = name
        self.is_array = field_type.startswith("[]")
        self.element = field_type.removeprefix("[]") or "struct"
        self.versions = versions
        self.nullable = NO_VERSION
        self.tag = -1
        self.tagged = NO_VERSION
        self.struct: Struct | None = None
        self.has_fresh_default = self.is_array or self.element not in ZEROS
        self.default = None if self.has_fresh_default else ZEROS[self.element]
        self.ignorable = False
        self.inflexible = False


def includes(versions: tuple[int, int], version: int) -> bool:
    return versions[0] <= version <= versions[1]


def parse_versions(text: str) -> tuple[int, int]:
    """Parses `3`, `3+` and `3-5` to (3, 3), (3, NEWEST) and (3, 5)."""
    low, dash, high = text.partition("-")
    try:
        if text.endswith("+"):
            return int(text[:-1]), NEWEST
        return int(low), int(high if dash else low)
    except ValueError:
        raise SchemaError(f"{text!r} is no range of versions") from None


def parse_schema(name: str, text: str) -> Struct:
    """Parses a schema. Nested structures are named after their path. Raises SchemaError."""
    root = Struct(name)
    defined: dict[str, Struct] = {}
    enclosing = [root]
    for line in text.splitlines():
        if not line.strip():
            continue
        words = line.split()
        depth, odd = divmod(len(line) - len(line.lstrip()), 4)
        if odd or depth >= len(enclosing):
            raise SchemaError(f"{name}: wrong indentation of {line!r}")
        del enclosing[depth + 1 :]
        if words[0] == "define":
            struct = defined[words[1]] = Struct(words[1])
            enclosing.append(struct)
            continue
        field = _parse_field(words, enclosing[depth].name, defined)
        enclosing[depth].fields.append(field)
        if field.struct is not None and not field.struct.fields:
            enclosing.append(field.struct)
    return root


def _parse_field(words: list[str], parent: str, defined: dict[str, Struct]) -> Field:
    if len(words) < 3:
        raise SchemaError(f"{parent}: a field needs a name, a type and versions: {' '.join(words)!r}")
    field = Field(words[0], words[1], parse_versions(words[2]))
    if field.element == "struct":
        field.struct = Struct(f"{parent}.{field.name}")
    elif field.element not in ZEROS:
        if field.element not in defined:
            raise SchemaError(f"{parent}.{field.name}: unknown type {field.element!r}")
        field.struct = defined[field.element]
    for word in words[3:]:
        _apply_attribute(field, word)
    if field.tag >= 0 and field.tagged == NO_VERSION:
        field.tagged = field.versions
    return field


def _apply_attribute(field: Field, word: str) -> None:
    key, _, value = word.partition("=")
    if key == "nullable":
        field.nullable = parse_versions(value) if value else field.versions
    elif key == "tag":
        field.tag = int(value)
    elif key == "tagged":
        field.tagged = parse_versions(value)
    elif key == "default":
        field.default, field.has_fresh_default = _parse_default(field, value), False
    elif word in ("ignorable", "inflexible"):
        setattr(field, word, True)
    else:
        raise SchemaError(f"{field.name}: unknown attribute {word!r}")


def _parse_default(field: Field, value: str) -> object:
    if value == "null":
        return None
    if field.is_array or field.element not in (*INTEGERS, "bool", "float64", "string"):
        raise SchemaError(f"{field.name}: a {field.element} has no default {value!r}")
    if field.element == "string":
        return value
    if field.element == "bool":
        return {"true": True, "false": False}[value]
    return float(value) if field.element == "float64" else int(value)
