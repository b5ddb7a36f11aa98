"""What a loss of power leaves of a MemoryDisk: all that was synced, and by a seed some of what was not."""

from __future__ import annotations

import os

import pytest

from kcore.platform.memory_disk import MemoryDisk

WRITE_NEW = os.O_RDWR | os.O_CREAT
PAGE = 4096
SEEDS = range(300)


def synced_file(disk: MemoryDisk, path: str, content: bytes) -> int:
    """A file that is wholly durable, name and all; still open."""
    descriptor = disk.open(path, WRITE_NEW)
    disk.pwrite(descriptor, content, 0)
    disk.fdatasync(descriptor)
    disk.fsync_dir("/")
    return descriptor


def contents_after_loss(write: bytes, position: int, old: bytes) -> set[bytes]:
    """What a file can hold that had one unsynced write."""
    found = set()
    for seed in SEEDS:
        disk = MemoryDisk(volatile_cache=True)
        disk.pwrite(synced_file(disk, "/a", old), write, position)
        disk.restore_power(seed)
        found.add(disk.read_file("/a"))
    return found


def test_without_a_seed_only_what_was_synced_is_left() -> None:
    disk = MemoryDisk(volatile_cache=True)
    descriptor = synced_file(disk, "/a", b"durable")
    disk.pwrite(descriptor, b"volatile", 7)
    disk.mkdir("/b")
    disk.restore_power()
    assert disk.read_file("/a") == b"durable"
    assert disk.listdir("/") == ["a"]
    assert disk.open_descriptors == 0


def test_a_small_write_survives_or_not() -> None:
    found = contents_after_loss(b"new", 3, b"old")
    assert {b"old", b"oldnew", b"old\0\0\0"} == found


def test_pages_survive_one_by_one_and_may_be_torn() -> None:
    old, new = b"o" * 3 * PAGE, b"n" * 3 * PAGE
    found = contents_after_loss(new, 0, old)
    assert {old, new} < found
    pages = {content for content in found if all(len(set(content[at : at + PAGE])) == 1 for at in (0, PAGE, 2 * PAGE))}
    assert len(pages) == 2**3
    torn = found - pages
    assert torn
    # A sector is never torn.
    assert all(len(set(content[at : at + 512])) == 1 for content in torn for at in range(0, 3 * PAGE, 512))


def test_appended_pages_may_be_missing_below_the_end() -> None:
    found = contents_after_loss(b"n" * 2 * PAGE, PAGE, b"o" * PAGE)
    hole = b"o" * PAGE + bytes(PAGE) + b"n" * PAGE
    assert hole in found
    assert all(content.startswith(b"o" * PAGE) for content in found), "what was synced is never touched"
    assert {len(content) // PAGE for content in found} == {1, 2, 3}


def test_whole_writes_survive_one_by_one_or_in_their_order() -> None:
    found = set()
    for seed in SEEDS:
        disk = MemoryDisk(volatile_cache=True)
        descriptor = synced_file(disk, "/a", b"")
        for position, letter in enumerate(b"abc"):
            disk.pwrite(descriptor, bytes([letter]), position)
        disk.restore_power(seed)
        found.add(disk.read_file("/a"))
    assert {b"", b"a", b"ab", b"abc", b"\0bc", b"\0\0c"} <= found


def test_a_cut_may_be_undone_by_the_loss() -> None:
    found = set()
    for seed in SEEDS:
        disk = MemoryDisk(volatile_cache=True)
        disk.truncate(synced_file(disk, "/a", b"0123456789"), 4)
        disk.restore_power(seed)
        found.add(disk.read_file("/a"))
    assert {b"0123", b"0123456789"} <= found
    assert all(b"0123456789".startswith(content) and len(content) >= 4 for content in found)


def test_names_survive_in_their_order() -> None:
    found = set()
    for seed in SEEDS:
        disk = MemoryDisk(volatile_cache=True)
        synced_file(disk, "/a", b"x")
        disk.rename("/a", "/b")
        disk.write_file("/c", b"y")
        disk.unlink("/b")
        disk.restore_power(seed)
        found.add(tuple(disk.listdir("/")))
    assert found == {("a",), ("b",), ("b", "c"), ("c",)}


def test_a_replacement_shows_the_old_file_or_the_new_one() -> None:
    found = set()
    for seed in SEEDS:
        disk = MemoryDisk(volatile_cache=True)
        synced_file(disk, "/a", b"old")
        descriptor = disk.open("/a.tmp", WRITE_NEW)
        disk.pwrite(descriptor, b"new", 0)
        disk.fdatasync(descriptor)
        disk.rename("/a.tmp", "/a")
        disk.restore_power(seed)
        found.add(disk.read_file("/a"))
    assert found == {b"old", b"new"}


def test_a_name_of_an_unsynced_directory_takes_what_is_below_with_it() -> None:
    disk = MemoryDisk(volatile_cache=True)
    disk.mkdir("/d")
    disk.write_file_atomically("/d/a", b"synced, and its name too")
    disk.restore_power()
    assert disk.listdir("/") == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_seed_leaves_the_same(seed: int) -> None:
    def survivors() -> dict[str, bytes]:
        disk = MemoryDisk(volatile_cache=True)
        for number in range(20):
            disk.write_file(f"/{number:02d}", b"%d" % number * PAGE)
        disk.restore_power(seed)
        return {name: disk.read_file(f"/{name}") for name in disk.listdir("/")}

    assert survivors() == survivors()


def test_what_survived_is_durable() -> None:
    disk = MemoryDisk(volatile_cache=True)
    for number in range(20):
        disk.write_file(f"/{number:02d}", b"x" * 3 * PAGE)
    disk.restore_power(5)
    first = {name: disk.read_file(f"/{name}") for name in disk.listdir("/")}
    disk.restore_power(6)
    assert {name: disk.read_file(f"/{name}") for name in disk.listdir("/")} == first


def test_a_file_removed_but_not_durably_comes_back_whole() -> None:
    disk = MemoryDisk(volatile_cache=True)
    disk.close(synced_file(disk, "/a", b"kept"))
    disk.unlink("/a")
    disk.restore_power()
    assert disk.read_file("/a") == b"kept"
