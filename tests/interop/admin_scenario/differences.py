"""Where our broker's results differ from Apache Kafka's, leaf by leaf, and which of that is expected.

`differences.toml` lists what may differ, with the reason. A text in it matches the whole, with `*` for anything. Values
stand there as JSON, except that texts have no quotes (unless they are JSON themselves, as "1" is), and `(nothing)` for
what the other result has alone. An entry that matches nothing is an error too: the list can only become shorter.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LIST = Path(__file__).with_suffix(".toml")
NOTHING = "(nothing)"


class Difference(NamedTuple):
    """`where` is the way to a leaf of the result: keys and positions with slashes between them."""

    where: str
    ours: str
    kafka: str

    def __str__(self) -> str:
        return f"{self.where or '(all)'}:\n    ours  {self.ours}\n    kafka {self.kafka}"


class Expected(NamedTuple):
    """An entry of the list; `step` is one of the steps that it names."""

    step: str
    where: str
    ours: str
    kafka: str
    why: str

    def covers(self, step: str, difference: Difference) -> bool:
        pairs = ((self.step, step), (self.where, difference.where), (self.ours, difference.ours))
        return all(matches(pattern, text) for pattern, text in (*pairs, (self.kafka, difference.kafka)))


def matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def expected(path: Path = LIST) -> list[Expected]:
    """The list: an entry for each step, or pattern of steps, that a difference is expected in."""
    found = []
    for entry in tomllib.loads(path.read_text())["difference"]:
        assert entry["why"], entry
        where, ours, kafka = (entry.get(name, "*") for name in ("where", "ours", "kafka"))
        found += [Expected(step, where, ours, kafka, entry["why"]) for step in entry["steps"]]
    return found


def differences(ours: Any, kafka: Any) -> list[Difference]:
    """All leaves that are not the same, or not there, in the other result."""
    mine, theirs = dict(leaves(ours, ())), dict(leaves(kafka, ()))
    return [
        Difference(where, mine.get(where, NOTHING), theirs.get(where, NOTHING))
        for where in dict.fromkeys((*mine, *theirs))
        if mine.get(where) != theirs.get(where)
    ]


def lasting_differences(ours: Sequence[Any], kafka: Sequence[Any]) -> list[Difference]:
    """Of several results of each: leaves of which no result of ours has what any of Kafka's has.

    What goes now one way and now the other before either broker, as a race of its clients ends, is no difference.
    """
    pairs = [{one.where: one for one in differences(mine, theirs)} for mine in ours for theirs in kafka]
    return [one for where, one in pairs[0].items() if all(where in pair for pair in pairs)]


def leaves(value: Any, way: Sequence[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*way, key))
    elif isinstance(value, list) and value:
        for position, item in enumerate(value):
            yield from leaves(item, (*way, str(position)))
    else:
        yield "/".join(way), shown(value)


def shown(value: Any) -> str:
    """JSON, but a text without its quotes where it cannot be taken for anything else."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value)


def unexpected(step: str, found: Sequence[Difference], listed: Sequence[Expected]) -> list[Difference]:
    return [one for one in found if not any(entry.covers(step, one) for entry in listed)]
