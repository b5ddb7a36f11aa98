"""What the turns came to: medians, ratios to confluent-kafka's best, CPU beside the peer in C, and the aims."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from perf.clients.native import encoded_bytes
from perf.clients.plan import NATIVE
from perf.clients.servers import OURS
from perf.clients.turn import CONSUME, LATENCY, PRODUCE, Result

BASELINE = "confluent"


class Key(NamedTuple):
    """What one figure is of; `contender` is a client and its way."""

    server: str
    kind: str
    size: int
    contender: str


class Median(NamedTuple):
    """Of the turns that ended well; `errors` of the others. CPU s per GB are of encoded batches."""

    records_per_s: float
    cpu_s_per_million: float
    cpu_s_per_gb: float
    latency_ms: dict[str, float]
    errors: list[str]


class Report:
    def __init__(self, turns: Iterable[tuple[Key, Result]]) -> None:
        self.turns = list(turns)
        grouped: dict[Key, list[Result]] = {}
        for key, result in self.turns:
            grouped.setdefault(key, []).append(result)
        self.medians = {key: _median(key, results) for key, results in grouped.items()}

    def as_json(self) -> dict[str, Any]:
        return {
            "turns": [{**key._asdict(), **vars(result)} for key, result in self.turns],
            "medians": [{**key._asdict(), **found._asdict()} for key, found in self.medians.items()],
            "aims": self.aims(),
        }

    def baseline(self, server: str, kind: str, size: int) -> float:
        """Records a second of the best way of confluent-kafka; 0 where none was measured."""
        of_it = [each for key, each in self.medians.items() if self._is_of(key, server, kind, size)]
        return max((each.records_per_s for each in of_it), default=0.0)

    @staticmethod
    def _is_of(key: Key, server: str, kind: str, size: int) -> bool:
        return key[:3] == (server, kind, size) and key.contender.split()[0] == BASELINE

    # The aims, which are against our own broker

    def aims(self) -> list[dict[str, Any]]:
        """Those of which both sides were measured: name, ratio, what it is to be, and whether it is."""
        send, reports = ("ours send", "confluent produce"), ("ours send_reports", "confluent produce_reports")
        found = [
            self._faster("send, no reports, 100 B, times produce", PRODUCE, *send, 2.0),
            self._faster("send, reports, 100 B, times produce", PRODUCE, *reports, 2.0),
            self._best("best send_batch, 100 B, times confluent's best", PRODUCE, "ours send_batch"),
            self._best("poll_arrow, 100 B, times confluent's best", CONSUME, "ours poll_arrow"),
            self._cheaper("send_batch, 1 KiB, CPU s/GB of the C client's", PRODUCE, "ours send_batch", "send"),
            self._cheaper("poll_arrow, 1 KiB, CPU s/GB of the C client's", CONSUME, "ours poll_arrow", "receive"),
            self._sooner("p50 of an acknowledgement, times confluent's", "ack_p50"),
            self._sooner("p50 from sent to read, times confluent's", "e2e_p50"),
        ]
        return [aim for aim in found if aim is not None]

    def _of(self, kind: str, size: int, contender: str) -> Median | None:
        found = self.medians.get(Key(OURS, kind, size, contender))
        return found if found is not None and found.records_per_s else None

    def _faster(self, name: str, kind: str, ours: str, theirs: str, at_least: float) -> dict[str, Any] | None:
        mine, other = self._of(kind, 100, ours), self._of(kind, 100, theirs)
        if mine is None or other is None:
            return None
        ratio = mine.records_per_s / other.records_per_s
        return {"aim": name, "ratio": ratio, "wanted": f"at least {at_least:g}", "is_met": ratio >= at_least}

    def _best(self, name: str, kind: str, ours: str) -> dict[str, Any] | None:
        """`ours` is how the names of the ways begin of which the best counts."""
        mine = [each for key, each in self.medians.items() if key[:3] == (OURS, kind, 100) and _begins(key, ours)]
        best, base = max((each.records_per_s for each in mine), default=0.0), self.baseline(OURS, kind, 100)
        if not best or not base:
            return None
        return {"aim": name, "ratio": best / base, "wanted": "at least 10", "is_met": best / base >= 10.0}

    def _cheaper(self, name: str, kind: str, ours: str, native: str) -> dict[str, Any] | None:
        mine, other = self._of(kind, 1024, ours), self._of(kind, 1024, f"{NATIVE} {native}")
        if mine is None or other is None or not other.cpu_s_per_gb:
            return None
        ratio = mine.cpu_s_per_gb / other.cpu_s_per_gb
        return {"aim": name, "ratio": ratio, "wanted": "at most 1.5", "is_met": ratio <= 1.5}

    def _sooner(self, name: str, figure: str) -> dict[str, Any] | None:
        mine = [each for key, each in self.medians.items() if key.server == OURS and key.contender == "ours latency"]
        other = [each for key, each in self.medians.items() if key.server == OURS and _begins(key, "confluent latency")]
        if not mine or not other or figure not in mine[0].latency_ms or figure not in other[0].latency_ms:
            return None
        ratio = mine[0].latency_ms[figure] / other[0].latency_ms[figure]
        return {"aim": name, "ratio": ratio, "wanted": "at most 1", "is_met": ratio <= 1.0}

    # For people

    def show(self, console: Console) -> None:
        for server in dict.fromkeys(key.server for key in self.medians):
            for kind in (PRODUCE, CONSUME):
                if any(key[:2] == (server, kind) for key in self.medians):
                    console.print(self._throughput(server, kind))
            if any(key[:2] == (server, LATENCY) for key in self.medians):
                console.print(self._latency(server))
        console.print(self._aims())
        for key, found in self.medians.items():
            for error in found.errors:
                console.print(f"{key.contender}, {key.size} B, {key.server}: {error}", style="red", markup=False)

    def _throughput(self, server: str, kind: str) -> Table:
        keys = [key for key in self.medians if key[:2] == (server, kind)]
        sizes = sorted({key.size for key in keys})
        title = f"{kind}, {server}: records/s (times confluent's best), CPU s a million records, CPU s a GB"
        table = Table(title=title, title_justify="left", box=None)
        table.add_column("")
        for size in sizes:
            table.add_column(f"{size} B", justify="right")
        for contender in dict.fromkeys(key.contender for key in keys):
            cells = [self._cell(Key(server, kind, size, contender)) for size in sizes]
            table.add_row(contender, *cells)
        return table

    def _cell(self, key: Key) -> str:
        found = self.medians.get(key)
        if found is None or not found.records_per_s:
            return "-"
        base = self.baseline(*key[:3])
        times = f" {found.records_per_s / base:5.2f}x" if base else ""
        return f"{counted(found.records_per_s)}{times} {found.cpu_s_per_million:5.2f} {found.cpu_s_per_gb:5.2f}"

    def _latency(self, server: str) -> Table:
        table = Table(
            title=f"latency at light load, {server}, ms: acknowledged, and read again", title_justify="left", box=None
        )
        figures = ("ack_p50", "ack_p99", "ack_avg", "e2e_p50", "e2e_p99", "e2e_avg")
        for heading in ("", *figures):
            table.add_column(heading, justify="right")
        for key, found in self.medians.items():
            if key[:2] == (server, LATENCY) and found.latency_ms:
                table.add_row(key.contender, *(f"{found.latency_ms[figure]:.3f}" for figure in figures))
        return table

    def _aims(self) -> Table:
        table = Table(title="aims, against our broker", title_justify="left", box=None)
        for heading in ("aim", "ratio", "wanted", ""):
            table.add_column(heading)
        for aim in self.aims():
            met = "[green]met[/]" if aim["is_met"] else "[yellow]not met[/]"
            table.add_row(aim["aim"], f"{aim['ratio']:.2f}", aim["wanted"], met)
        return table


def counted(number: float) -> str:
    """With three digits or so, in thousands or millions."""
    if number >= 1e6:
        return f"{number / 1e6:.2f} M"
    return f"{number / 1e3:.1f} k" if number >= 1e3 else f"{number:.0f}"


def _begins(key: Key, name: str) -> bool:
    return key.contender.startswith(name)


def _median(key: Key, results: list[Result]) -> Median:
    good = [result for result in results if result.error is None]
    errors = [result.error for result in results if result.error is not None]
    if not good:
        return Median(0.0, 0.0, 0.0, {}, errors)
    cpu_s_per_million = median(result.cpu_s_per_million for result in good)
    figures = good[0].latency_ms
    return Median(
        median(result.records_per_s for result in good),
        cpu_s_per_million,
        cpu_s_per_million * 1e3 / encoded_bytes(key.size),
        {figure: median(result.latency_ms[figure] for result in good) for figure in figures},
        errors,
    )
