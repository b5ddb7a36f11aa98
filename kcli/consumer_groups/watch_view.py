"""The view of `kcli groups watch`: lag, rates and estimates from two readings. Pure; its keys are stable."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kcli.consumer_groups.progress import GroupProgress

    Row = dict[str, Any]
    # (group, topic, partition)
    Place = tuple[str, str, int]


class Reading:
    """Groups at a time of a monotonic clock."""

    __slots__ = ("failures", "groups", "taken_s")

    def __init__(self, groups: Sequence[GroupProgress], failures: Sequence[str], taken_s: float) -> None:
        self.groups = groups
        self.failures = failures
        self.taken_s = taken_s

    def offsets(self, key: str) -> dict[Place, int]:
        """`current_offset` or `log_end_offset` of each partition that has one."""
        return {
            (row["group"], row["topic"], row["partition"]): row[key]
            for group in self.groups
            for row in group.rows
            if row[key] is not None
        }


def view(before: Reading, after: Reading, verbose: bool) -> Row:
    """The view in the form of its JSON: groups by lag, and their partitions by lag if verbose."""
    seconds = max(1e-9, after.taken_s - before.taken_s)
    read = grown(before, after, "current_offset")
    written = grown(before, after, "log_end_offset")
    rows = []
    for group in after.groups:
        partitions = [_partition(row, read, written, seconds) for row in group.rows]
        rows.append(_group(group, partitions))
        if verbose:
            rows[-1]["partitions_behind"] = sorted(partitions, key=_most_behind)
    return {"interval_s": round(seconds, 3), "groups": sorted(rows, key=_most_behind), "failures": list(after.failures)}


def grown(before: Reading, after: Reading, key: str) -> dict[Place, int]:
    """The growth of an offset of each partition; 0 for partitions that are new."""
    earlier = before.offsets(key)
    return {place: offset - earlier.get(place, offset) for place, offset in after.offsets(key).items()}


def _partition(row: Row, read: dict[Place, int], written: dict[Place, int], seconds: float) -> Row:
    place = (row["group"], row["topic"], row["partition"])
    return {
        "topic": row["topic"],
        "partition": row["partition"],
        "current_offset": row["current_offset"],
        "log_end_offset": row["log_end_offset"],
        "lag": row["lag"],
        "lag_seconds": row["lag_seconds"],
        "read_per_s": round(read.get(place, 0) / seconds, 1),
        "written_per_s": round(written.get(place, 0) / seconds, 1),
        "consumer_id": row["consumer_id"],
    }


def _group(group: GroupProgress, partitions: Sequence[Row]) -> Row:
    known = [row for row in partitions if row["lag"] is not None]
    lag = sum(row["lag"] for row in known) if known else None
    read = round(sum(row["read_per_s"] for row in partitions), 1)
    written = round(sum(row["written_per_s"] for row in partitions), 1)
    return {
        "group": group.group.group_id,
        "state": group.group.state,
        "type": group.group.type,
        "members": len(group.group.members),
        "partitions": len(partitions),
        "lag": lag,
        "lag_seconds": _worst(row["lag_seconds"] for row in known),
        "read_per_s": read,
        "written_per_s": written,
        "caught_up_in_s": outlook(lag, read, written),
    }


def _worst(seconds: Iterable[float | None]) -> float | None:
    return max((value for value in seconds if value is not None), default=None)


def outlook(lag: int | None, read_per_s: float, written_per_s: float) -> float | None:
    """Estimated seconds until the lag is 0 at the current rates; None if it does not shrink."""
    if lag is None or (lag > 0 and read_per_s <= written_per_s):
        return None
    return round(lag / (read_per_s - written_per_s), 1) if lag else 0.0


def _most_behind(row: Row) -> tuple[Any, ...]:
    return (-(row["lag"] or 0), *(row[key] for key in ("group", "topic", "partition") if key in row))
