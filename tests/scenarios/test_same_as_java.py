"""What a record becomes is what Java's producer and librdkafka make of it: its partition, and its bytes in the log."""

from __future__ import annotations

import random
import struct
from typing import Any

import confluent_kafka
import pytest
from kafka import codec as codecs  # type: ignore[import-untyped]

from kcore.client.producer.partitioner import partition_for_key
from kcore.protocol import apis
from tests.raw_client import RawClient
from tests.scenarios.clients import CONFLUENT, JAVA, KCLI, Java, Row, write
from tests.scenarios.scene import FIRST_TIME, Scene
from tests.scenarios.test_interop_of_records import java  # noqa: F401

# base offset, length, leader epoch, magic, CRC, attributes, last delta, base and last time, producer, count
HEAD = struct.Struct(">qiibIhiqqqhii")
DECODERS = {
    0: bytes,
    1: codecs.gzip_decode,
    2: codecs.snappy_decode,
    3: codecs.lz4_decode,
    4: codecs.zstd_decode,
}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def keys(seed: int, count: int) -> list[bytes]:
    chance = random.Random(seed)
    made = [chance.randbytes(chance.choice((0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 40, 300))) for _ in range(count)]
    return [b"", *made, *(b"user-%d" % number for number in range(count))]


@pytest.mark.parametrize("partitions", [1, 2, 7, 12, 1_000])
def test_keys_go_where_java_puts_them(java: Java, partitions: int) -> None:  # noqa: F811
    asked = keys(partitions, 2_000)
    found = java.ask(keys=[key.hex() for key in asked], partitions=partitions)
    assert found == [partition_for_key(key, partitions) for key in asked]


def test_keys_go_where_librdkafka_puts_them(scene: Scene) -> None:
    """With the partitioner of librdkafka that says it is Java's; what it does with an empty key is its own."""
    topic = scene.topic(7)
    asked = [key for key in keys(1, 300) if key]
    theirs: dict[bytes, int] = {}

    def told(error: Any, message: Any) -> None:
        assert error is None, error
        theirs[message.key()] = message.partition()

    producer = confluent_kafka.Producer({"bootstrap.servers": scene.servers, "partitioner": "murmur2_random"})
    for key in asked:
        producer.produce(topic, b"", key, on_delivery=told)
    assert producer.flush(60) == 0
    with scene.producer() as ours:
        sent = {key: ours.send(topic, b"", key=key) for key in asked}
        ours.flush()
        assert theirs == {key: future.result(0).partition for key, future in sent.items()}


def batches(scene: Scene, topic: str) -> list[tuple[Any, ...]]:
    """Each batch of partition 0: what its head says but for offsets, producer and CRC, and its records, plain."""
    host, _, port = scene.servers.partition(":")
    with RawClient(int(port), host) as client:
        wanted = [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 24}]
        fields = {"max_wait_ms": 500, "min_bytes": 1, "topics": [{"topic": topic, "partitions": wanted}]}
        answer = client.request(apis.FETCH, 11, fields).responses[0].partitions[0]
    assert answer.error_code == 0
    data = bytes(answer.records)
    found = []
    while data:
        offset, length, _, magic, _, attributes, last_delta, first_time, last_time, _, _, sequence, count = (
            HEAD.unpack_from(data)
        )
        records = DECODERS[attributes & 7](data[HEAD.size : 12 + length])
        found.append((offset, magic, attributes, last_delta, first_time, last_time, sequence, count, bytes(records)))
        data = data[12 + length :]
    return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("other", [JAVA, CONFLUENT])
def test_the_bytes_of_a_batch(scene: Scene, other: str, codec: str, java: Java) -> None:  # noqa: F811
    chance = random.Random(codec)
    rows = [Row(b"first", b"v" * 50, FIRST_TIME + 50, ())]
    for number in range(60):
        headers = tuple((f"h{n}", chance.choice((None, b"", b"x"))) for n in range(number % 3))
        key = chance.choice((None, b"", b"key-%d" % number))
        value = chance.choice((None, b"", b"value " * chance.randrange(30)))
        rows.append(Row(key, value, FIRST_TIME + chance.randrange(100), headers))
    found = {}
    for library in (KCLI, other):
        topic = scene.topic()
        write(library, scene.servers, topic, codec, rows, java)
        found[library] = batches(scene, topic)
    assert len(found[KCLI]) == 1
    assert found[KCLI] == found[other]
