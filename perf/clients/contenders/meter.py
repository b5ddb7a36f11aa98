"""What every contender is measured with."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from perf.clients.turn import Result, Task

WARM_UP_RECORDS = 500
WARM_UP_ROUNDS = 50
PERCENTILES = {"p50": 0.50, "p99": 0.99}


class Meter:
    """Elapsed and CPU time of what is within."""

    def __enter__(self) -> Self:
        self._began_s, self._cpu_s = time.perf_counter(), time.process_time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.elapsed_s = time.perf_counter() - self._began_s
        self.cpu_s = time.process_time() - self._cpu_s

    def result(self, records: int) -> Result:
        return Result(records, self.elapsed_s, self.cpu_s)


def paced(task: Task, exchange: Callable[[], tuple[float, float]]) -> Result:
    """Calls `exchange` so often a second; it gives the seconds until a record was acknowledged, and was read."""
    for _ in range(WARM_UP_ROUNDS):
        exchange()
    acknowledged, read = [], []
    with Meter() as meter:
        began_s = time.perf_counter()
        for number in range(task.records):
            left_s = began_s + number / task.rate - time.perf_counter()
            if left_s > 0.0:
                time.sleep(left_s)
            times = exchange()
            acknowledged.append(times[0])
            read.append(times[1])
    result = meter.result(task.records)
    result.latency_ms = summary("ack", acknowledged) | summary("e2e", read)
    return result


def summary(name: str, latencies_s: list[float]) -> dict[str, float]:
    ordered = sorted(latencies_s)
    values = {
        f"{name}_{key}": ordered[int(fraction * (len(ordered) - 1))] * 1e3 for key, fraction in PERCENTILES.items()
    }
    return values | {f"{name}_avg": sum(ordered) / len(ordered) * 1e3}
