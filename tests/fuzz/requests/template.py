"""One valid request as a list of tokens, with the position of every field.

A token is the encoding of one value, length, count, null marker or tag. A mutation replaces tokens and never moves
them: a removed token becomes empty bytes, a repeated element is appended to its last token. So positions stay valid
over several mutations, and a request is the join of its tokens. The wire's grammar is in kcore/protocol/decoder.pyx.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from kcore.protocol.apis import Api
from kcore.protocol.notation import Field, Struct, includes
from tests.fuzz.grammar import BITS
from tests.fuzz.mutation import unsigned_varint
from tests.fuzz.requests.vocabulary import Chooser

NULL_STRUCT, PRESENT_STRUCT = b"\xff", b"\x01"
INTEGERS = frozenset(BITS)


@dataclass(frozen=True)
class Node:
    """A field's place: its tokens are `start` to `end`, the first is its length or count where it has one."""

    path: str
    kind: str
    start: int
    end: int
    compact: bool = False
    nullable: bool = False
    elements: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True)
class TaggedField:
    """A size token that must be the size of the tokens from `start` to `end`."""

    size_at: int
    start: int
    end: int


@dataclass
class Template:
    """`nodes` are what can be mutated. The header is part of it, the frame's length is not."""

    api: Api
    version: int
    tokens: list[bytes] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    tagged: list[TaggedField] = field(default_factory=list)
    correlation_at: int = 0
    body_nodes_from: int = 0


def encoded_length(kind: str, size: int, compact: bool) -> bytes:
    """The length or count of a value; -1 is null."""
    if compact:
        return unsigned_varint((size + 1) & 0xFFFFFFFF)
    if kind == "string":
        return (size & 0xFFFF).to_bytes(2, "big")
    return (size & 0xFFFFFFFF).to_bytes(4, "big")


def encoded_integer(value: int, kind: str) -> bytes:
    bits = BITS[kind]
    return (value & ((1 << bits) - 1)).to_bytes(bits // 8, "big")


class TemplateWriter:
    """Writes one template; `chooser` has the values."""

    def __init__(self, api: Api, version: int, chooser: Chooser, client_id: str) -> None:
        self.template = Template(api, version)
        self.tokens = self.template.tokens
        self.version = version
        self.flexible = version >= api.first_flexible
        self.chooser = chooser
        self.header(api, client_id)
        self.struct(api.request.struct, "")

    def header(self, api: Api, client_id: str) -> None:
        self.integer("header.api_key", "int16", api.key)
        self.integer("header.api_version", "int16", self.version)
        self.template.correlation_at = len(self.tokens)
        self.tokens.append(bytes(4))
        self.bytes_of("header.client_id", "string", client_id.encode(), compact=False, nullable=True)
        if api.request_header_version(self.version) == 2:
            self.tagged_fields([], "header.")
        self.template.body_nodes_from = len(self.template.nodes)

    def struct(self, struct: Struct, path: str) -> None:
        self.chooser.enter(path)
        there = [field for field in struct.fields if includes(field.versions, self.version)]
        for each in there:
            if not includes(each.tagged, self.version):
                self.field(each, path + each.name)
        if self.flexible:
            self.tagged_fields([each for each in there if includes(each.tagged, self.version)], path)

    def tagged_fields(self, fields: list[Field], path: str) -> None:
        start = len(self.tokens)
        chosen = sorted((each for each in fields if self.chooser.is_tagged_present(each)), key=lambda each: each.tag)
        self.tokens.append(unsigned_varint(len(chosen)))
        elements = []
        for each in chosen:
            first = len(self.tokens)
            self.tokens += [unsigned_varint(each.tag), b""]
            self.field(each, path + each.name)
            end = len(self.tokens)
            self.tokens[first + 1] = unsigned_varint(sum(map(len, self.tokens[first + 2 : end])))
            self.template.tagged.append(TaggedField(first + 1, first + 2, end))
            elements.append((first, end))
        # A place of their own for tags that are added.
        self.tokens.append(b"")
        self.node(path + "tags", "tags", start, elements=elements)

    def field(self, field: Field, path: str) -> None:
        compact = self.flexible and not field.inflexible
        nullable = includes(field.nullable, self.version)
        start = len(self.tokens)
        if field.is_array:
            self.array(field, path, compact, nullable)
        elif field.struct is not None:
            self.nullable_struct(field, path, nullable)
        else:
            self.scalar(field, path, start, compact, nullable)

    def nullable_struct(self, field: Field, path: str, nullable: bool) -> None:
        assert field.struct is not None
        if not nullable:
            self.struct(field.struct, path + ".")
            return
        start = len(self.tokens)
        if self.chooser.is_null(path):
            self.tokens.append(NULL_STRUCT)
        else:
            self.tokens.append(PRESENT_STRUCT)
            self.struct(field.struct, path + ".")
        self.node(path, "struct", start, nullable=True)

    def array(self, field: Field, path: str, compact: bool, nullable: bool) -> None:
        start = len(self.tokens)
        count = -1 if nullable and self.chooser.is_null(path) else self.chooser.count(path)
        self.tokens.append(encoded_length("array", count, compact))
        elements = []
        for index in range(count):
            first = len(self.tokens)
            self.chooser.element(path, index)
            if field.struct is not None:
                self.struct(field.struct, path + ".")
            else:
                self.scalar(field, path, first, compact, nullable=False)
            elements.append((first, len(self.tokens)))
        self.node(path, "array", start, compact=compact, nullable=nullable, elements=elements)

    def scalar(self, field: Field, path: str, start: int, compact: bool, nullable: bool) -> None:
        kind = field.element
        if kind in INTEGERS:
            self.integer(path, kind, self.chooser.integer(path, field))
        elif kind == "bool":
            self.tokens.append(b"\x01" if self.chooser.boolean(path) else b"\x00")
            self.node(path, kind, start)
        elif kind == "float64":
            self.tokens.append(struct.pack(">d", self.chooser.float(path)))
            self.node(path, kind, start)
        elif kind == "uuid":
            self.tokens.append(self.chooser.uuid(path))
            self.node(path, kind, start)
        else:
            value = self.chooser.text(path) if kind == "string" else self.chooser.data(path)
            self.bytes_of(path, kind, value if value is not None or nullable else b"", compact, nullable)

    def integer(self, path: str, kind: str, value: int) -> None:
        self.tokens.append(encoded_integer(value, kind))
        self.node(path, kind, len(self.tokens) - 1)

    def bytes_of(self, path: str, kind: str, value: bytes | None, compact: bool, nullable: bool) -> None:
        start = len(self.tokens)
        self.tokens += [encoded_length(kind, -1 if value is None else len(value), compact), value or b""]
        self.node(path, kind, start, compact=compact, nullable=nullable)

    def node(
        self,
        path: str,
        kind: str,
        start: int,
        *,
        compact: bool = False,
        nullable: bool = False,
        elements: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.template.nodes.append(Node(path, kind, start, len(self.tokens), compact, nullable, elements))


def write_template(api: Api, version: int, chooser: Chooser, client_id: str) -> Template:
    """One valid request of the version."""
    return TemplateWriter(api, version, chooser, client_id).template
