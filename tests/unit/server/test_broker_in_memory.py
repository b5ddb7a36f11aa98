"""A broker that touches no disk: the table of disk operations and the metadata store are exchanged, nothing else."""

from __future__ import annotations

from kcore.config.broker import BrokerConfig
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.platform.memory_disk import MemoryDisk
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, fetch, produce, values_of


def start(disk: MemoryDisk, metadata: MemoryMetadata) -> Broker:
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/memory/a,/memory/b"})
    broker = Broker(config, disk, MemoryMetadataStore(metadata))
    broker.startup()
    return broker


def test_records_outlive_the_broker_in_the_memory_of_its_disk() -> None:
    disk, metadata = MemoryDisk(), MemoryMetadata()
    first = start(disk, metadata)
    with RawClient(first.bound_listeners[0].port) as client:
        client.create_topic("volatile", 4, segment_bytes="1000")
        for number in range(40):
            assert produce(client, "volatile", batch([b"%d" % number * 20])).error_code == 0
    first.shutdown()
    assert disk.open_descriptors == 0

    second = start(disk, metadata)
    with RawClient(second.bound_listeners[0].port) as client:
        read: list[tuple[int, bytes]] = []
        while len(read) < 40:
            read += values_of(fetch(client, "volatile", len(read)).records)
        assert read == [(number, b"%d" % number * 20) for number in range(40)]
    second.shutdown()
    assert disk.open_descriptors == 0
