"""The screen of `kcli top`: broker, APIs, topics and groups, with a maximum number of rows."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rich.console import RenderableType

UNITS = ("B", "KB", "MB", "GB", "TB")
SLOW_GROUP_S = 60


def screen(view: dict[str, Any], url: str, rows: int) -> RenderableType:
    """The whole screen, from top to bottom."""
    parts: list[RenderableType] = [head(view, url), Text()]
    parts.append(apis(view["apis"][:rows]))
    if view["topics"]:
        parts.append(topics(view["topics"][:rows]))
    if view["groups"]:
        parts.append(groups(view["groups"][:rows]))
    return Group(*parts)


def head(view: dict[str, Any], url: str) -> RenderableType:
    broker, flow, partitions = view["broker"], view["throughput"], view["partitions"]
    grid = Table.grid(padding=(0, 3))
    grid.add_row(
        f"[bold]broker {broker['broker_id']}[/] {broker['state']}, kcli {broker['version']}",
        f"CPU {broker['cpu_percent']:.1f} %   memory {size(broker['resident_bytes'])}   files {broker['open_files']}",
        url,
    )
    grid.add_row(
        f"in  {size(flow['bytes_in_per_s'])}/s   {flow['messages_in_per_s']:,.0f} records/s",
        f"requests {flow['requests_per_s']:,.0f}/s   queued {broker['request_queue']}",
        f"connections {broker['connections']} (+{broker['connections_opened_per_s']:.1f}/s)",
    )
    grid.add_row(
        f"out {size(flow['bytes_out_per_s'])}/s",
        f"idle: network {broker['network_idle_percent']:.0f} %, handlers {broker['handler_idle_percent']:.0f} %",
        partition_line(partitions),
    )
    return grid


def partition_line(partitions: dict[str, Any]) -> Text:
    text = Text(f"topics {partitions['topics']}   partitions {partitions['led']} led of {partitions['held']}")
    for name in ("under_replicated", "offline", "offline_directories"):
        if partitions[name]:
            text.append(f"   {name.replace('_', ' ')} {partitions[name]}", "bold red")
    return text


def apis(rows: Sequence[dict[str, Any]]) -> Table:
    table = columns("request", "per second", "p50 ms", "p99 ms", "queue", "local", "remote", "errors/s")
    for row in rows:
        times = ("p50_ms", "p99_ms", "queue_p99_ms", "local_p99_ms", "remote_p99_ms")
        errors = Text(f"{row['errors_per_s']:,.1f}", "red" if row["errors_per_s"] else "dim")
        table.add_row(row["api"], f"{row['requests_per_s']:,.1f}", *(milliseconds(row[name]) for name in times), errors)
    return table


def topics(rows: Sequence[dict[str, Any]]) -> Table:
    table = columns("topic", "records in/s", "in/s", "out/s")
    for row in rows:
        table.add_row(
            Text(row["topic"]),
            f"{row['messages_in_per_s']:,.1f}",
            size(row["bytes_in_per_s"]),
            size(row["bytes_out_per_s"]),
        )
    return table


def groups(rows: Sequence[dict[str, Any]]) -> Table:
    table = columns("group", "members", "partitions", "lag", "time lag")
    for row in rows:
        late = row["lag_seconds"] is not None and row["lag_seconds"] >= SLOW_GROUP_S
        table.add_row(
            Text(row["group"]),
            str(row["members"]),
            str(row["partitions"]),
            f"{row['lag']:,}",
            Text(duration(row["lag_seconds"]), "yellow" if late else ""),
        )
    return table


def columns(first: str, *others: str) -> Table:
    """A name, then right-aligned numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    table.add_column(first.upper(), min_width=24, no_wrap=True, overflow="ellipsis")
    for name in others:
        table.add_column(name.upper(), justify="right", min_width=8)
    return table


def size(count: float) -> str:
    """Bytes in units of a thousand."""
    unit = 0
    while count >= 1000 and unit < len(UNITS) - 1:
        count /= 1000
        unit += 1
    return f"{count:.0f} {UNITS[unit]}" if unit == 0 else f"{count:.1f} {UNITS[unit]}"


def milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"


def duration(seconds: float | None) -> str:
    """A duration in its two largest units."""
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours == 0:
        return f"{minutes} min {whole} s"
    days, hours = divmod(hours, 24)
    return f"{hours} h {minutes} min" if days == 0 else f"{days} d {hours} h"
