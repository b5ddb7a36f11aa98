"""The live view of a measurement: current rates and latencies, and their curves."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kcli.performance.tally import Tally, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from rich.console import RenderableType

    from kcli.performance.tally import Done

BARS = " ▁▂▃▄▅▆▇█"
CURVE_WIDTH = 60
INTERVAL_S = 0.5


class LiveScreen:
    """Printed to stderr and removed at the end. Windows of all workers are added by interval."""

    def __init__(self, title: str, wanted: int) -> None:
        self._title = title
        self._wanted = wanted
        self._records = 0
        self._window = Tally()
        self._window_began_s = time.perf_counter()
        self._rates: list[float] = []
        self._p50s: list[float] = []
        self._p99s: list[float] = []
        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def take(self, event: Window | Done) -> None:
        if not isinstance(event, Window):
            return
        self._window.merge(event.all)
        elapsed_s = event.ended_s - self._window_began_s
        if elapsed_s < INTERVAL_S * 0.9:
            return
        self._records += self._window.records
        self._rates.append(self._window.records / elapsed_s)
        p50, p99 = self._window.latencies.percentiles_ms(0.5, 0.99)
        self._p50s.append(p50)
        self._p99s.append(p99)
        self._live.update(self._screen(self._window, elapsed_s), refresh=True)
        self._window, self._window_began_s = Tally(), event.ended_s

    def _screen(self, window: Tally, elapsed_s: float) -> RenderableType:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(min_width=10)
        grid.add_column(justify="right", min_width=16)
        grid.add_column()
        rate = f"{self._rates[-1]:,.0f} records/s"
        grid.add_row("rate", rate, Text(curve(self._rates), "green"))
        grid.add_row("", f"{window.megabytes / elapsed_s:,.1f} MB/s", "")
        grid.add_row("p50", f"{self._p50s[-1]:,.2f} ms", Text(curve(self._p50s), "cyan"))
        grid.add_row("p99", f"{self._p99s[-1]:,.2f} ms", Text(curve(self._p99s), "yellow"))
        head = Text.assemble((self._title, "bold"), f"   {self._records:,} of {self._wanted:,} records")
        return Group(head, grid)


def curve(values: Sequence[float], width: int = CURVE_WIDTH) -> str:
    """The last values as bars, relative to the largest of them. Values above zero are always visible."""
    shown = values[-width:]
    largest = max(shown, default=0.0)
    if largest <= 0.0:
        return BARS[0] * len(shown)
    steps = len(BARS) - 1
    return "".join(BARS[max(1, round(value / largest * steps)) if value > 0.0 else 0] for value in shown)
