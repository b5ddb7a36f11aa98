"""Compares two clusters, measured in turn (ABAB) in one run, so that other load affects both alike.

Each round gives one ratio. The median, the smallest and the largest ratio are reported.
"""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rich.console import RenderableType

# Compared figures: the path in a summary, and whether more is better.
FIGURES: dict[str, tuple[tuple[str, ...], bool]] = {
    "records/s": (("records_per_s",), True),
    "MB/s": (("mb_per_s",), True),
    "avg ms": (("latency_ms", "avg"), False),
    "p50 ms": (("latency_ms", "p50"), False),
    "p99 ms": (("latency_ms", "p99"), False),
    "p99.9 ms": (("latency_ms", "p99_9"), False),
}


class Compared(NamedTuple):
    """One figure: the medians of both clusters, and the ratio of the first to the second."""

    name: str
    first: float
    second: float
    ratio: float
    smallest_ratio: float
    largest_ratio: float
    is_more_better: bool


class Round(NamedTuple):
    first: dict[str, Any]
    second: dict[str, Any]


def alternate(measure: Callable[[str, int], dict[str, Any]], servers: Sequence[str], rounds: int) -> list[Round]:
    """The summaries of both clusters by round, from `measure(bootstrap server, number of the round)`."""
    return [Round(*(measure(server, number) for server in servers)) for number in range(rounds)]


def compare(rounds: Sequence[Round]) -> list[Compared]:
    """All figures that both clusters have, except those that are zero in a round, which have no ratio."""
    compared = []
    for name, (path, is_more_better) in FIGURES.items():
        firsts = [_at(each.first, path) for each in rounds]
        seconds = [_at(each.second, path) for each in rounds]
        if min(firsts) <= 0.0 or min(seconds) <= 0.0:
            continue
        ratios = [first / second for first, second in zip(firsts, seconds, strict=True)]
        figures = (median(firsts), median(seconds), median(ratios), min(ratios), max(ratios))
        compared.append(Compared(name, *figures, is_more_better))
    return compared


def _at(summary: dict[str, Any], path: tuple[str, ...]) -> float:
    value: Any = summary
    for name in path:
        value = value[name]
    return float(value)


def as_json(servers: Sequence[str], rounds: Sequence[Round]) -> dict[str, Any]:
    """The object of -o json."""
    ratios = {
        each.name: {
            "first": each.first,
            "second": each.second,
            "ratio": round(each.ratio, 4),
            "min": round(each.smallest_ratio, 4),
            "max": round(each.largest_ratio, 4),
        }
        for each in compare(rounds)
    }
    return {"servers": list(servers), "rounds": [each._asdict() for each in rounds], "compared": ratios}


def table(servers: Sequence[str], rounds: Sequence[Round]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=f"Medians of {len(rounds)} alternating rounds", box=None, padding=(0, 2, 0, 0))
    shown.add_column("")
    for heading in (*servers, "ratio", "range"):
        shown.add_column(heading, justify="right")
    for each in compare(rounds):
        is_ahead = (each.ratio > 1.0) == each.is_more_better
        shown.add_row(
            each.name,
            f"{each.first:,.2f}",
            f"{each.second:,.2f}",
            Text(f"{each.ratio:.2f}x", "green" if is_ahead else "yellow"),
            f"{each.smallest_ratio:.2f} to {each.largest_ratio:.2f}",
        )
    return shown
