"""The screen of watched groups: a line per group, and with --verbose a line per partition."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from kcli.top.screen import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rich.console import RenderableType

SLOW_S = 60
UNSETTLED = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def screen(view: dict[str, Any], rows: int) -> RenderableType:
    """The groups with the largest lag, then errors."""
    parts: list[RenderableType] = [groups(view["groups"][:rows])]
    for group in view["groups"][:rows]:
        if group.get("partitions_behind"):
            parts += [Text(), partitions(group, rows)]
    left_out = len(view["groups"]) - rows
    if left_out > 0:
        parts.append(Text(f"and {left_out} more groups with less lag", "dim"))
    parts += [Text(failure, "red") for failure in view["failures"]]
    return Group(*parts)


def groups(rows: list[dict[str, Any]]) -> Table:
    table = columns("group", "state", "members", "partitions", "lag", "time lag", "read/s", "written/s", "eta")
    for row in rows:
        table.add_row(
            Text(row["group"]),
            Text(row["state"], "yellow" if row["state"] in UNSETTLED else ""),
            str(row["members"]),
            str(row["partitions"]),
            count(row["lag"]),
            behind(row["lag_seconds"]),
            f"{row['read_per_s']:,.1f}",
            f"{row['written_per_s']:,.1f}",
            duration(row["caught_up_in_s"]),
        )
    return table


def partitions(group: dict[str, Any], rows: int) -> Table:
    table = columns(group["group"], "committed", "end", "lag", "time lag", "read/s", "written/s", "member")
    for row in group["partitions_behind"][:rows]:
        table.add_row(
            Text(f"{row['topic']}-{row['partition']}"),
            count(row["current_offset"]),
            count(row["log_end_offset"]),
            count(row["lag"]),
            behind(row["lag_seconds"]),
            f"{row['read_per_s']:,.1f}",
            f"{row['written_per_s']:,.1f}",
            Text(row["consumer_id"] or "-", overflow="ellipsis", no_wrap=True),
        )
    return table


def columns(first: str, *others: str) -> Table:
    """A name, then right-aligned numbers, each column as narrow as possible."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    table.add_column(first.upper(), min_width=12, no_wrap=True, overflow="ellipsis")
    for name in others:
        table.add_column(name.upper(), justify="right", no_wrap=True)
    return table


def count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def behind(seconds: float | None) -> Text:
    return Text(duration(seconds), "yellow" if seconds is not None and seconds >= SLOW_S else "")
