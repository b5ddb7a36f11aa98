"""What every scenario asks of a consuming client; each client has its own module that puts it in its own calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tests.interop.series import Received

# How long a scenario waits for the next record, an assignment or an answer, on a loaded machine.
TIMEOUT_S = 120.0


class InteropConsumer(Protocol):
    """Default settings beyond what a method says; no offset is committed but by `commit`.

    It is made with a server, a group or None, and settings in its own words.
    Offsets are asked for before `assign`: afterwards a long-polling fetch may stand before them on the connection.
    """

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset behind the last record of every partition."""

    def offsets_for_timestamp(self, topic: str, timestamp: int) -> dict[int, int | None]:
        """Of every partition the first offset that has this timestamp or a later one; None where there is none."""

    def assign(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Reads these partitions from these offsets on."""

    def subscribe(self, topic: str) -> None:
        """Joins the group, from the beginning where nothing was committed; commits when partitions are taken away."""

    def assigned(self) -> bool:
        """Whether the group has given it a partition."""

    def poll(self, limit: int, timeout_s: float) -> list[Received]:
        """What comes next: some records, or none within the time."""

    def commit(self) -> bool:
        """The positions behind what `poll` has given out; False when the group does not know it as a member."""

    def close(self) -> None:
        """Leaves the group too."""
