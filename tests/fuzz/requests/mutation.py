"""The changes of a request's tokens: null, empty, borders, duplicates, contradictions, and lengths that do not fit.

A change of content leaves the request well-formed: it must be answered. A lie changes a length, a count, a marker or
a tag, and what follows is read as something else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.fuzz.grammar import BITS, UNKNOWN_TAGS
from tests.fuzz.mutation import VARINTS, unsigned_varint
from tests.fuzz.requests.batches import Batches
from tests.fuzz.requests.template import NULL_STRUCT, Node, Template, encoded_integer, encoded_length
from tests.fuzz.requests.world import World

LIES_SHARE = 0.15
HEADER_SHARE = 0.05
CLIENT_ID = "header.client_id"
INTEGER_BORDERS = (
    0,
    1,
    -1,
    -2,
    2,
    3,
    127,
    128,
    255,
    2**15 - 1,
    -(2**15),
    2**31 - 1,
    -(2**31),
    2**62,
    2**63 - 1,
    -(2**63),
)
LENGTHS = (0, -1, -2, 1, 2, 127, 128, 16383, 16384, 2**15 - 1, 2**15, 2**16 - 1, 2**31 - 2, 2**31 - 1, -(2**31))
STRANGE_TEXTS = (
    *(b"", b"\x00", b".", b"..", b"a" * 249, b"a" * 250, b"x" * 3000, b"__consumer_offsets", b"__transaction_state"),
    *("ß€𝄞".encode(), b"\xff\xfe", b"../../etc", b"a/b", b"%s%n", b"a\nb", b"-1", b"2147483648", b"1e400", b"NaN"),
)
NOT_UTF8 = b"\xff\xfe"
MOST_REPEATED = 20


class Mutated:
    """A template's tokens while they are changed, and what was done to them."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.tokens = template.tokens.copy()
        self.changed: list[tuple[int, int]] = []
        self.sizes_lied_about: set[int] = set()
        self.steps: list[str] = []
        self.is_lie = False

    def replace(self, start: int, end: int, content: bytes) -> None:
        self.tokens[start] = content
        for at in range(start + 1, end):
            self.tokens[at] = b""

    def joined(self, start: int, end: int) -> bytes:
        self.update_sizes()
        return b"".join(self.tokens[start:end])

    def is_changed(self, node: Node) -> bool:
        """Whether the node, or something around it, was changed before; what is inside a node may be."""
        return any(start <= node.start and node.end <= end for start, end in self.changed)

    def update_sizes(self) -> None:
        """A tagged field gets the size of what it now is, unless the size is the lie."""
        for tagged in self.template.tagged:
            if tagged.size_at not in self.sizes_lied_about and self.tokens[tagged.size_at]:
                size = sum(map(len, self.tokens[tagged.start : tagged.end]))
                self.tokens[tagged.size_at] = unsigned_varint(size)

    def finish(self, correlation_id: int) -> bytes:
        """The request's bytes."""
        self.update_sizes()
        self.tokens[self.template.correlation_at] = correlation_id.to_bytes(4, "big")
        return b"".join(self.tokens)


class RequestMutator:
    """Mutates templates of one seed. `strings` and `batches` are what fields may be exchanged for."""

    def __init__(self, world: World, batches: Sequence[bytes]) -> None:
        self.world = world
        self.batches = batches
        self.random = random.Random()
        self.strings = [
            *(topic.name.encode() for topic in world.topics),
            *(member.group.encode() for member in (*world.classic, *world.consumers)),
            *(member.id.encode() for member in (*world.classic, *world.consumers)),
            *STRANGE_TEXTS,
        ]
        self.uuids = [bytes(16), bytes(15) + b"\x01", b"\xff" * 16, *(topic.id for topic in world.topics)]
        self.content: dict[str, Callable[[Mutated, Node], str]] = {
            "string": self.change_text,
            "bytes": self.change_data,
            "records": self.change_records,
            "array": self.change_array,
            "struct": self.make_null_struct,
            "tags": self.add_tag,
            "uuid": self.change_uuid,
            "bool": self.change_bool,
            "float64": self.change_float,
        }
        self.content.update(dict.fromkeys(BITS, self.change_integer))
        self.lies: dict[str, Callable[[Mutated, Node], str]] = {
            "array": self.lie_about_count,
            "struct": self.lie_about_marker,
            "tags": self.lie_about_tags,
        }
        self.lies.update(dict.fromkeys(("string", "bytes", "records"), self.lie_about_length))

    def mutated(self, template: Template, source: random.Random) -> Mutated:
        """One to three mutations of a template."""
        self.random = source
        mutated = Mutated(template)
        for _ in range(1 + int(source.random() * 1.2) + (source.random() < 0.1)):
            node = self.chosen_node(template)
            if mutated.is_changed(node):
                continue
            mutated.changed.append((node.start, node.end))
            lie = self.lies.get(node.kind) if source.random() < LIES_SHARE else None
            if lie is not None:
                mutated.is_lie = True
                step = lie(mutated, node)
            else:
                step = self.content[node.kind](mutated, node)
            mutated.steps.append(f"{node.path}: {step}")
        return mutated

    def chosen_node(self, template: Template) -> Node:
        nodes = template.nodes
        low = 0 if self.random.random() < HEADER_SHARE else template.body_nodes_from
        low = low if low < len(nodes) else 0
        return nodes[low + int(self.random.random() * (len(nodes) - low))]

    # Content

    def change_integer(self, mutated: Mutated, node: Node) -> str:
        current = int.from_bytes(mutated.tokens[node.start], "big", signed=True)
        if self.random.random() < 0.3:
            value = current + self.random.choice((-1, 1, 2, 10))
        elif self.random.random() < 0.2:
            value = self.other_integer(mutated, node)
        else:
            value = self.random.choice(INTEGER_BORDERS)
        mutated.tokens[node.start] = encoded_integer(value, node.kind)
        mutated.is_lie |= node.path in ("header.api_key", "header.api_version")
        return f"{current} -> {value}"

    def other_integer(self, mutated: Mutated, node: Node) -> int:
        """What another field of the same width holds: an index of another partition, a session's id as its epoch."""
        others = [other for other in mutated.template.nodes if other.kind == node.kind]
        return int.from_bytes(mutated.tokens[self.random.choice(others).start], "big", signed=True)

    def change_text(self, mutated: Mutated, node: Node) -> str:
        if self.random.random() < 0.25:
            return self.make_null(mutated, node)
        value = self.random.choice(self.strings)
        if node.path == CLIENT_ID:
            # No quota has such a name: a mutated quota would rightly delay the connection.
            value += b"~"
        self.put(mutated, node, value)
        mutated.is_lie |= value.startswith(NOT_UTF8)
        return f"text {value[:40]!r}"

    def change_data(self, mutated: Mutated, node: Node) -> str:
        if self.random.random() < 0.3:
            return self.make_null(mutated, node)
        value = self.random.randbytes(self.random.choice((0, 0, 1, 2, 3, 100, 5000)))
        self.put(mutated, node, value)
        return f"{len(value)} bytes"

    def change_records(self, mutated: Mutated, node: Node) -> str:
        chance = self.random.random()
        if chance < 0.15:
            return self.make_null(mutated, node)
        if chance < 0.25:
            self.put(mutated, node, b"")
            return "no records"
        number = self.random.randrange(len(self.batches))
        self.put(mutated, node, self.batches[number])
        return f"batch {number}"

    def change_uuid(self, mutated: Mutated, node: Node) -> str:
        number = self.random.randrange(len(self.uuids))
        mutated.tokens[node.start] = self.uuids[number]
        return f"uuid {number}"

    def change_bool(self, mutated: Mutated, node: Node) -> str:
        mutated.tokens[node.start] = self.random.choice((b"\x00", b"\x01", b"\x02", b"\xff"))
        return f"{mutated.tokens[node.start]!r}"

    def change_float(self, mutated: Mutated, node: Node) -> str:
        values = (bytes(8), b"\x7f\xf0" + bytes(6), b"\xff\xf0" + bytes(6), b"\x7f\xf8" + bytes(6), b"\x80" + bytes(7))
        mutated.tokens[node.start] = self.random.choice((*values, b"\xbf\xf0" + bytes(6), bytes(7) + b"\x01"))
        return mutated.tokens[node.start].hex()

    def make_null_struct(self, mutated: Mutated, node: Node) -> str:
        mutated.replace(node.start, node.end, NULL_STRUCT)
        return "null"

    def make_null(self, mutated: Mutated, node: Node) -> str:
        """Null, where the field may be null and where it may not."""
        kind = "array" if node.kind == "array" else node.kind
        mutated.replace(node.start, node.end, encoded_length(kind, -1, node.compact))
        mutated.is_lie |= not node.nullable
        return "null"

    def put(self, mutated: Mutated, node: Node, value: bytes) -> None:
        mutated.replace(node.start, node.end, encoded_length(node.kind, len(value), node.compact) + value)

    def change_array(self, mutated: Mutated, node: Node) -> str:
        operations = (self.make_null, self.make_empty, self.repeat, self.repeat, self.repeat, self.exchange)
        return self.random.choice(operations)(mutated, node)

    def make_empty(self, mutated: Mutated, node: Node) -> str:
        mutated.replace(node.start, node.end, encoded_length("array", 0, node.compact))
        return "empty"

    def repeat(self, mutated: Mutated, node: Node) -> str:
        """An element occurs twice, or many times: two topics or partitions are equal."""
        if not node.elements:
            return "nothing to repeat"
        first, end = self.random.choice(node.elements)
        times = self.random.choice((1, 1, 1, 2, MOST_REPEATED))
        mutated.tokens[end - 1] += mutated.joined(first, end) * times
        count = len(node.elements) + times
        mutated.tokens[node.start] = encoded_length("array", count, node.compact)
        return f"an element {times} more times"

    def exchange(self, mutated: Mutated, node: Node) -> str:
        if len(node.elements) < 2:
            return self.repeat(mutated, node)
        first, second = node.elements[0], node.elements[1]
        a, b = mutated.joined(*first), mutated.joined(*second)
        mutated.replace(*first, b)
        mutated.replace(*second, a)
        return "elements exchanged"

    def add_tag(self, mutated: Mutated, node: Node) -> str:
        """A tag that the schema does not know, which is ignored."""
        content = self.random.randbytes(self.random.choice((0, 1, 5, 200)))
        tag = self.random.choice(UNKNOWN_TAGS[:-2])
        mutated.tokens[node.end - 1] += unsigned_varint(tag) + unsigned_varint(len(content)) + content
        mutated.tokens[node.start] = unsigned_varint(len(node.elements) + 1)
        return f"unknown tag {tag}"

    # Lies

    def lie_about_length(self, mutated: Mutated, node: Node) -> str:
        """The prefix alone is replaced: the content stays."""
        size = sum(map(len, mutated.tokens[node.start + 1 : node.end]))
        mutated.tokens[node.start] = self.wrong_length(node.kind, size, node.compact)
        return f"length {mutated.tokens[node.start].hex()}"

    def lie_about_count(self, mutated: Mutated, node: Node) -> str:
        mutated.tokens[node.start] = self.wrong_length("array", len(node.elements), node.compact)
        return f"count {mutated.tokens[node.start].hex()}"

    def wrong_length(self, kind: str, size: int, compact: bool) -> bytes:
        if compact and self.random.random() < 0.4:
            return self.random.choice(VARINTS)
        wrong = self.random.choice((size - 1, size + 1, size + 2, *LENGTHS))
        return encoded_length(kind, wrong, compact)

    def lie_about_marker(self, mutated: Mutated, node: Node) -> str:
        mutated.tokens[node.start] = self.random.choice((b"\x00", b"\x02", b"\x7f", b"\xfe", b"\x01", b"\xff"))
        return f"marker {mutated.tokens[node.start].hex()}"

    def lie_about_tags(self, mutated: Mutated, node: Node) -> str:
        if not node.elements or self.random.random() < 0.4:
            mutated.tokens[node.start] = self.random.choice(VARINTS)
            return f"tag count {mutated.tokens[node.start].hex()}"
        first, end = self.random.choice(node.elements)
        chance = self.random.random()
        if chance < 0.4:
            mutated.tokens[end - 1] += mutated.joined(first, end)
            mutated.tokens[node.start] = unsigned_varint(len(node.elements) + 1)
            return "a tag twice"
        at = first if chance < 0.6 else first + 1
        mutated.sizes_lied_about.add(first + 1)
        mutated.tokens[at] = self.random.choice(VARINTS)
        return f"tag or size {mutated.tokens[at].hex()}"


def hostile_batches(source: Batches, count: int) -> list[bytes]:
    """What a records field may be exchanged for: half of them valid."""
    return [source.hostile() if number % 3 else source.plain() for number in range(count)]
