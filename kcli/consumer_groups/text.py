"""Groups in the format of kafka-consumer-groups, which scripts read: an empty line, headings, and columns padded with
spaces. Columns that only this tool has come last.

As in Kafka's tool, notes that a group has no members or is rebalancing go to stderr.
"""

from __future__ import annotations

import click

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcli.output import Row

MISSING = "-"
# The minimum width of each column, by heading. The last column of a line is not padded.
WIDTHS = {
    "GROUP": 15,
    "TOPIC": 15,
    "PARTITION": 10,
    "LEADER-EPOCH": 15,
    "CURRENT-OFFSET": 15,
    "LOG-END-OFFSET": 15,
    "LAG": 15,
    "CONSUMER-ID": 15,
    "GROUP-INSTANCE-ID": 17,
    "HOST": 15,
    "CLIENT-ID": 15,
    "#PARTITIONS": 15,
    "CURRENT-EPOCH": 15,
    "CURRENT-ASSIGNMENT": 20,
    "TARGET-EPOCH": 15,
    "TARGET-ASSIGNMENT": 20,
    "COORDINATOR (ID)": 25,
    "ASSIGNMENT-STRATEGY": 20,
    "STATE": 20,
    "TYPE": 20,
    "GROUP-EPOCH": 15,
    "TARGET-ASSIGNMENT-EPOCH": 25,
    "NEW-OFFSET": 15,
}
REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def print_state(group_id: str, state: str) -> None:
    """Prints the note that comes before the rows of a group."""
    if state == "Empty":
        click.echo(f"\nConsumer group '{group_id}' has no active members.", err=True)
    elif state in REBALANCING:
        click.echo(f"\nWarning: Consumer group '{group_id}' is rebalancing.", err=True)


def print_table(rows: Iterable[Row], columns: Mapping[str, str]) -> None:
    """One table after an empty line."""
    click.echo()
    print_columns(rows, columns)


def print_columns(rows: Iterable[Row], columns: Mapping[str, str]) -> None:
    """One table; `columns` maps headings to keys."""
    table = [list(columns), *([_cell(row[key]) for key in columns.values()] for row in rows)]
    widths = [max(WIDTHS.get(heading, 0), *(len(cells[at]) for cells in table)) for at, heading in enumerate(columns)]
    for cells in table:
        click.echo(" ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


def print_by_group(rows: Iterable[Row], columns: Mapping[str, str]) -> None:
    """One table per group."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    for each in groups.values():
        print_table(each, columns)


def _cell(value: Any) -> str:
    if value is None or value == "" or value == {}:
        return MISSING
    if isinstance(value, dict):
        return ";".join(f"{topic}:{','.join(map(str, numbers))}" for topic, numbers in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)


def offset_columns(verbose: bool, with_seconds: bool) -> dict[str, str]:
    """Columns of `groups describe --offsets`. Kafka's tool has no lag in seconds."""
    return {
        "GROUP": "group",
        "TOPIC": "topic",
        "PARTITION": "partition",
        **({"LEADER-EPOCH": "leader_epoch"} if verbose else {}),
        "CURRENT-OFFSET": "current_offset",
        "LOG-END-OFFSET": "log_end_offset",
        "LAG": "lag",
        "CONSUMER-ID": "consumer_id",
        "HOST": "host",
        "CLIENT-ID": "client_id",
        **({"LAG-SECONDS": "lag_seconds"} if with_seconds else {}),
    }


def member_columns(rows: Sequence[Row], verbose: bool) -> dict[str, str]:
    """Columns of `groups describe --members`. Instance ids and upgrades are shown only if they distinguish members."""
    columns = {"GROUP": "group", "CONSUMER-ID": "consumer_id"}
    if any(row["instance_id"] for row in rows):
        columns["GROUP-INSTANCE-ID"] = "instance_id"
    columns |= {"HOST": "host", "CLIENT-ID": "client_id", "#PARTITIONS": "partitions"}
    if verbose:
        columns |= {"CURRENT-EPOCH": "current_epoch", "CURRENT-ASSIGNMENT": "current_assignment"}
        columns |= {"TARGET-EPOCH": "target_epoch", "TARGET-ASSIGNMENT": "target_assignment"}
        if {True, False} <= {row["upgraded"] for row in rows}:
            columns["UPGRADED"] = "upgraded"
    return columns


def state_columns(verbose: bool) -> dict[str, str]:
    """Columns of `groups describe --state`."""
    return {
        "GROUP": "group",
        "COORDINATOR (ID)": "coordinator",
        "ASSIGNMENT-STRATEGY": "assignment_strategy",
        "STATE": "state",
        **({"GROUP-EPOCH": "group_epoch", "TARGET-ASSIGNMENT-EPOCH": "target_assignment_epoch"} if verbose else {}),
        "#MEMBERS": "members",
    }
