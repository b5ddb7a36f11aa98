"""Who may read what the broker stores: its own user, whatever the umask is."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.protocol import apis
from kcore.record.encoder import encode_batch
from tests.raw_client import RawClient
from tests.server_command import ServerCommand

SMALL_SEGMENTS = ("--override", "log.segment.bytes=1000", "--override", "log.index.interval.bytes=1")


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def readable_by_others(directory: Path) -> list[str]:
    """Everything below a directory, and the directory, that its group or others have any right to."""
    paths = [directory, *directory.rglob("*")]
    return sorted(
        f"{path.relative_to(directory)} {stat.filemode(path.stat().st_mode)}"
        for path in paths
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    )


def use(broker: ServerCommand) -> None:
    """Leaves every kind of file: segments with indexes, producer snapshots, offsets, a directory to be removed."""
    with RawClient(broker.port) as client:
        client.create_topic("orders")
        client.create_topic("gone")
        client.request(apis.FIND_COORDINATOR, 3, {"key": "group", "key_type": 0})
        for sequence in range(20):
            batch = encode_batch(
                [(None, bytes(100))], timestamp=1000, producer_id=7, producer_epoch=0, base_sequence=sequence
            )
            partition = {"index": 0, "records": batch}
            topic_data = [{"name": "orders", "partition_data": [partition]}]
            request = {"transactional_id": None, "acks": 1, "timeout_ms": 1000, "topic_data": topic_data}
            answer = client.request(apis.PRODUCE, 9, request)
            assert answer.responses[0].partition_responses[0].error_code == 0
        client.request(apis.DELETE_TOPICS, 6, {"topics": [{"name": "gone"}]})


def test_nothing_is_readable_by_group_or_others(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with ServerCommand(data, arguments=SMALL_SEGMENTS) as broker:
        use(broker)
        assert readable_by_others(data) == [], "of a running broker"
        broker.process.send_signal(signal.SIGTERM)
        assert broker.process.wait(60) == 0
    kinds = {path.suffix or path.name for path in data.rglob("*") if path.is_file()}
    assert {".log", ".index", ".timeindex", ".snapshot", ".sqlite", ".properties"} <= kinds
    assert readable_by_others(data) == [], "after a clean shutdown"

    store = data / "__cluster_metadata.sqlite"
    store.write_bytes(b"\0" * store.stat().st_size)
    with ServerCommand(data, arguments=(*SMALL_SEGMENTS, "--rebuild-metadata")):
        assert store.with_name(f"{store.name}.corrupt").exists()
        assert readable_by_others(data) == [], "after a rebuild"
    assert readable_by_others(data) == [], "after a crash"


def test_a_directory_of_the_user_keeps_its_mode(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(0o755)
    with ServerCommand(data):
        assert stat.S_IMODE(data.stat().st_mode) == 0o755
        assert readable_by_others(data) == [". drwxr-xr-x"]
