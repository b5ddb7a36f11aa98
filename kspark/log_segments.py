"""Finds segment files and splits them at batch boundaries from the offset index.

PATH/orders-0/00000000000000000042.log        PATH is a log directory or the directory of one partition
"""

from __future__ import annotations

import itertools
import os
import struct
from typing import NamedTuple

from kspark.options import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LOG, INDEX = ".log", ".index"
# Entry of an offset index: relative offset and position, 32 bits each.
INDEX_ENTRY = struct.Struct(">ii")


class SegmentSplit(NamedTuple):
    """Bytes `start` (inclusive) to `end` (exclusive) of a segment. Both are batch boundaries."""

    path: str
    topic: str
    partition: int
    start: int
    end: int


def splits(path: str, most_bytes: int) -> list[SegmentSplit]:
    """Split every segment under `path` into about `most_bytes` each. Raises OptionError if there is no segment."""
    found = [split for directory in _partition_directories(path) for split in _of_partition(directory, most_bytes)]
    if not found:
        raise OptionError(
            f"{path} has no segment files. Pass a log directory, which contains directories such as orders-0, "
            "or a partition directory"
        )
    return found


def _partition_directories(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        raise OptionError(f"{path} is not a directory on this machine. Every executor must be able to read it")
    if _place(os.path.basename(os.path.normpath(path))) and _segments(path):
        yield path
        return
    for name in sorted(os.listdir(path)):
        directory = os.path.join(path, name)
        if _place(name) and os.path.isdir(directory):
            yield directory


def _place(name: str) -> tuple[str, int] | None:
    """Return topic and partition of a directory; None for other directories, also those marked for deletion."""
    topic, dash, number = name.rpartition("-")
    return (topic, int(number)) if dash and topic and number.isdecimal() else None


def _segments(directory: str) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.endswith(LOG) and name[: -len(LOG)].isdecimal())


def _of_partition(directory: str, most_bytes: int) -> Iterator[SegmentSplit]:
    place = _place(os.path.basename(os.path.normpath(directory)))
    assert place is not None
    for name in _segments(directory):
        path = os.path.join(directory, name)
        size = os.stat(path).st_size
        starts = [0, *_cuts(path[: -len(LOG)] + INDEX, size, most_bytes), size]
        for start, end in itertools.pairwise(starts):
            if end > start:
                yield SegmentSplit(path, *place, start, end)


def _cuts(index: str, size: int, most_bytes: int) -> Iterator[int]:
    """Yield the positions at which to split a segment; none if its offset index is missing."""
    if size <= most_bytes or not os.path.exists(index):
        return
    with open(index, "rb") as file:
        data = file.read()
    last = 0
    for _, position in INDEX_ENTRY.iter_unpack(data[: len(data) // INDEX_ENTRY.size * INDEX_ENTRY.size]):
        if last + most_bytes <= position < size:
            last = position
            yield position
