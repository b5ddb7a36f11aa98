"""The fast path is a shortcut to the same rules: equal bytes on the wire, equal errors, equal files.

Two brokers get the same frames, one natively and one on handler threads; every response is compared byte for byte, with
the topic ids, which are random, set to the same value, and so is every file of every log in the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import crc32c
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.broker_process import KEEPING
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch

ONE_ID = bytes(range(16))
TIME_RANGE = re.compile(rb"within \[-?\d+, -?\d+\]")
ATTRIBUTES_LOW_BYTE = 22
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
PRODUCE_VERSIONS = range(3, 12)
FETCH_VERSIONS = range(4, 18)
TOPICS = {
    "plain": {},
    "compacted": {"cleanup_policy": "compact"},
    "strict": {"max_message_bytes": "600", "segment_bytes": "2000", "index_interval_bytes": "100"},
    "zipped": {"compression_type": "lz4"},
    # Bounds that wrap around, so that sentences that name them are the same on both sides.
    "timely": {
        "message_timestamp_before_max_ms": str(2**63 - 1),
        "message_timestamp_after_max_ms": "0",
        "cleanup_policy": "compact",
    },
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
        """The response's bytes, with what differs by nature made the same on both sides: the topic's id, and the time
        of the request in the messages about timestamps."""
        self.client.send(api, version, fields)
        frame = self.client.receive_frame()
        assert frame is not None
        return TIME_RANGE.sub(b"within", frame.replace(self.ids.get(topic, ONE_ID), ONE_ID))

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


def with_attributes(records: bytes, bits: int) -> bytes:
    """The batch with more attribute bits and the checksum that belongs to them."""
    changed = bytearray(records)
    changed[ATTRIBUTES_LOW_BYTE] |= bits
    changed[17:21] = crc32c.crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def some_without_key(
    *, codec: int = 0, key: bytes | None = None, timestamp: int = 1_700_000_000_000, ahead_ms: int = 0
) -> bytes:
    """Twenty records; every third has `key` and a time that is ahead."""
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 24)
    for index in range(20):
        odd = index % 3 == 1
        assert builder.append(index, timestamp + odd * ahead_ms, key if odd else b"k", b"value", []) is not None
    return bytes(builder.build())


def payloads() -> dict[str, bytes | None]:
    """Record bytes, good and bad, by what they are."""
    good = batch([b"a", b"b", b"c"], key=b"k")
    return {
        "good": good,
        "no key": batch([b"a", b"b"]),
        "keys missing in between": some_without_key(),
        "keys missing in between, zstd": some_without_key(codec=4),
        "claims log append time": with_attributes(good, LOG_APPEND_TIME),
        "ancient": batch([b"a", b"b", b"c"], key=b"k", timestamp=1_000),
        "ancient, one without a key": some_without_key(timestamp=1_000),
        "one far ahead": some_without_key(key=b"k", ahead_ms=10**12),
        "long": batch([b"x" * 1000], key=b"k"),
        "zstd": batch([b"z" * 300] * 3, codec=4, key=b"k"),
        "gzip": batch([b"g" * 300] * 3, codec=1, key=b"k"),
        "torn": torn(good),
        "large": batch([bytes(5_000_000)], codec=4, key=b"k"),
        "large and torn": torn(batch([bytes(5_000_000)], codec=1, key=b"k")),
        "short": good[:40],
        "empty": b"",
        "null": None,
        "one byte": good[:1],
        "no length": good[:11],
        "no magic": good[:16],
        "no attributes": good[:22],
        "header only": good[:61],
        "transactional": with_attributes(good, TRANSACTIONAL),
        "control": with_attributes(good, CONTROL),
        "transaction marker": with_attributes(good, TRANSACTIONAL | CONTROL),
        "transactional and torn": torn(with_attributes(good, TRANSACTIONAL)),
        "transactional and short": with_attributes(good, TRANSACTIONAL)[:-1],
        "transactional second": good + with_attributes(good, TRANSACTIONAL),
        "two batches": good + good,
        "old magic": good[:16] + b"\x01" + good[17:],
        "unknown magic": good[:16] + b"\x09" + good[17:],
    }


def produce_fields(topic: str, records: bytes | None, acks: int, *indexes: int) -> dict[str, object]:
    return {
        "acks": acks,
        "timeout_ms": 1000,
        "topic_data": [{"name": topic, "partition_data": [{"index": index, "records": records} for index in indexes]}],
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


def hostile_requests() -> dict[str, dict[str, object]]:
    """Requests that no client sends but the schema admits, by what is wrong with them."""
    good = batch([b"a", b"b"], key=b"k")
    plain = produce_fields("plain", good, 1, 0)
    [data] = plain["topic_data"]  # type: ignore[misc]
    return {
        "no topics": {**plain, "topic_data": []},
        "no partitions": {**plain, "topic_data": [{"name": "plain", "partition_data": []}]},
        "no partitions of a missing topic": {**plain, "topic_data": [{"name": "missing", "partition_data": []}]},
        "empty topic name": {**plain, "topic_data": [{**data, "name": ""}]},
        "topic name with a null character": {**plain, "topic_data": [{**data, "name": "plain\0"}]},
        "longest topic name": {**plain, "topic_data": [{**data, "name": "x" * 32767}]},
        "partition twice": produce_fields("plain", good, 1, 0, 0),
        "partition twice, acks=all": produce_fields("plain", good, -1, 1, 0, 1),
        "topic twice": {**plain, "topic_data": [data, data]},
        "negative partition": produce_fields("plain", good, 1, -1),
        "least partition": produce_fields("plain", good, 1, -(2**31), 0),
        "greatest partition": produce_fields("plain", good, 1, 2**31 - 1, 0),
        "null beside records": {
            **plain,
            "topic_data": [
                {"name": "plain", "partition_data": [{"index": 0, "records": None}, {"index": 1, "records": good}]}
            ],
        },
        "transactional beside plain": {
            **plain,
            "topic_data": [
                data,
                {"name": "zipped", "partition_data": [{"index": 0, "records": with_attributes(good, TRANSACTIONAL)}]},
            ],
        },
        "transactional id": {**plain, "transactional_id": "id"},
        "empty transactional id": {**plain, "transactional_id": ""},
        "transactional id and batch": {
            **produce_fields("plain", with_attributes(good, TRANSACTIONAL), -1, 0, 5),
            "transactional_id": "id",
        },
        "least timeout": {**plain, "timeout_ms": -(2**31), "acks": -1},
        "greatest acks": {**plain, "acks": 32767},
        "least acks": {**plain, "acks": -32768},
    }


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_hostile_produce_requests_are_answered_in_the_same_bytes(sides: tuple[Side, Side], version: int) -> None:
    for name, fields in hostile_requests().items():
        native, handlers = (side.exchange(apis.PRODUCE, version, fields, "plain") for side in sides)
        assert native == handlers, name


NO_TRANSACTIONAL_ID = {3: b"\xff\xff", 9: b"\x00"}
MALFORMED_TOPICS = {
    # One topic each, by the version whose encoding it has: acks 1, timeout 0, then the array of topics.
    "null topics": {3: b"\xff\xff\xff\xff", 9: b"\x00"},
    "negative number of topics": {3: b"\x80\x00\x00\x00", 9: b"\xff\xff\xff\xff\x0f"},
    "more topics than bytes": {3: b"\x7f\xff\xff\xff", 9: b"\xff\xff\xff\xff\x07"},
    "null topic name": {3: b"\0\0\0\1\xff\xff\0\0\0\0", 9: b"\x02\x00\x01\x00\x00"},
    "negative topic name length": {3: b"\0\0\0\1\x80\x00\0\0\0\0", 9: b"\x02\xff\xff\xff\xff\x0f\x01\0\0"},
    "null partitions": {3: b"\0\0\0\1\0\x05plain\xff\xff\xff\xff", 9: b"\x02\x06plain\x00\x00\x00"},
    "negative length of records": {
        3: b"\0\0\0\1\0\x05plain\0\0\0\1\0\0\0\0\x80\x00\x00\x00",
        9: b"\x02\x06plain\x02\0\0\0\0\xff\xff\xff\xff\x0f\0\0\0",
    },
    "records longer than the request": {
        3: b"\0\0\0\1\0\x05plain\0\0\0\1\0\0\0\0\x7f\xff\xff\xff",
        9: b"\x02\x06plain\x02\0\0\0\0\xff\xff\xff\xff\x07\0\0\0",
    },
    "more tagged fields than bytes": {9: b"\x01\xff\xff\xff\xff\x0f"},
    "tagged field longer than the request": {9: b"\x01\x01\x00\xff\xff\xff\xff\x0f"},
}


@pytest.mark.parametrize("what", MALFORMED_TOPICS)
def test_malformed_produce_requests_close_the_connection_on_both_paths(sides: tuple[Side, Side], what: str) -> None:
    for version, topics in MALFORMED_TOPICS[what].items():
        body = NO_TRANSACTIONAL_ID[version] + b"\x00\x01" + bytes(4) + topics
        header = b"\x00\x00" + version.to_bytes(2, "big") + bytes(4) + b"\xff\xff" + b"\x00" * (version >= 9)
        for side in sides:
            with RawClient(side.broker.bound_listeners[0].port) as client:
                client.send_frame(header + body)
                assert client.is_closed_by_broker(), (version, side.directory)


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
