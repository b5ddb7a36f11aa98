"""`meta.properties`: what Kafka wrote is understood, what is written Kafka understands, damage is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore import uuid
from kcore.platform.real_disk import RealDisk
from kcore.storage.checkpoints import CorruptFileError
from kcore.storage.meta_properties import (
    MetaProperties,
    parse_meta_properties,
    read_meta_properties,
    write_meta_properties,
)

DIRECTORY_ID = "8bCsVfjYQkiKYLTfAJvcaQ"
KRAFTS_FILE = f"""#
#Sat Nov 21 02:40:49 UTC 2026
node.id=3
directory.id={DIRECTORY_ID}
version=1
cluster.id=mvrzJFkYTLCpF0j0Wz4wWw
""".encode()
ZOOKEEPER_MODES_FILE = b"#\n#Sat Nov 21 02:40:49 UTC 2026\nbroker.id=1001\nversion=0\ncluster.id=a\\=b\n"


def test_a_file_of_kraft_is_understood() -> None:
    meta = parse_meta_properties("meta.properties", KRAFTS_FILE)
    assert (meta.version, meta.node_id, meta.cluster_id) == (1, 3, "mvrzJFkYTLCpF0j0Wz4wWw")
    assert meta.directory_id == uuid.from_text(DIRECTORY_ID)


def test_a_file_of_zookeeper_mode_is_understood() -> None:
    meta = parse_meta_properties("meta.properties", ZOOKEEPER_MODES_FILE)
    assert (meta.version, meta.node_id, meta.cluster_id, meta.directory_id) == (0, 1001, "a=b", None)


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_written_is_read_again(tmp_path: Path, version: int) -> None:
    disk = RealDisk()
    assert read_meta_properties(disk, str(tmp_path)) is None
    written = MetaProperties("a: =#!\\ \n", 3, uuid.from_text(DIRECTORY_ID), version, {"their key": "kept"})
    write_meta_properties(disk, str(tmp_path), written)
    meta = read_meta_properties(disk, str(tmp_path))
    assert meta is not None
    assert meta.properties() == written.properties()


def test_the_bytes_of_a_new_directory(tmp_path: Path) -> None:
    write_meta_properties(RealDisk(), str(tmp_path), MetaProperties("c", 1, uuid.from_text(DIRECTORY_ID)))
    assert (tmp_path / "meta.properties").read_text() == (
        f"#\ncluster.id=c\ndirectory.id={DIRECTORY_ID}\nnode.id=1\nversion=1\n"
    )


@pytest.mark.parametrize(
    ("content", "where", "rule"),
    [
        (b"version=2\n", ", line 1", "version '2' is unknown, only 0 and 1 are known"),
        (b"cluster.id=c\nversion=1\n", "", "version 1 needs node.id"),
        (b"node.id=1\nversion=1\n", "", "version 1 needs cluster.id"),
        (
            b"version=1\ncluster.id=c\nnode.id=one\n",
            ", line 3",
            "node.id 'one' is not a whole number from 0 to 2147483647",
        ),
        (b"version=0\nbroker.id=-1\n", ", line 2", "broker.id '-1' is not a whole number from 0 to 2147483647"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", ", line 4", "'x' is not a uuid"),
        (b"version=\\u00zz\n", "", "Malformed"),
    ],
)
def test_damage_is_named(content: bytes, where: str, rule: str) -> None:
    with pytest.raises(CorruptFileError) as caught:
        parse_meta_properties("/data/meta.properties", content)
    assert str(caught.value).startswith(f"/data/meta.properties{where}: ")
    assert rule in str(caught.value)
    assert "correct the file" in str(caught.value)
