"""The fast path is a shortcut to the same rules: equal bytes on the wire, equal errors, equal files.

Two brokers get the same frames, one natively and one on handler threads; every response is compared byte for byte, with
the topic ids, which are random, set to the same value, and so is every file of every log in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.broker_process import KEEPING
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch

ONE_ID = bytes(range(16))
PRODUCE_VERSIONS = range(3, 12)
FETCH_VERSIONS = range(4, 18)
TOPICS = {
    "plain": {},
    "compacted": {"cleanup_policy": "compact"},
    "strict": {"max_message_bytes": "600", "segment_bytes": "2000", "index_interval_bytes": "100"},
    "zipped": {"compression_type": "lz4"},
}


class Side:
    """One broker with its connection and topics."""

    def __init__(self, directory: Path, fast_path: bool) -> None:
        self.directory = directory
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(directory),
            "kcli.fast.path.enable": str(fast_path).lower(),
            **KEEPING,
        }
        self.broker = Broker(BrokerConfig(settings))
        self.broker.startup()
        self.client = RawClient(self.broker.bound_listeners[0].port)
        self.ids = {name: self.client.create_topic(name, 2, **configs) for name, configs in TOPICS.items()}

    def exchange(self, api: apis.Api, version: int, fields: dict[str, object], topic: str) -> bytes:
        """The response's bytes, with the topic's id made the same on both sides."""
        self.client.send(api, version, fields)
        frame = self.client.receive_frame()
        assert frame is not None
        return frame.replace(self.ids.get(topic, ONE_ID), ONE_ID)

    def stop(self) -> None:
        self.client.socket.close()
        self.broker.shutdown()

    def files(self) -> dict[str, bytes]:
        """Everything in the logs' directories but the topic ids."""
        return {
            f"{path.parent.name}/{path.name}": path.read_bytes()
            for name in TOPICS
            for path in sorted(self.directory.glob(f"{name}-*/*"))
            if path.name != "partition.metadata"
        }


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Native first."""
    both = tuple(Side(tmp_path_factory.mktemp(name), name == "native") for name in ("native", "handlers"))
    assert len(both) == 2
    yield both
    for side in both:
        side.stop()


def torn(records: bytes) -> bytes:
    """The last byte is wrong, and so is the checksum."""
    return records[:-1] + bytes([records[-1] ^ 1])


def payloads() -> dict[str, bytes]:
    """Record bytes, good and bad, by what they are."""
    good = batch([b"a", b"b", b"c"], key=b"k")
    return {
        "good": good,
        "no key": batch([b"a", b"b"]),
        "large": batch([b"x" * 1000], key=b"k"),
        "zstd": batch([b"z" * 300] * 3, codec=4, key=b"k"),
        "gzip": batch([b"g" * 300] * 3, codec=1, key=b"k"),
        "torn": torn(good),
        "short": good[:40],
        "empty": b"",
        "two batches": good + good,
        "old magic": good[:16] + b"\x01" + good[17:],
        "unknown magic": good[:16] + b"\x09" + good[17:],
    }


def produce_fields(topic: str, records: bytes, acks: int, index: int) -> dict[str, object]:
    return {
        "acks": acks,
        "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": [{"index": index, "records": records}]}],
    }


def fetch_request(side: Side, topic: str, version: int, **partition: int) -> dict[str, object]:
    name = {"topic_id": side.ids.get(topic, ONE_ID)} if version >= 13 else {"topic": topic}
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20, **partition}
    fields: dict[str, object] = {
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1 << 20,
        "isolation_level": partition.get("fetch_offset", 0) % 2,
        "topics": [{**name, "partitions": [asked]}],
    }
    return fields if version >= 15 else {**fields, "replica_id": -1}


@pytest.mark.parametrize("topic", [*TOPICS, "missing"])
def test_produce_answers_in_the_same_bytes(sides: tuple[Side, Side], topic: str) -> None:
    for name, records in payloads().items():
        for version in PRODUCE_VERSIONS:
            for acks, index in ((1, 0), (-1, 1), (1, 5), (7, 0)):
                fields = produce_fields(topic, records, acks, index)
                native, handlers = (side.exchange(apis.PRODUCE, version, fields, topic) for side in sides)
                assert native == handlers, (name, version, acks, index)


@pytest.mark.parametrize("topic", [*TOPICS, "missing"])
def test_fetch_answers_in_the_same_bytes(sides: tuple[Side, Side], topic: str) -> None:
    for version in FETCH_VERSIONS:
        asked: list[dict[str, int]] = [
            {},
            {"partition": 1},
            {"partition": 7},
            {"fetch_offset": 1},
            {"fetch_offset": 4, "partition_max_bytes": 100},
            {"fetch_offset": 10_000},
            {"fetch_offset": -5},
            {"partition_max_bytes": 0},
        ]
        if version >= 9:
            asked += [{"current_leader_epoch": 0}, {"current_leader_epoch": 9}]
        if version >= 12:
            asked += [{"last_fetched_epoch": 0}, {"last_fetched_epoch": 3}]
        for partition in asked:
            native, handlers = (
                side.exchange(apis.FETCH, version, fetch_request(side, topic, version, **partition), topic)
                for side in sides
            )
            assert native == handlers, (version, partition)


def test_the_logs_are_the_same_files(sides: tuple[Side, Side]) -> None:
    native, handlers = sides
    for side in sides:
        side.stop()
    assert native.files().keys() == handlers.files().keys()
    assert any(
        name.startswith("strict-0/") and not name.startswith("strict-0/0000000000000000000") for name in native.files()
    )
    for name, content in native.files().items():
        assert content == handlers.files()[name], name
