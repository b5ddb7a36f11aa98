"""`send_batch`: lists, NumPy and Arrow in, the same records out as librdkafka reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kcore.client.errors import RecordTooLarge
from kcore.client.producer.partitioner import partition_for_key
from kcore.client.producer.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.broker_process import KEEPING
from tests.integration.test_producer import producer_of, read

VALUES = [b"one", b"", None, b"\x00" * 300, "ü".encode()]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(KEEPING) as running:
        yield running


@pytest.fixture
def producer(broker: EmbeddedBroker) -> Iterator[Producer]:
    with producer_of(broker) as opened:
        yield opened
        opened.flush()
        assert opened.live_buffers == 0


SHAPES: dict[str, Any] = {
    "list": VALUES,
    "tuple": tuple(VALUES),
    "generator": (value for value in VALUES),
    "objects": np.array(VALUES, dtype=object),
    "binary": pa.array(VALUES, pa.binary()),
    "large binary": pa.array(VALUES, pa.large_binary()),
    "slice": pa.array([b"before", *VALUES, b"after"], pa.binary()).slice(1, 5),
    "chunks": pa.chunked_array([pa.array(VALUES[:2], pa.binary()), pa.array(VALUES[2:], pa.binary())]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_values(broker: EmbeddedBroker, producer: Producer, shape: str) -> None:
    topic = shape.replace(" ", "-")
    future = producer.send_batch(topic, SHAPES[shape])
    assert [(r.partition, r.first_offset, r.record_count) for r in future.result(60)] == [(0, 0, 5)]
    assert [message.value() for message in read(broker, topic, 5)] == VALUES


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([b"abc", b"de"], dtype="S4"), [b"abc\0", b"de\0\0"]),
        (np.frombuffer(b"abcdef", dtype=np.uint8).reshape(2, 3), [b"abc", b"def"]),
        (np.array([b"abc", b"no", b"def"], dtype="V3")[::2], [b"abc", b"def"]),
        (pa.array([b"abc", None, b"def"], pa.binary(3)), [b"abc", None, b"def"]),
        (pa.array(["a", None, "ü"]), [b"a", None, "ü".encode()]),
        (pa.array(["a", None, "ü"], pa.large_string()), [b"a", None, "ü".encode()]),
        (pa.nulls(2), [None, None]),
    ],
)
def test_fixed_width_and_text(broker: EmbeddedBroker, producer: Producer, values: Any, expected: list[Any]) -> None:
    topic = f"fixed-{abs(hash(str(values)))}"
    producer.send_batch(topic, values).result(60)
    assert [message.value() for message in read(broker, topic, len(expected))] == expected


def test_keys_headers_and_timestamps(broker: EmbeddedBroker, producer: Producer) -> None:
    keys = [b"a", None, b""]
    headers = [[("x", b"1"), ("x", None)], None, {"y": b"2"}]
    future = producer.send_batch("whole", [b"1", b"2", b"3"], keys=keys, headers=headers, timestamps=[10, 20, 30])
    assert len(future) == 3
    future.result(60)
    found = [(m.key(), m.headers(), m.timestamp()[1]) for m in read(broker, "whole", 3)]
    assert found == [(b"a", [("x", b"1"), ("x", None)], 10), (None, None, 20), (b"", [("y", b"2")], 30)]
    producer.send_batch("same", [b"1", b"2"], headers={"h": b"v"}, timestamps=5).result(60)
    assert [(m.headers(), m.timestamp()[1]) for m in read(broker, "same", 2)] == [([("h", b"v")], 5)] * 2
    producer.send_batch("times", [b"1"], timestamps=np.array(["2024-01-02"], dtype="datetime64[D]")).result(60)
    assert read(broker, "times", 1)[0].timestamp()[1] == 1_704_153_600_000


def test_keys_choose_partitions(broker: EmbeddedBroker, producer: Producer) -> None:
    broker.create_topic("keyed", partitions=5)
    keys = [b"%d" % number for number in range(1_000)]
    ranges = producer.send_batch("keyed", keys, keys=pa.array(keys, pa.binary())).result(60)
    counts = [sum(r.record_count for r in ranges if r.partition == number) for number in range(5)]
    for message in read(broker, "keyed", 1_000, 5):
        assert message.partition() == partition_for_key(message.key(), 5)
        counts[message.partition()] -= 1
    assert counts == [0] * 5


def test_many_records_keep_their_order(broker: EmbeddedBroker, producer: Producer) -> None:
    broker.create_topic("many", partitions=3)
    values = [b"%08d" % number + b"x" * 100 for number in range(50_000)]
    ranges = producer.send_batch("many", values).result(30)
    assert sum(r.record_count for r in ranges) == 50_000
    by_partition: dict[int, list[bytes]] = {}
    for message in read(broker, "many", 50_000, 3):
        by_partition.setdefault(message.partition(), []).append(message.value())
    assert sorted(value for found in by_partition.values() for value in found) == values
    for found in by_partition.values():
        assert found == sorted(found)


def test_more_than_the_buffer_holds(broker: EmbeddedBroker) -> None:
    with producer_of(broker, buffer_memory=200_000) as small:
        ranges = small.send_batch("small", [b"x" * 1_000] * 2_000).result(30)
        assert sum(r.record_count for r in ranges) == 2_000
        assert small.live_buffers == 0


def test_one_callback_a_call(producer: Producer) -> None:
    told: list[Any] = []
    future = producer.send_batch("told", [b"x"] * 100, on_delivery=lambda *outcome: told.append(outcome))
    producer.flush()
    assert told == [([(0, 0, 100)], None)]
    assert future.done()


def test_nothing_is_done_at_once(producer: Producer) -> None:
    assert producer.send_batch("none", []).result(0) == []


def test_what_is_wrong_is_said(producer: Producer) -> None:
    with pytest.raises(TypeError, match="values are a bytes"):
        producer.send_batch("wrong", b"abc")
    with pytest.raises(TypeError, match="row 1 is a str"):
        producer.send_batch("wrong", [b"", "text"])
    with pytest.raises(TypeError, match="values are a ndarray"):
        producer.send_batch("wrong", np.array([1.5]))
    with pytest.raises(ValueError, match="2 keys for 1 values"):
        producer.send_batch("wrong", [b""], keys=[b"", b""])
    with pytest.raises(ValueError, match="2 timestamps for 1 values"):
        producer.send_batch("wrong", [b""], timestamps=[1, 2])
    with pytest.raises(ValueError, match="headers of 2 records for 1 values"):
        producer.send_batch("wrong", [b""], headers=[None, None])
    with pytest.raises(RecordTooLarge):
        producer.send_batch("wrong", [b"x" * 2_000_000])
