"""`partition.metadata`: Kafka's bytes, and errors that name file, line, rule and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore import uuid
from kcore.platform.real_disk import RealDisk
from kcore.storage.checkpoints import CorruptFileError
from kcore.storage.partition_metadata import parse_topic_id, read_topic_id, write_topic_id

TEXT = "0Qftv9yBTAmf2iDPSlIk7g"
# As Kafka's PartitionMetadata.encode makes it: no newline at the end.
KAFKAS_FILE = b"version: 0\ntopic_id: 0Qftv9yBTAmf2iDPSlIk7g"


def test_kafkas_bytes_are_read_and_written(tmp_path: Path) -> None:
    disk = RealDisk()
    assert read_topic_id(disk, str(tmp_path)) is None
    write_topic_id(disk, str(tmp_path), uuid.from_text(TEXT))
    assert (tmp_path / "partition.metadata").read_bytes() == KAFKAS_FILE
    assert read_topic_id(disk, str(tmp_path)) == uuid.from_text(TEXT)


def test_a_newline_at_the_end_does_no_harm() -> None:
    assert parse_topic_id("partition.metadata", KAFKAS_FILE + b"\n") == uuid.from_text(TEXT)


@pytest.mark.parametrize(
    ("content", "line", "rule"),
    [
        (b"", 1, "'' is not `version: ...`"),
        (b"topic_id: x\n", 1, "is not `version: ...`"),
        (
            b"version: 1\ntopic_id: 0Qftv9yBTAmf2iDPSlIk7g",
            1,
            "version '1' is not supported; the supported version is 0",
        ),
        (b"version: 0", 2, "'' is not `topic_id: ...`"),
        (b"version: 0\ntopic_id: short", 2, "'short' is not a uuid"),
        (b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", 2, "the topic id is zero"),
        (b"version: 0\ntopic_id \xff", 2, "is not `topic_id: ...`"),
    ],
)
def test_damage_is_named(content: bytes, line: int, rule: str) -> None:
    with pytest.raises(CorruptFileError) as caught:
        parse_topic_id("/data/orders-0/partition.metadata", content)
    assert str(caught.value).startswith(f"/data/orders-0/partition.metadata, line {line}: ")
    assert rule in str(caught.value)
    assert "restore the file" in str(caught.value)
