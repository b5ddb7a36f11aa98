"""What the broker may use while administrators race: memory, descriptors, log, and time for a well-behaved client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from tests.stress.broker import StressedBroker
from tests.stress.partition_history import Violation

LOOK_S = 0.2
MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """`latency_s` is generous, since a busy machine is not a fault: a broker that is stuck exceeds any of them."""

    latency_s: float
    growth_mebibytes: int
    descriptors: int = 300
    log_bytes_per_request: int = 400


RELEASE = Bounds(latency_s=30.0, growth_mebibytes=300)
# ThreadSanitizer keeps a shadow of all memory, and history of each thread.
SANITIZED = Bounds(latency_s=240.0, growth_mebibytes=3_000)


class Watch:
    """Looks at the broker's process again and again; Violation names the bound that it exceeded."""

    def __init__(self, broker: StressedBroker, bounds: Bounds) -> None:
        self.broker = broker
        self.bounds = bounds
        self.first_bytes = broker.resident_bytes()
        self.most_bytes = self.first_bytes

    def __str__(self) -> str:
        return f"from {self.first_bytes // MEBIBYTE} to at most {self.most_bytes // MEBIBYTE} MiB"

    async def run(self, over: asyncio.Event) -> None:
        while not over.is_set():
            self.look()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        if not self.broker.is_running:
            raise Violation(f"the broker ended:\n{self.broker.server.log()[-4_000:]}")
        resident = self.broker.resident_bytes()
        self.most_bytes = max(self.most_bytes, resident)
        if resident - self.first_bytes > self.bounds.growth_mebibytes * MEBIBYTE:
            raise Violation(
                f"the broker grew from {self.first_bytes // MEBIBYTE} to {resident // MEBIBYTE} MiB, by more than "
                f"{self.bounds.growth_mebibytes}"
            )
        descriptors = self.descriptors()
        if descriptors > self.bounds.descriptors:
            raise Violation(
                f"the broker has {descriptors} descriptors open that are not of segments, more than "
                f"{self.bounds.descriptors}"
            )

    def descriptors(self) -> int:
        """Open descriptors without those of segments in partition directories that exist.

        The number of partitions is what the race happens to create, and a deleted segment stays open until its delay is
        over. A file that is still open when its directory is gone or set aside counts.
        """
        directory = f"/proc/{self.broker.server.pid}/fd"
        return sum(not is_of_a_segment(link) for link in links(directory))


def links(directory: str) -> Iterator[str]:
    for name in os.listdir(directory):
        # Descriptors are closed while this looks at them.
        with suppress(FileNotFoundError):
            yield os.readlink(f"{directory}/{name}")


def is_of_a_segment(link: str) -> bool:
    parent = os.path.dirname(link)
    return link.endswith((".log", ".log.deleted")) and not parent.endswith("-delete") and os.path.isdir(parent)
