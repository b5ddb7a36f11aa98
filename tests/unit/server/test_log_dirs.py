"""DescribeLogDirs against what the machine says of the same directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

KAFKA_STORAGE_ERROR = 56


def describe(client: RawClient, version: int, topics: dict[str, list[int]] | None) -> list[Message]:
    rows = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]
    return list(client.request(apis.DESCRIBE_LOG_DIRS, version, {"topics": rows}).results)


def partitions(result: Message) -> dict[tuple[str, int], Message]:
    return {(topic.name, part.partition_index): part for topic in result.topics for part in topic.partitions}


@pytest.mark.parametrize("version", range(5))
def test_sizes_are_those_of_the_files(broker: Broker, client: RawClient, version: int) -> None:
    name = f"sized-{version}"
    client.create_topic(name, 2)
    produce(client, name, batch([b"x" * 1000] * 10))
    (result,) = describe(client, version, {name: [0, 1, 9], "absent": [0]})
    directory = Path(broker.config.log_directories[0])
    assert (result.error_code, result.log_dir) == (0, str(directory))
    found = partitions(result)
    assert list(found) == [(name, 0), (name, 1)]
    assert found[name, 0].partition_size == (directory / f"{name}-0" / f"{0:020}.log").stat().st_size > 10_000
    assert found[name, 1].partition_size == 0
    assert all((part.offset_lag, part.is_future_key) == (0, False) for part in found.values())


def test_the_volume_is_the_machines(broker: Broker, client: RawClient) -> None:
    (result,) = describe(client, 4, {})
    volume = os.statvfs(broker.config.log_directories[0])
    assert result.total_bytes == volume.f_blocks * volume.f_frsize
    assert 0 < result.usable_bytes <= result.total_bytes
    assert result.topics == []


def test_all_partitions(client: RawClient) -> None:
    client.create_topic("among-all", 3)
    (result,) = describe(client, 4, None)
    assert {("among-all", index) for index in range(3)} <= set(partitions(result))


def test_a_directory_out_of_use_is_named_with_its_error(tmp_path: Path) -> None:
    directories = [str(tmp_path / name) for name in ("sound", "broken")]
    broker = Broker(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": ",".join(directories)}))
    broker.startup()
    try:
        with RawClient(broker.bound_listeners[0].port) as client:
            client.create_topic("spread", 2)
            (log_dir,) = [found for found, _ in broker.log_manager.logs_by_directory() if found.path == directories[1]]
            log_dir.failure = OSError("pulled out")
            sound, broken = describe(client, 4, None)
        assert (sound.error_code, sound.log_dir) == (0, directories[0])
        assert len(partitions(sound)) == 1
        assert (broken.error_code, broken.log_dir, broken.topics) == (KAFKA_STORAGE_ERROR, directories[1], [])
        assert (broken.total_bytes, broken.usable_bytes) == (-1, -1)
    finally:
        broker.shutdown()
