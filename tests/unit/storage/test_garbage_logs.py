"""A log that is part of a cycle of references closes its files through its disk, whatever the collector takes first."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from kcore.platform.disk import Disk
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.storage.log import Log
from tests.unit.storage.log_place import LogPlace, append_each, batch, read_all


def open_files(directory: Path) -> list[str]:
    """Those that this process has open below a directory, by what the kernel says."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
        if target.startswith(f"{directory}/"):
            found.append(target)
    return found


def leave_in_a_cycle(disk: Disk, directory: str) -> None:
    """A log, its disk and its listener that only know each other, with two segments and something to flush."""

    class Listener:
        def __init__(self) -> None:
            self.disk = disk
            self.log: Log | None = None

        def __call__(self, log: Log, error: OSError) -> None:
            raise AssertionError(error)

    listener = Listener()
    log = LogPlace(disk, directory).open({"index.interval.bytes": 0}, on_failure=listener)
    append_each(log, 5)
    log.roll()
    log.append(batch(value=bytes(100)))
    assert len(read_all(log)) == 6
    listener.log = log


@pytest.mark.parametrize("fails", [False, True], ids=["real", "failing"])
def test_a_collected_log_leaves_no_file_open(tmp_path: Path, fails: bool) -> None:
    gc.collect()
    gc.disable()
    try:
        disk: Disk = RealDisk()
        leave_in_a_cycle(FailingDisk(disk) if fails else disk, str(tmp_path / "orders-0"))
        del disk
        assert open_files(tmp_path), "a cycle ends by the collector alone"
        gc.collect()
        assert open_files(tmp_path) == []
    finally:
        gc.enable()


def test_a_collected_log_gives_its_memory_disk_everything_back() -> None:
    gc.collect()
    memory = MemoryDisk()
    leave_in_a_cycle(FailingDisk(memory), "/data/orders-0")
    gc.collect()
    assert memory.open_descriptors == 0
