"""Values for the fields of any message, made from its schema: empty, null, smallest, largest, random, tagged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from kcore import errors
from kcore.protocol import apis, records
from kcore.protocol.codec import MessageType
from kcore.protocol.notation import Field, Struct, includes

FLAVOURS = ("empty", "null", "smallest", "largest", "random", "tags")

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
ALPHABET = "abcXYZ019._-äß€日𝄞"
# Above every tag that a schema has; the larger takes a varint of three bytes.
UNKNOWN_TAGS = {40: b"", 100_000: b"a tag from the future"}


class Sampler:
    """Makes one dictionary of fields after another."""

    def __init__(self, flavour: str, seed: object = 0, *, real_error_codes: bool = False) -> None:
        self.flavour = flavour
        self.random = random.Random(f"{flavour} {seed}")
        self.real_error_codes = real_error_codes

    def struct(self, struct: Struct, version: int, flexible: bool) -> dict[str, Any]:
        """Every field that the version has."""
        fields = {
            field.name: self.field(field, version, flexible)
            for field in struct.fields
            if includes(field.versions, version)
        }
        if flexible and self.flavour == "tags":
            fields["unknown_tags"] = UNKNOWN_TAGS
        return fields

    def field(self, field: Field, version: int, flexible: bool) -> Any:
        nullable = includes(field.nullable, version)
        if nullable and (self.flavour == "null" or (self.flavour in ("random", "tags") and self.random.random() < 0.2)):
            return None
        if not field.is_array:
            return self.value(field, version, flexible)
        lengths = {"empty": 0, "null": 1, "smallest": 1, "largest": 3}
        length = lengths.get(self.flavour, self.random.choice((0, 1, 2, 5)))
        return [self.value(field, version, flexible) for _ in range(length)]

    def value(self, field: Field, version: int, flexible: bool) -> Any:
        kind = field.element
        if field.struct is not None:
            return self.struct(field.struct, version, flexible)
        if kind in RANGES:
            return self.integer(field)
        if kind == "bool":
            return self.flavour == "largest" or (self.flavour in ("random", "tags") and self.random.random() < 0.5)
        if kind == "float64":
            return {"largest": 1.7976931348623157e308, "smallest": 5e-324}.get(self.flavour, self.random.uniform(-9, 9))
        if kind == "uuid":
            return {"empty": bytes(16), "largest": b"\xff" * 16}.get(self.flavour) or self.random.randbytes(16)
        size = {"empty": 0, "smallest": 1, "largest": 20_000}.get(
            self.flavour, self.random.choice((0, 3, 126, 127, 300))
        )
        if kind == "string":
            return "".join(self.random.choices(ALPHABET, k=min(size, 8_000)))
        return self.random.randbytes(size)

    def integer(self, field: Field) -> int:
        low, high = RANGES[field.element]
        if self.real_error_codes and field.name.endswith("error_code"):
            low, high = -1, len(errors.TABLE) - 2
        if self.flavour == "smallest":
            return low
        if self.flavour == "largest":
            return high
        return 0 if self.flavour == "empty" else self.random.choice((self.random.randint(low, high), 0, 1, high))


def message_types() -> Iterator[MessageType]:
    """Requests and responses of all APIs, headers apart, and what is kept in records."""
    for api in apis.BY_KEY.values():
        yield api.request
        yield api.response
    for record_type in tuple(vars(records).values()):
        if isinstance(record_type, records.VersionedType):
            yield record_type.message_type


def versions_of(message_type: MessageType) -> range:
    return range(message_type.oldest_version, message_type.latest_version + 1)


def sample(
    message_type: MessageType, version: int, flavour: str, *, seed: object = 0, real_error_codes: bool = False
) -> dict[str, Any]:
    """The fields of one message; the same arguments give the same fields."""
    sampler = Sampler(flavour, f"{message_type.name} {version} {seed}", real_error_codes=real_error_codes)
    return sampler.struct(message_type.struct, version, version >= message_type.first_flexible)
