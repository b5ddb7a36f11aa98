"""Every disk does the same: one suite for the real table, the in-memory one, and the failing one without a plan."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.platform.disk import Disk
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk

WRITE_NEW = os.O_RDWR | os.O_CREAT


class Place:
    """A disk and a directory of it that is empty."""

    def __init__(self, disk: Disk, root: str) -> None:
        self.disk = disk
        self.root = root

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def make(self, name: str, content: bytes = b"") -> str:
        self.disk.write_file_atomically(self.path(name), content)
        return self.path(name)


@pytest.fixture(params=["real", "memory", "failing"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "real":
        yield Place(RealDisk(), str(tmp_path))
        return
    memory = MemoryDisk()
    disk = FailingDisk(memory) if request.param == "failing" else memory
    disk.mkdirs("/data/broker")
    yield Place(disk, "/data/broker")
    assert memory.open_descriptors == 0


def fails_with(code: int) -> pytest.RaisesExc[OSError]:
    return pytest.raises(OSError, check=lambda error: error.errno == code)


def test_written_bytes_are_read_back_at_any_position(place: Place) -> None:
    descriptor = place.disk.open(place.path("a"), WRITE_NEW)
    assert place.disk.pwrite(descriptor, b"0123456789", 0) == 10
    assert place.disk.pwrite(descriptor, b"xy", 4) == 2
    assert place.disk.pread(descriptor, 100, 0) == b"0123xy6789"
    assert place.disk.pread(descriptor, 3, 8) == b"89"
    assert place.disk.pread(descriptor, 3, 10) == b""
    place.disk.close(descriptor)
    assert place.disk.size(place.path("a")) == 10


def test_a_write_past_the_end_leaves_zeros_between(place: Place) -> None:
    descriptor = place.disk.open(place.path("a"), WRITE_NEW)
    place.disk.pwrite(descriptor, b"z", 70_000)
    assert place.disk.pread(descriptor, 70_001, 0) == bytes(70_000) + b"z"
    place.disk.close(descriptor)


def test_truncation_forgets_bytes_for_good(place: Place) -> None:
    descriptor = place.disk.open(place.path("a"), WRITE_NEW)
    place.disk.pwrite(descriptor, b"x" * 10_000, 0)
    place.disk.truncate(descriptor, 3)
    place.disk.truncate(descriptor, 9_000)
    assert place.disk.pread(descriptor, 10_000, 0) == b"xxx" + bytes(8_997)
    place.disk.close(descriptor)


def test_allocation_extends_and_never_shortens(place: Place) -> None:
    descriptor = place.disk.open(place.path("a"), WRITE_NEW)
    place.disk.allocate(descriptor, 0, 100)
    place.disk.allocate(descriptor, 0, 10)
    assert place.disk.size(place.path("a")) == 100
    with fails_with(errno.EINVAL):
        place.disk.allocate(descriptor, 0, 0)
    place.disk.close(descriptor)


def test_open_flags_mean_what_the_kernel_means(place: Place) -> None:
    path = place.make("a", b"content")
    with fails_with(errno.EEXIST):
        place.disk.open(path, WRITE_NEW | os.O_EXCL)
    with fails_with(errno.ENOENT):
        place.disk.open(place.path("missing"))
    with fails_with(errno.ENOENT):
        place.disk.open(place.path("missing/a"), WRITE_NEW)
    with fails_with(errno.ENOTDIR):
        place.disk.open(f"{path}/b", WRITE_NEW)
    with fails_with(errno.EISDIR):
        place.disk.open(place.root, os.O_RDWR)
    place.disk.close(place.disk.open(path, os.O_RDWR | os.O_TRUNC))
    assert place.disk.read_file(path) == b""


def test_a_descriptor_allows_only_what_it_was_opened_for(place: Place) -> None:
    path = place.make("a", b"content")
    reader = place.disk.open(path, os.O_RDONLY)
    writer = place.disk.open(path, os.O_WRONLY)
    with fails_with(errno.EBADF):
        place.disk.pwrite(reader, b"x", 0)
    with fails_with(errno.EBADF):
        place.disk.pread(writer, 1, 0)
    with fails_with(errno.EINVAL):
        place.disk.truncate(reader, 0)
    place.disk.close(reader)
    place.disk.close(writer)
    with fails_with(errno.EBADF):
        place.disk.close(writer)


def test_an_open_file_outlives_its_name(place: Place) -> None:
    path = place.make("a", b"content")
    descriptor = place.disk.open(path)
    place.disk.unlink(path)
    assert not place.disk.exists(path)
    assert place.disk.pread(descriptor, 100, 0) == b"content"
    place.disk.close(descriptor)


def test_a_mapping_shows_the_files_bytes(place: Place) -> None:
    path = place.make("a", b"x" * 5_000)
    descriptor = place.disk.open(path)
    assert place.disk.read_mapped(descriptor, 5_000) == b"x" * 5_000
    assert place.disk.read_mapped(descriptor, 10) == b"x" * 10
    with fails_with(errno.EINVAL):
        place.disk.read_mapped(descriptor, 0)
    place.disk.close(descriptor)


def test_rename_replaces_a_file_and_moves_a_directory(place: Place) -> None:
    first, second = place.make("a", b"first"), place.make("b", b"second")
    place.disk.rename(first, second)
    assert place.disk.read_file(second) == b"first"
    assert not place.disk.exists(first)
    place.disk.mkdirs(place.path("d/e"))
    place.make("d/e/f", b"deep")
    place.disk.rename(place.path("d"), place.path("moved"))
    assert place.disk.read_file(place.path("moved/e/f")) == b"deep"
    assert place.disk.entries(place.root) == [("b", False), ("moved", True)]


def test_rename_refuses_what_makes_no_sense(place: Place) -> None:
    path = place.make("a")
    place.disk.mkdirs(place.path("d/full"))
    place.disk.mkdir(place.path("empty"))
    with fails_with(errno.ENOENT):
        place.disk.rename(place.path("missing"), path)
    with fails_with(errno.ENOENT):
        place.disk.rename(path, place.path("missing/a"))
    with fails_with(errno.EISDIR):
        place.disk.rename(path, place.path("d"))
    with fails_with(errno.ENOTDIR):
        place.disk.rename(place.path("d"), path)
    with fails_with(errno.ENOTEMPTY):
        place.disk.rename(place.path("empty"), place.path("d"))
    with fails_with(errno.EINVAL):
        place.disk.rename(place.path("d"), place.path("d/full/d"))
    place.disk.rename(place.path("d"), place.path("empty"))
    assert place.disk.listdir(place.path("empty")) == ["full"]


def test_directories_are_made_listed_and_removed(place: Place) -> None:
    place.disk.mkdirs(place.path("x/y"))
    place.disk.mkdirs(place.path("x/y"))
    place.make("x/file")
    assert place.disk.entries(place.path("x")) == [("file", False), ("y", True)]
    assert place.disk.is_directory(place.path("x/y"))
    assert not place.disk.is_directory(place.path("x/file"))
    with fails_with(errno.EEXIST):
        place.disk.mkdir(place.path("x"))
    with fails_with(errno.EEXIST):
        place.disk.mkdirs(place.path("x/file"))
    with fails_with(errno.ENOTEMPTY):
        place.disk.rmdir(place.path("x"))
    with fails_with(errno.ENOTDIR):
        place.disk.rmdir(place.path("x/file"))
    with fails_with(errno.EISDIR):
        place.disk.unlink(place.path("x"))
    with fails_with(errno.ENOTDIR):
        place.disk.listdir(place.path("x/file"))
    place.disk.rmdir(place.path("x/y"))
    assert place.disk.listdir(place.path("x")) == ["file"]


def test_a_missing_file_is_named_in_the_error(place: Place) -> None:
    for attempt in (place.disk.read_file, place.disk.size, place.disk.unlink, place.disk.rmdir, place.disk.fsync_dir):
        with pytest.raises(FileNotFoundError) as caught:
            attempt(place.path("missing"))
        assert caught.value.filename == place.path("missing")
    place.disk.unlink(place.path("missing"), missing_ok=True)
    assert not place.disk.exists(place.path("missing"))


def test_a_lock_is_held_until_its_descriptor_closes(place: Place) -> None:
    holder = place.disk.lock(place.path(".lock"))
    with pytest.raises(BlockingIOError):
        place.disk.lock(place.path(".lock"))
    place.disk.close(holder)
    place.disk.close(place.disk.lock(place.path(".lock")))


def test_an_atomic_write_leaves_no_temporary_file(place: Place) -> None:
    path = place.make("a", b"old")
    place.disk.write_file_atomically(path, b"new" * 1_000)
    assert place.disk.read_file(path) == b"new" * 1_000
    assert place.disk.listdir(place.root) == ["a"]
    with fails_with(errno.ENOENT):
        place.disk.write_file_atomically(place.path("missing/a"), b"")


def test_a_range_is_copied_to_a_new_file(place: Place) -> None:
    content = os.urandom(2_500_000)
    source = place.make("a", content)
    assert place.disk.copy_range(source, place.path("b"), 1_000) == len(content) - 1_000
    assert place.disk.read_file(place.path("b")) == content[1_000:]


def test_sendfile_sends_the_files_bytes(place: Place) -> None:
    descriptor = place.disk.open(place.make("a", b"0123456789"))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert place.disk.sendfile(ours.fileno(), descriptor, 3, 4) == 4
        assert place.disk.sendfile(ours.fileno(), descriptor, 10, 4) == 0
        assert place.disk.sendfile(ours.fileno(), descriptor, 8, 100) == 2
        assert theirs.recv(100) == b"345689"
    place.disk.close(descriptor)


def test_sendfile_says_when_a_socket_takes_no_more(place: Place) -> None:
    descriptor = place.disk.open(place.make("a", bytes(60_000)))
    ours, theirs = socket.socketpair()

    def fill() -> None:
        for _ in range(1_000):
            place.disk.sendfile(ours.fileno(), descriptor, 0, 60_000)

    with ours, theirs:
        ours.setblocking(False)
        with pytest.raises(BlockingIOError):
            fill()
    place.disk.close(descriptor)


def test_modification_times_follow_the_disks_clock(place: Place) -> None:
    before = place.disk.now_ms()
    path = place.make("a", b"x")
    # The kernel stamps files with a coarser clock than the one it tells.
    assert before - 100 <= place.disk.modified_ms(path) <= place.disk.now_ms()
    first = place.disk.monotonic_ns()
    assert place.disk.monotonic_ns() >= first


def test_a_clock_of_its_own_moves_only_when_told() -> None:
    disk = MemoryDisk(now_ms=1_000)
    assert (disk.now_ms(), disk.monotonic_ns()) == (1_000, 1_000_000_000)
    disk.advance(250)
    assert (disk.now_ms(), disk.monotonic_ns()) == (1_250, 1_250_000_000)
    with pytest.raises(ValueError, match="forward"):
        disk.advance(-1)
    with pytest.raises(ValueError, match="now_ms"):
        MemoryDisk().advance(1)


def test_a_file_in_memory_has_a_bound() -> None:
    disk = MemoryDisk(max_file_bytes=100_000)
    descriptor = disk.open("/a", WRITE_NEW)
    with fails_with(errno.EFBIG):
        disk.pwrite(descriptor, b"x", 100_000)
    disk.close(descriptor)
