"""FailingDisk: what is planned fails, at the operation it was planned for, and nothing else does."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from kcore.platform.failing_disk import CHANGES, OPERATIONS, FailingDisk
from kcore.platform.memory_disk import MemoryDisk

WRITE_NEW = os.O_RDWR | os.O_CREAT


def fails_with(code: int) -> pytest.RaisesExc[OSError]:
    return pytest.raises(OSError, check=lambda error: error.errno == code)


def test_the_third_write_to_a_kind_of_file_fails() -> None:
    disk = FailingDisk(MemoryDisk())
    disk.fail(["pwritev"], errno.ENOSPC, path="*.log", at=3)
    log, other = disk.open("/a.log", WRITE_NEW), disk.open("/a.index", WRITE_NEW)
    disk.pwrite(log, b"1", 0)
    disk.pwrite(other, b"x", 0)
    disk.pwrite(log, b"2", 1)
    disk.pwrite(other, b"x", 1)
    with fails_with(errno.ENOSPC):
        disk.pwrite(log, b"3", 2)
    disk.pwrite(log, b"4", 2)
    assert disk.read_file("/a.log") == b"124"
    assert disk.read_file("/a.index") == b"xx"
    assert disk.injected == 1


def test_a_full_disk_stays_full_until_there_is_room() -> None:
    disk = FailingDisk(MemoryDisk())
    disk.fail(["pwritev", "create", "mkdir"], errno.ENOSPC, times=None)
    for _ in range(3):
        with fails_with(errno.ENOSPC):
            disk.mkdir("/d")
    disk.heal()
    disk.mkdir("/d")
    assert disk.injected == 3


def test_a_short_write_leaves_a_part() -> None:
    lengths = set()
    for seed in range(50):
        disk = FailingDisk(MemoryDisk(), seed)
        disk.fail(["pwritev"], errno.ENOSPC, short=True)
        with fails_with(errno.ENOSPC):
            disk.write_file("/a", b"0123456789")
        left = disk.read_file("/a")
        assert b"0123456789".startswith(left)
        lengths.add(len(left))
    assert lengths == set(range(10))


def test_a_change_may_be_made_and_fail() -> None:
    disk = FailingDisk(MemoryDisk())
    disk.fail(["mkdir"], done=True)
    with fails_with(errno.EIO):
        disk.mkdir("/d")
    assert disk.is_directory("/d")


def test_a_short_read_answers_fewer_bytes() -> None:
    disk = FailingDisk(MemoryDisk(), 3)
    disk.write_file("/a", b"0123456789")
    disk.fail(["pread"], short=True)
    assert len(disk.read_file("/a")) < 10
    assert disk.read_file("/a") == b"0123456789"


def test_chance_is_the_seeds() -> None:
    def failures(seed: int) -> list[bool]:
        disk = FailingDisk(MemoryDisk(), seed)
        disk.fail(["mkdir"], times=None, chance=0.3)
        outcomes = []
        for number in range(200):
            try:
                disk.mkdir(f"/{number}")
                outcomes.append(False)
            except OSError:
                outcomes.append(True)
        return outcomes

    assert failures(1) == failures(1)
    assert failures(1) != failures(2)
    assert 30 < sum(failures(1)) < 90


@pytest.mark.parametrize("end", ["source", "target"])
def test_a_rename_is_met_by_either_name(end: str) -> None:
    disk = FailingDisk(MemoryDisk())
    disk.write_file("/source", b"")
    disk.fail(["rename"], path=f"/{end}")
    with fails_with(errno.EIO):
        disk.rename("/source", "/target")
    assert disk.listdir("/") == ["source"]


def test_every_kind_of_operation_can_fail() -> None:
    disk = FailingDisk(MemoryDisk())
    descriptor = disk.open("/a", WRITE_NEW)
    disk.pwrite(descriptor, b"0123456789", 0)
    disk.mkdir("/d")
    disk.write_file("/b", b"")
    ours, theirs = socket.socketpair()
    calls = {
        "open": lambda: disk.open("/a"),
        "create": lambda: disk.open("/c", WRITE_NEW),
        "stat": lambda: disk.size("/a"),
        "pread": lambda: disk.pread(descriptor, 1, 0),
        "pwritev": lambda: disk.pwrite(descriptor, b"x", 0),
        "fallocate": lambda: disk.allocate(descriptor, 0, 100),
        "ftruncate": lambda: disk.truncate(descriptor, 5),
        "fdatasync": lambda: disk.fdatasync(descriptor),
        "mmap": lambda: disk.read_mapped(descriptor, 5),
        "rename": lambda: disk.rename("/b", "/e"),
        "unlink": lambda: disk.unlink("/b"),
        "mkdir": lambda: disk.mkdir("/f"),
        "rmdir": lambda: disk.rmdir("/d"),
        "readdir": lambda: disk.listdir("/"),
        "fsync_directory": lambda: disk.fsync_dir("/"),
        "lock": lambda: disk.lock("/a"),
        "sendfile": lambda: disk.sendfile(ours.fileno(), descriptor, 0, 5),
        "fstat": lambda: disk.read_file("/a"),
    }
    assert set(calls) == set(OPERATIONS)
    with ours, theirs:
        for operation, call in calls.items():
            disk.fail([operation], errno.EROFS)
            with fails_with(errno.EROFS):
                call()
            disk.heal()
    disk.close(descriptor)
    assert isinstance(disk.inner, MemoryDisk)
    assert disk.inner.open_descriptors == 0
    assert disk.inner.listdir("/") == ["a", "b", "d"]


def test_after_a_crash_nothing_works_and_nothing_changes() -> None:
    for seed in range(20):
        memory = MemoryDisk(volatile_cache=True)
        disk = FailingDisk(memory, seed)
        disk.crash_at(3)
        descriptor = disk.open("/a", WRITE_NEW)
        disk.pwrite(descriptor, b"first", 0)
        with fails_with(errno.EIO):
            disk.pwrite(descriptor, b"second", 5)
        assert disk.has_crashed
        left = memory.read_file("/a")
        assert b"firstsecond".startswith(left)
        assert left.startswith(b"first")
        with fails_with(errno.EIO):
            disk.read_file("/a")
        with fails_with(errno.EIO):
            disk.mkdir("/b")
        disk.close(descriptor)
        assert disk.changes == 3
        assert disk.recent_changes() == [("create", "/a"), ("pwritev", "/a"), ("pwritev", "/a")]
        disk.heal()
        assert disk.read_file("/a") == left


def test_the_sync_that_a_crash_meets_may_have_happened() -> None:
    kept = set()
    for seed in range(20):
        memory = MemoryDisk(volatile_cache=True)
        memory.write_file_atomically("/a", b"old")
        disk = FailingDisk(memory, seed)
        descriptor = disk.open("/a", os.O_RDWR)
        disk.pwrite(descriptor, b"new", 0)
        disk.crash_at(1)
        with fails_with(errno.EIO):
            disk.fdatasync(descriptor)
        disk.close(descriptor)
        memory.restore_power()
        kept.add(memory.read_file("/a"))
    assert kept == {b"old", b"new"}


def test_wrong_plans_are_refused() -> None:
    disk = FailingDisk(MemoryDisk())
    with pytest.raises(ValueError, match="frobnicate"):
        disk.fail(["frobnicate"])
    with pytest.raises(ValueError, match="from 0 to 1"):
        disk.fail(["pread"], chance=1.5)
    with pytest.raises(ValueError, match="counted from 1"):
        disk.crash_at(0)
    assert set(CHANGES) < set(OPERATIONS)
