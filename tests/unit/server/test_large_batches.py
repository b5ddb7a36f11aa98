"""Batches that take long to decompress are appended by a thread of their own, in the order of their connection."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.broker_process import KEEPING
from tests.raw_client import RawClient
from tests.unit.record import batches
from tests.unit.server.test_produce_and_fetch import batch, fetch, produce, values_of

REQUEST_TIMED_OUT = 7
MESSAGE_TOO_LARGE = 10
INVALID_RECORD = 87
INLINE_BYTES = 100_000
CODECS = [1, 2, 3, 4]
# Repeats itself often enough for every codec to make a tenth of it.
LARGE_VALUE = bytes(200_000)


@pytest.fixture
def small_broker(tmp_path: Path, fast_path: bool) -> Iterator[Broker]:
    """A batch is large from 100 kB on, and two of them may wait."""
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path),
        "kcli.fast.path.enable": str(fast_path).lower(),
        "kcli.batch.inline.decompressed.bytes": str(INLINE_BYTES),
        "kcli.batch.max.decompressed.bytes": "1000000",
        "queued.max.requests": "2",
        **KEEPING,
    }
    broker = Broker(BrokerConfig(settings))
    broker.startup()
    yield broker
    broker.shutdown()


class Pause:
    """Keeps the thread for large batches busy from when it is made until `end`."""

    def __init__(self, broker: Broker) -> None:
        self._begun = threading.Event()
        self._ended = threading.Event()
        broker.large_batches.submit(self._work, lambda: None)
        assert self._begun.wait(60)

    def _work(self) -> None:
        self._begun.set()
        assert self._ended.wait(60)

    def end(self) -> None:
        self._ended.set()


@pytest.fixture
def pause(small_broker: Broker) -> Iterator[Pause]:
    made = Pause(small_broker)
    yield made
    made.end()


def connect(broker: Broker) -> RawClient:
    return RawClient(broker.bound_listeners[0].port)


def large(codec: int = 4) -> bytes:
    return batch([LARGE_VALUE], codec=codec)


def send(client: RawClient, topic: str, records: bytes, acks: int = 1) -> int:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    return client.send(apis.PRODUCE, 9, {"acks": acks, "timeout_ms": 5000, "topic_data": data})


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("acks", [1, -1])
def test_large_batches_are_stored(small_broker: Broker, codec: int, acks: int) -> None:
    with connect(small_broker) as client:
        client.create_topic("stored")
        for expected in range(3):
            part = produce(client, "stored", large(codec), acks=acks)
            assert (part.error_code, part.base_offset) == (0, expected)
        assert values_of(fetch(client, "stored").records) == [(offset, LARGE_VALUE) for offset in range(3)]


@pytest.mark.parametrize("target", ["uncompressed", "gzip"])
def test_large_batches_are_compressed_again(small_broker: Broker, target: str) -> None:
    with connect(small_broker) as client:
        client.create_topic("again", compression_type=target, message_timestamp_type="LogAppendTime")
        produce(client, "again", batch([b"first"]))
        part = produce(client, "again", large())
        assert (part.error_code, part.base_offset) == (0, 1)
        assert part.log_append_time_ms > 0
        part = fetch(client, "again", 1)
        assert values_of(part.records)[-1] == (1, LARGE_VALUE)
        assert bytes(part.records)[22] & 0x07 == (1 if target == "gzip" else 0)


def test_other_connections_do_not_wait(small_broker: Broker, pause: Pause) -> None:
    with connect(small_broker) as heavy, connect(small_broker) as other:
        other.create_topic("shared")
        send(heavy, "shared", large())
        for expected in range(5):
            assert produce(other, "shared", batch([b"small"])).base_offset == expected
        pause.end()
        part = heavy.receive(apis.PRODUCE, 9).responses[0].partition_responses[0]
        assert (part.error_code, part.base_offset) == (0, 5)


def test_requests_behind_a_large_batch_keep_their_order(small_broker: Broker, pause: Pause) -> None:
    with connect(small_broker) as client:
        client.create_topic("ordered")
        kinds = [batch([b"a"]), large(), batch([b"b"]), large(1), batch([b"c"])]
        first = client.correlation_id + 1
        for records in kinds:
            send(client, "ordered", records)
        pause.end()
        for position in range(len(kinds)):
            client.correlation_id = first + position
            part = client.receive(apis.PRODUCE, 9).responses[0].partition_responses[0]
            assert (part.error_code, part.base_offset) == (0, position)
        values = [value for _, value in values_of(fetch(client, "ordered").records)]
        assert values == [b"a", LARGE_VALUE, b"b", LARGE_VALUE, b"c"]


def test_without_acks(small_broker: Broker) -> None:
    with connect(small_broker) as client:
        client.create_topic("silent")
        send(client, "silent", large(), acks=0)
        assert values_of(fetch(client, "silent").records) == [(0, LARGE_VALUE)]
        send(client, "silent", batch([bytes(2_000_000)], codec=4), acks=0)
        assert client.is_closed_by_broker()


def test_more_than_may_wait_are_sent_back(small_broker: Broker, pause: Pause) -> None:
    clients = [connect(small_broker) for _ in range(3)]
    clients[0].create_topic("crowded")
    for client in clients[:2]:
        send(client, "crowded", large())
    while small_broker.large_batches.has_room:
        produce(clients[2], "crowded", batch([b"until both wait"]))
    part = produce(clients[2], "crowded", large())
    assert (part.error_code, part.base_offset) == (REQUEST_TIMED_OUT, -1)
    pause.end()
    for client in clients[:2]:
        assert client.receive(apis.PRODUCE, 9).responses[0].partition_responses[0].error_code == 0
    assert produce(clients[2], "crowded", large()).error_code == 0
    for client in clients:
        client.socket.close()


def test_what_is_wrong_with_large_batches(small_broker: Broker) -> None:
    with connect(small_broker) as client:
        client.create_topic("wrong", cleanup_policy="compact")
        part = produce(client, "wrong", large())
        assert (part.error_code, [error.batch_index for error in part.record_errors]) == (INVALID_RECORD, [0])
        part = produce(client, "wrong", batch([bytes(1_100_000)], codec=4, key=b"k"))
        assert part.error_code == MESSAGE_TOO_LARGE
        payload = bytearray(gzip.compress(bytes(5_000_000)))
        payload[-4:] = (1000).to_bytes(4, "little")
        assert produce(client, "wrong", batches.batch(bytes(payload), 1, attributes=1)).error_code == INVALID_RECORD
        assert fetch(client, "wrong").high_watermark == 0
        assert produce(client, "wrong", batch([LARGE_VALUE], codec=4, key=b"k")).error_code == 0


def test_what_waits_at_a_shutdown_is_not_answered(tmp_path: Path, fast_path: bool) -> None:
    abandoned = threading.Event()
    broker = Broker(
        BrokerConfig(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": str(tmp_path),
                "kcli.fast.path.enable": str(fast_path).lower(),
                **KEEPING,
            }
        )
    )
    broker.startup()
    pause = Pause(broker)
    broker.large_batches.submit(lambda: None, abandoned.set)
    stopping = threading.Thread(target=broker.shutdown)
    stopping.start()
    pause.end()
    stopping.join(60)
    assert not stopping.is_alive()
    broker.large_batches.submit(lambda: None, abandoned.set)
    assert abandoned.is_set()
