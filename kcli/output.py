"""Output formats of commands: a table for people, JSON or one JSON object per line for programs.

JSON keys are stable: programs rely on them. Large results are written row by row, never collected first.
"""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Row = Mapping[str, Any]

TABLE, JSON, JSON_LINES = "table", "json", "jsonl"
# The exact output of the Apache Kafka tool, requested by bin/kafka-*.sh.
KAFKA = "kafka"


class OutputForm(click.Choice[str]):
    """The documented formats. KAFKA is accepted too, but not documented."""

    def __init__(self) -> None:
        super().__init__([TABLE, JSON, JSON_LINES])

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        return value if value == KAFKA else super().convert(value, parameter, context)


output_option = click.option(
    "-o",
    "--output",
    type=OutputForm(),
    default=TABLE,
    show_default=True,
    help="Output format: a table, one JSON value, or one JSON object per line.",
)


def write_rows(
    rows: Iterable[Row],
    output: str,
    print_table: Callable[[Iterable[Row]], object] | None = None,
    print_as_kafka: Callable[[Iterable[Row]], object] | None = None,
) -> None:
    """Prints rows in the chosen format.

    `print_table` prints the table; without it, rows are printed in columns. `print_as_kafka` prints the output of
    Kafka's tool; without it, the table is printed.
    """
    if output == KAFKA and print_as_kafka is not None:
        print_as_kafka(rows)
    elif output in (TABLE, KAFKA) and print_table is not None:
        print_table(rows)
    elif output in (TABLE, KAFKA):
        listed = list(rows)
        write_columns(listed, list(listed[0]) if listed else [])
    elif output == JSON_LINES:
        for row in rows:
            click.echo(to_json(row))
    else:
        _write_array(rows)


def print_nothing(rows: Iterable[Row]) -> None:
    """Most of Kafka's tools print nothing on success."""


def _write_array(rows: Iterable[Row]) -> None:
    separator = "["
    for row in rows:
        click.echo(f"{separator}{to_json(row)}", nl=False)
        separator = ",\n "
    click.echo("[]" if separator == "[" else "]")


def write_object(value: Row) -> None:
    """Prints one JSON object on a line of its own."""
    click.echo(to_json(value))


def to_json(value: object) -> str:
    """Compact JSON with keys in the given order. Bytes become text; bytes that are not UTF-8 are replaced."""
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def write_columns(rows: Iterable[Row], columns: Sequence[str]) -> None:
    """Prints rows under a heading, numbers right-aligned, everything else left-aligned. No columns, no output."""
    if not columns:
        return
    listed = list(rows)
    table = [[_cell(row[column]) for column in columns] for row in listed]
    headings = [column.replace("_", " ").upper() for column in columns]
    widths = [max(map(len, column)) for column in zip(headings, *table, strict=True)]
    is_number = [all(isinstance(row[column], int | float) for row in listed) for column in columns]
    for cells in [headings, *table]:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, is_number, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)
