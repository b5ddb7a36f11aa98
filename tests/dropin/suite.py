"""Runs the command lines by either kind of tool, and says what the two print differently."""

from __future__ import annotations

from pathlib import Path

from tests.dropin.command_lines import FILES, LINES
from tests.dropin.printed import Printed
from tests.dropin.tools import JavaTools, Launchers

Runs = dict[str, Printed]


def run_all(tools: Launchers | JavaTools, server: str, directory: Path, data: Path, version: str = "") -> Runs:
    """`data` are the files that dump-log is to read, which are not the broker's own where two are to read the same.

    Lines of another version than the tools' are left out, but for those that write what later ones read.
    """
    for name, text in FILES.items():
        (directory / name).write_text(text)
    places = {"server": server, "dir": str(directory), "data": str(data)}
    return {
        line.name: tools.run(line.tool, line.words(places), line.stdin)
        for line in LINES.values()
        if not version or version in line.versions or line.stdin
    }


def comparable(name: str, printed: Printed) -> Printed:
    """What a line is to have in common with another run of it."""
    line = LINES[name]
    return printed.stable(in_any_order=line.in_any_order, any_numbers=line.any_numbers)


def names_of(version: str) -> list[str]:
    """The lines that a version of Apache Kafka understands as we do."""
    return [line.name for line in LINES.values() if version in line.versions]
