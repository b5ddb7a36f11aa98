"""Our broker over partitions that Apache Kafka wrote: imported by the command, then observed like Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kcli.cli import run
from tests.broker_process import BrokerProcess
from tests.interchange.observation import Observation

FAST_PATH = "kcli.fast.path.enable"
NO_OFFSET = -1
# What is not a broker's to answer.
WHAT_OTHERS_SAY = ("rows", "committed_rows", "times")


def import_partitions(data_dir: Path, directories: Iterable[Path], *options: str) -> None:
    """Runs `kcli log import`, which has to succeed; what is old stays."""
    arguments = [*map(str, directories), "--data-dir", str(data_dir), "--config", "retention.ms=-1", "--yes", *options]
    assert run(["log", "import", *arguments]) == 0


def broker_over(data_dir: Path, *, fast: bool = True, **properties: str) -> BrokerProcess:
    """A broker on a data directory, through native code or through Python alone."""
    return BrokerProcess(data_dir, {FAST_PATH: str(fast).lower(), **properties})


def check_same(kafkas: Observation, ours: Observation, rows: Iterable[Any]) -> None:
    """Every answer is the other broker's; `rows` are the records, by offset, timestamp, key and value.

    Of times there is one difference: Apache Kafka looks into one segment, the first that might have the time by its
    largest timestamp, which cleaning and formats without timestamps make wrong; it then answers none where there are
    some.
    """
    for name, value in kafkas.items():
        if name not in WHAT_OTHERS_SAY:
            assert ours[name] == value, name
    offsets = [(row[0], row[1]) for row in rows]
    for kafka, own in zip(kafkas["times"], ours["times"], strict=True):
        if kafka["offset"] == NO_OFFSET and own["offset"] != NO_OFFSET:
            newer = [(offset, time) for offset, time in offsets if time >= kafka["asked"]]
            assert newer[:1] == [(own["offset"], own["timestamp"])] or own["timestamp"] > max(t for _, t in offsets)
        else:
            assert own == kafka


def with_text(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows as the golden answers have them."""
    return [[offset, time, *(None if data is None else data.decode() for data in row)] for offset, time, *row in rows]
