"""The command lines of command_lines.toml, which says what they are."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import NamedTuple

BOTH = ("3.9", "4")
# The names of files in `{dir}`, and what they hold.
FILES = {
    "client.properties": "client.id=drop-in\nrequest.timeout.ms=20000\n",
    "offsets.json": '{"partitions": [{"topic": "my-topic", "partition": 0, "offset": 1}], "version": 1}',
}


class CommandLine(NamedTuple):
    name: str
    run: str
    stdin: str = ""
    versions: tuple[str, ...] = BOTH
    in_any_order: bool = False
    any_numbers: bool = False

    @property
    def tool(self) -> str:
        return self.run.split(maxsplit=1)[0]

    def words(self, places: dict[str, str]) -> list[str]:
        words = shlex.split(self.run)[1:]
        for name, place in places.items():
            words = [word.replace(f"{{{name}}}", place) for word in words]
        return words


def read_lines() -> dict[str, CommandLine]:
    """All of them in order, by name."""
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    lines = [CommandLine(**{**row, "versions": tuple(row.get("versions", BOTH))}) for row in content["line"]]
    named = {line.name: line for line in lines}
    assert len(named) == len(lines), "two lines have one name"
    return named


LINES = read_lines()
