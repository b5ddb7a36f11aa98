"""Offset checkpoints: Kafka's bytes, atomic replacement, and errors that name file, line, rule and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.platform.real_disk import RealDisk
from kcore.storage.checkpoints import CorruptFileError, OffsetCheckpoint, parse_checkpoint

# As a broker of Apache Kafka 3.9 writes it.
KAFKAS_FILE = b"0\n3\n__consumer_offsets 22 0\norders 0 1742\norders 1 9223372036854775807\n"
OFFSETS = {("__consumer_offsets", 22): 0, ("orders", 0): 1742, ("orders", 1): 2**63 - 1}


def test_kafkas_bytes_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    checkpoint = OffsetCheckpoint(RealDisk(), str(path))
    checkpoint.write(OFFSETS)
    assert path.read_bytes() == KAFKAS_FILE
    assert checkpoint.read() == OFFSETS
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name], "no temporary file stays"


def test_a_missing_file_is_empty_and_an_empty_checkpoint_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    checkpoint = OffsetCheckpoint(RealDisk(), str(path))
    assert checkpoint.read() == {}
    checkpoint.write({})
    assert path.read_bytes() == b"0\n0\n"
    assert checkpoint.read() == {}


def test_a_checkpoint_is_replaced_as_a_whole(tmp_path: Path) -> None:
    checkpoint = OffsetCheckpoint(RealDisk(), str(tmp_path / "checkpoint"))
    checkpoint.write(OFFSETS)
    checkpoint.write({("orders", 0): 1})
    assert checkpoint.read() == {("orders", 0): 1}


@pytest.mark.parametrize(
    ("content", "line", "rule"),
    [
        (b"", 1, "the file is empty"),
        (b"0\n1\na 0 1", 3, "the last line is incomplete"),
        (b"\n", 1, "'' is not the version, a whole number of at least 0"),
        (b"1\n0\n", 1, "version 1 is not supported; the supported version is 0"),
        (b"x\n0\n", 1, "'x' is not the version"),
        (b"0\n", 2, "'' is not the number of entries"),
        (b"0\n-1\n", 2, "'-1' is not the number of entries"),
        (b"0\n2\na 0 1\n", 2, "the file announces 2 entries, but has 1"),
        (b"0\n0\na 0 1\n", 2, "the file announces 0 entries, but has 1"),
        (b"0\n1\na 0\n", 3, "'a 0' is not a topic, a partition and an offset"),
        (b"0\n1\na 0 1 2\n", 3, "is not a topic, a partition and an offset"),
        (b"0\n1\na b 1\n", 3, "'b' is not the partition"),
        (b"0\n2\na 0 1\nb 1 -7\n", 4, "'-7' is not the offset"),
        (b"0\n2\na 0 1\na 0 1\n", 4, "partition a-0 is listed twice"),
        (b"0\n1\na 0 9223372036854775808\n", 3, "'9223372036854775808' is larger than the offset can be"),
        (b"0\n1\na 2147483648 1\n", 3, "'2147483648' is larger than the partition can be"),
        (b"0\n1\na 0 " + b"9" * 5_000 + b"\n", 3, "is larger than the offset can be"),
        (b"0\n1\n\xff 0 1\n", 0, "the bytes are not UTF-8"),
    ],
)
def test_damage_is_named(content: bytes, line: int, rule: str) -> None:
    with pytest.raises(CorruptFileError) as caught:
        parse_checkpoint("/data/recovery-point-offset-checkpoint", content)
    message = str(caught.value)
    assert caught.value.line == line
    assert rule in message
    assert message.startswith("/data/recovery-point-offset-checkpoint")
    assert message.endswith("remove the file: it is rebuilt from the logs")


def test_every_prefix_reads_or_is_named() -> None:
    for size in range(len(KAFKAS_FILE)):
        with pytest.raises(CorruptFileError):
            parse_checkpoint("checkpoint", KAFKAS_FILE[:size])
