"""The text files of a log directory: checkpoints, leader epochs, meta.properties, partition.metadata, clean logs.

    which uint8 | the file's bytes

Each is understood, and then written again it is understood the same; or it is refused by name, with the rule and the
remedy. Where a damaged file counts as missing, the reader says so by its answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kcore import uuid
from kcore.platform.memory_disk import MemoryDisk
from kcore.storage.checkpoints import CorruptFileError, OffsetCheckpoint, parse_checkpoint
from kcore.storage.clean_shutdown_state import (
    format_clean_state,
    parse_clean_state,
    take_clean_state,
    write_clean_state,
)
from kcore.storage.leader_epoch_cache import LeaderEpochCache
from kcore.storage.meta_properties import parse_meta_properties, read_meta_properties, write_meta_properties
from kcore.storage.partition_metadata import parse_topic_id, read_topic_id, write_topic_id
from tests.fuzz.mutation import mutated_text
from tests.fuzz.targets import Target

PATH = "/data/file"
LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
NAMES = ("orders", "__consumer_offsets", "a.b_c-9", "ä")
NUMBERS = (0, 1, 7, 1742, INT_MAX, LONG_MAX, LONG_MAX + 1, 2**31)


class Checkpoints(Target):
    name = "checkpoints"
    cases_per_seed = 5000

    def __init__(self) -> None:
        self.disk = MemoryDisk()
        self.disk.mkdirs("/data")
        self.kinds: list[tuple[Callable[[random.Random], bytes], Callable[[bytes], None]]] = [
            (offset_checkpoint, self.check_offsets),
            (leader_epochs, self.check_epochs),
            (meta_properties, self.check_meta),
            (partition_metadata, self.check_topic_id),
            (clean_state, self.check_clean_state),
        ]

    def generate(self, source: random.Random, seed: int) -> bytes:
        which = source.randrange(len(self.kinds))
        text = self.kinds[which][0](source)
        return bytes((which,)) + (mutated_text(source, text) if source.random() < 0.9 else text)

    def check(self, data: bytes) -> None:
        if data:
            self.kinds[data[0] % len(self.kinds)][1](data[1:])

    def check_offsets(self, content: bytes) -> None:
        try:
            offsets = parse_checkpoint(PATH, content)
        except CorruptFileError as error:
            assert_named(error)
            return
        assert all(0 <= partition <= INT_MAX and 0 <= offset <= LONG_MAX for (_, partition), offset in offsets.items())
        checkpoint = OffsetCheckpoint(self.disk, PATH)
        checkpoint.write(offsets)
        assert checkpoint.read() == offsets

    def check_epochs(self, content: bytes) -> None:
        """A file that cannot be understood makes the log be read again; it is never an error."""
        self.disk.write_file_atomically(PATH, content)
        cache = LeaderEpochCache(self.disk, PATH.encode())
        if not cache.load():
            assert cache.snapshot() == []
            return
        epochs = cache.snapshot()
        assert epochs == sorted(epochs)
        assert all(0 <= epoch <= INT_MAX and 0 <= offset <= LONG_MAX for epoch, offset in epochs)

    def check_meta(self, content: bytes) -> None:
        try:
            meta = parse_meta_properties(PATH, content)
        except CorruptFileError as error:
            assert_named(error)
            return
        assert meta.node_id is None or 0 <= meta.node_id <= INT_MAX
        write_meta_properties(self.disk, "/data", meta)
        again = read_meta_properties(self.disk, "/data")
        assert again is not None
        assert again.properties() == meta.properties()

    def check_topic_id(self, content: bytes) -> None:
        try:
            topic_id = parse_topic_id(PATH, content)
        except CorruptFileError as error:
            assert_named(error)
            return
        assert len(topic_id) == uuid.SIZE
        write_topic_id(self.disk, "/data", topic_id)
        assert read_topic_id(self.disk, "/data") == topic_id

    def check_clean_state(self, content: bytes) -> None:
        logs = parse_clean_state(content)
        if logs is None:
            return
        for (_, partition), numbers in logs.items():
            assert 0 <= partition <= INT_MAX
            assert all(-1 <= number <= LONG_MAX for number in numbers)
        write_clean_state(self.disk, "/data", logs)
        assert take_clean_state(self.disk, "/data") == logs


def assert_named(error: CorruptFileError) -> None:
    """The error names the file, the line, the rule and the remedy, in a line that can be read."""
    assert error.path == PATH
    assert error.line >= 0
    assert error.rule
    assert error.remedy
    assert len(str(error)) < 1000


def offset_checkpoint(source: random.Random) -> bytes:
    entries = {
        (source.choice(NAMES), source.choice(NUMBERS)): source.choice(NUMBERS) for _ in range(source.randrange(5))
    }
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in entries.items()]
    return "\n".join(["0", str(len(lines)), *lines, ""]).encode()


def leader_epochs(source: random.Random) -> bytes:
    epochs = sorted({(source.choice(NUMBERS), source.choice(NUMBERS)) for _ in range(source.randrange(5))})
    return "\n".join(["0", str(len(epochs)), *(f"{epoch} {offset}" for epoch, offset in epochs), ""]).encode()


def meta_properties(source: random.Random) -> bytes:
    lines = ["#", "cluster.id=mvrzJFkYTLCpF0j0Wz4wWw"]
    if source.random() < 0.5:
        lines += [
            "version=1",
            f"node.id={source.choice(NUMBERS)}",
            "directory.id=8bCsVfjYQkiKYLTfAJvcaQ",
            "a\\ b=\\u00e4",
        ]
    else:
        lines += ["version=0", f"broker.id={source.choice(NUMBERS)}"]
    source.shuffle(lines)
    return "\n".join([*lines, ""]).encode()


def partition_metadata(source: random.Random) -> bytes:
    return f"version: 0\ntopic_id: {uuid.to_text(source.randbytes(16))}".encode()


def clean_state(source: random.Random) -> bytes:
    logs = {}
    for topic in source.sample(NAMES, source.randrange(len(NAMES))):
        logs[topic, source.choice(NUMBERS)] = tuple(source.choice((-1, *NUMBERS)) for _ in range(7))
    return format_clean_state(logs)


def make() -> Checkpoints:
    return Checkpoints()
