"""Logs on both disks, and the promise that nothing of them stays in memory."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.storage.segment import live_segment_count
from tests.unit.storage.log_place import LogPlace


@pytest.fixture(autouse=True)
def _no_segment_stays() -> Iterator[None]:
    """Every reference to a segment is given back: one kept would keep its file open for ever."""
    yield
    if live_segment_count():
        gc.collect()
    assert live_segment_count() == 0


@pytest.fixture(params=["real", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LogPlace]:
    """A partition's directory on a real disk and on one in memory."""
    if request.param == "real":
        place = LogPlace(RealDisk(), str(tmp_path / "orders-0"))
    else:
        place = LogPlace(MemoryDisk(), "/data/orders-0")
    yield place
    place.let_go()
    if isinstance(place.disk, MemoryDisk):
        assert_nothing_open(place.disk)


@pytest.fixture
def memory_place() -> Iterator[LogPlace]:
    """A partition's directory in memory, under a clock of its own that starts at 1,000,000 ms."""
    disk = MemoryDisk(now_ms=1_000_000)
    place = LogPlace(disk, "/data/orders-0")
    yield place
    place.let_go()
    assert_nothing_open(disk)


def assert_nothing_open(disk: MemoryDisk) -> None:
    # What is at nought needs no collection, which is dear in a process of many tests.
    if disk.open_descriptors:
        gc.collect()
    assert disk.open_descriptors == 0
