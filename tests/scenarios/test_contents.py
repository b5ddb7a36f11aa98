"""What is in a record: keys, values, headers, times, sizes; nothing of it changes on its way, in no codec."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kcore import errors
from kcore.client.consumer.consumer_record import CREATE_TIME, LOG_APPEND_TIME
from kcore.client.errors import RecordTooLarge
from kcore.client.producer.partitioner import partition_for_key
from tests.scenarios.scene import FIRST_TIME, Scene, take

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LEVELS: dict[str, dict[str, Any]] = {
    "gzip fastest": {"compression_type": "gzip", "compression_gzip_level": 1},
    "gzip best": {"compression_type": "gzip", "compression_gzip_level": 9},
    "lz4 fastest": {"compression_type": "lz4", "compression_lz4_level": 1},
    "lz4 best": {"compression_type": "lz4", "compression_lz4_level": 17},
    "zstd negative": {"compression_type": "zstd", "compression_zstd_level": -7},
    "zstd fastest": {"compression_type": "zstd", "compression_zstd_level": 1},
    "zstd best": {"compression_type": "zstd", "compression_zstd_level": 22},
}
HEADERS: dict[str, list[tuple[str, bytes | None]]] = {
    "none": [],
    "one": [("a", b"1")],
    "repeated, in order": [("b", b"1"), ("a", b"2"), ("b", b"3"), ("b", b"1")],
    "null and empty": [("null", None), ("empty", b""), ("", b"no name")],
    "names of other letters": [("schlüssel", b"x"), ("鍵", b"y"), ("🔑", b"z")],
    "large": [("big", bytes(range(256)) * 300)],
    "many": [(f"h{number}", b"%d" % number) for number in range(1_000)],
}
PAIRS: dict[str, tuple[bytes | None, bytes | None]] = {
    "both": (b"key", b"value"),
    "a tombstone": (b"key", None),
    "no key": (None, b"value"),
    "an empty key": (b"", b"value"),
    "an empty value": (b"key", b""),
    "nothing": (None, None),
    "both empty": (b"", b""),
    "every byte": (bytes(range(256)), bytes(reversed(range(256)))),
    "large": (b"k" * 70_000, b"v" * 300_000),
}


def contents(seed: int, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of every kind: compressible ones and noise, null and empty ones, tiny and large ones."""
    chance = random.Random(seed)
    found: list[tuple[bytes | None, bytes | None]] = []
    for _ in range(count):
        key = chance.choice((None, b"", b"k%d" % chance.randrange(50)))
        size = chance.choice((0, 1, 10, 100, 100, 1_000, 20_000))
        value = chance.choice((None, bytes(size), chance.randbytes(size), b"ab" * (size // 2)))
        found.append((key, value))
    return found


def send_and_read(scene: Scene, records: list[tuple[bytes | None, bytes | None]], **keywords: Any) -> None:
    topic = scene.topic(max_message_bytes=3_000_000)
    with scene.producer(**keywords) as producer:
        for key, value in records:
            producer.send(topic, value, key=key)
    assert [(record.key, record.value) for record in scene.read_all(topic)] == records


@pytest.mark.parametrize("pair", PAIRS)
def test_keys_and_values(scene: Scene, pair: str) -> None:
    topic = scene.topic()
    key, value = PAIRS[pair]
    with scene.producer() as producer:
        told = producer.send(topic, value, key=key).result(30)
    [record] = scene.read_all(topic)
    assert (record.key, record.value) == (key, value)
    sizes = (-1 if key is None else len(key), -1 if value is None else len(value))
    assert (told.serialized_key_size, told.serialized_value_size) == sizes
    assert (record.serialized_key_size, record.serialized_value_size) == sizes


@pytest.mark.parametrize("headers", HEADERS)
def test_headers(scene: Scene, headers: str) -> None:
    topic = scene.topic()
    with scene.producer() as producer:
        producer.send(topic, b"x", headers=HEADERS[headers])
        producer.send(topic, b"y")
    assert [record.headers for record in scene.read_all(topic)] == [HEADERS[headers], []]


@pytest.mark.everywhere
@pytest.mark.parametrize("codec", CODECS)
def test_codecs(scene: Scene, codec: str) -> None:
    send_and_read(scene, contents(1, 600), compression_type=codec)


@pytest.mark.parametrize("level", LEVELS)
def test_levels(scene: Scene, level: str) -> None:
    send_and_read(scene, contents(2, 150), **LEVELS[level])


@pytest.mark.parametrize("codec", CODECS[1:])
def test_what_does_not_compress(scene: Scene, codec: str) -> None:
    """Compressed it is larger than plain, and than the room that a batch has."""
    chance = random.Random(3)
    send_and_read(scene, [(None, chance.randbytes(200_000)) for _ in range(6)], compression_type=codec)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_what_compresses_a_thousand_times(scene: Scene, codec: str) -> None:
    send_and_read(
        scene, [(None, bytes(900_000)) for _ in range(8)], compression_type=codec, batch_size=2_000_000, linger_ms=20
    )


@pytest.mark.parametrize("codec", CODECS)
def test_a_broker_that_compresses_anew(scene: Scene, codec: str) -> None:
    """The topic's own codec, over a producer with every other one."""
    topic = scene.topic(compression_type="uncompressed" if codec == "none" else codec)
    expected: list[bytes] = []
    for other in CODECS:
        with scene.producer(compression_type=other) as producer:
            for number in range(100):
                expected.append(b"%s %d " % (other.encode(), number) * 10)
                producer.send(topic, expected[-1])
    assert [record.value for record in scene.read_all(topic)] == expected


@pytest.mark.everywhere
def test_every_codec_in_one_partition(scene: Scene) -> None:
    topic = scene.topic()
    records = contents(4, 300)
    for start, codec in zip(range(0, 300, 60), CODECS, strict=True):
        with scene.producer(compression_type=codec) as producer:
            for key, value in records[start : start + 60]:
                producer.send(topic, value, key=key)
    assert [(record.key, record.value) for record in scene.read_all(topic)] == records


# Times


def test_times_of_the_sender(scene: Scene) -> None:
    topic = scene.topic(message_timestamp_before_max_ms=2**63 - 1)
    times = [0, FIRST_TIME, 1, FIRST_TIME + 5, FIRST_TIME + 4]
    with scene.producer() as producer:
        told = [producer.send(topic, b"", timestamp=time) for time in times]
    found = scene.read_all(topic)
    assert [record.timestamp for record in found] == times == [future.result(0).timestamp for future in told]
    assert {record.timestamp_type for record in found} == {CREATE_TIME}


@pytest.mark.everywhere
def test_times_of_the_broker(scene: Scene) -> None:
    topic = scene.topic(message_timestamp_type="LogAppendTime")
    with scene.producer(compression_type="gzip", linger_ms=50) as producer:
        told = [producer.send(topic, b"", timestamp=FIRST_TIME) for _ in range(5)]
    found = scene.read_all(topic)
    assert {record.timestamp_type for record in found} == {LOG_APPEND_TIME}
    assert [record.timestamp for record in found] == [future.result(0).timestamp for future in told]
    assert min(record.timestamp for record in found) > FIRST_TIME


def test_a_time_from_too_far_ahead_is_refused(scene: Scene) -> None:
    topic = scene.topic(message_timestamp_after_max_ms=3_600_000)
    with scene.producer() as producer:
        refused = producer.send(topic, b"", timestamp=4_000_000_000_000)
        assert isinstance(refused.exception(30), errors.InvalidTimestampError)
        assert producer.send(topic, b"good").result(30).offset == 0


def test_one_refused_record_takes_its_batch_along(scene: Scene) -> None:
    topic = scene.topic(message_timestamp_after_max_ms=3_600_000)
    with scene.producer(linger_ms=300) as producer:
        good = producer.send(topic, b"good")
        bad = producer.send(topic, b"bad", timestamp=4_000_000_000_000)
        assert isinstance(bad.exception(30), errors.InvalidTimestampError)
        assert isinstance(good.exception(30), (errors.InvalidRecordError, errors.InvalidTimestampError))
        producer.send(topic, b"after").result(30)
    assert [record.value for record in scene.read_all(topic)] == [b"after"]


def test_a_record_without_a_key_in_a_compacted_topic(scene: Scene) -> None:
    topic = scene.topic(cleanup_policy="compact")
    with scene.producer() as producer:
        assert isinstance(producer.send(topic, b"x").exception(30), errors.InvalidRecordError)
        producer.send(topic, b"x", key=b"").result(30)
        producer.send(topic, None, key=b"k").result(30)
    assert [(record.key, record.value) for record in scene.read_all(topic)] == [(b"", b"x"), (b"k", None)]


# Sizes


def test_larger_than_a_request_may_be(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer(max_request_size=5_000) as producer:
        with pytest.raises(RecordTooLarge, match=r"max\.request\.size"):
            producer.send(topic, bytes(6_000))
        producer.send(topic, bytes(4_000)).result(30)


def test_larger_than_the_buffer(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer(buffer_memory=5_000, batch_size=1_000) as producer:
        with pytest.raises(RecordTooLarge, match=r"buffer\.memory"):
            producer.send(topic, bytes(6_000))
        producer.send(topic, b"0").result(30)


def test_larger_than_the_topic_takes(scene: Scene) -> None:
    topic = scene.topic(max_message_bytes=10_000)
    with scene.producer() as producer:
        assert isinstance(producer.send(topic, bytes(20_000)).exception(30), errors.MessageTooLargeError)
        producer.send(topic, b"0").result(30)
    assert scene.numbers(topic) == [0]


SPLITS: dict[str, dict[str, Any]] = {
    "plain": {},
    # With more than one request in flight a record of a later one may overtake, as Kafka's documentation says.
    "not idempotent": {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1},
    "gzip": {"compression_type": "gzip"},
    "zstd": {"compression_type": "zstd"},
    "many requests in flight": {"batch_size": 12_000, "max_in_flight_requests_per_connection": 5},
}


@pytest.mark.parametrize("way", SPLITS)
def test_a_batch_that_is_too_large_is_split(scene: Scene, way: str) -> None:
    """MESSAGE_TOO_LARGE for a batch of several records: halves, until they fit; all are there once, in order."""
    topic = scene.topic(max_message_bytes=4_000)
    chance = random.Random(5)
    with scene.producer(**{"batch_size": 100_000, "linger_ms": 50} | SPLITS[way]) as producer:
        sent = [producer.send(topic, b"%d %s" % (n, chance.randbytes(200).hex().encode())) for n in range(300)]
        producer.flush()
        assert [future.exception(0) for future in sent] == [None] * 300
        assert [future.result(0).offset for future in sent] == list(range(300))
    assert [int(record.value.split()[0]) for record in scene.read_all(topic)] == list(range(300))


def test_of_a_split_batch_only_what_is_too_large_fails(scene: Scene) -> None:
    topic = scene.topic(max_message_bytes=4_000)
    with scene.producer(batch_size=100_000, linger_ms=200) as producer:
        sent = [producer.send(topic, b"%d" % number + bytes(5_000 if number == 7 else 300)) for number in range(20)]
        failed = [number for number, future in enumerate(sent) if future.exception(60) is not None]
    assert failed == [7]
    assert isinstance(sent[7].exception(0), errors.MessageTooLargeError)
    found = [int(record.value.rstrip(b"\0")) for record in scene.read_all(topic)]
    assert found == [number for number in range(20) if number != 7]


def test_a_columnar_batch_is_split_too(scene: Scene) -> None:
    topic = scene.topic(max_message_bytes=4_000)
    with scene.producer(batch_size=100_000, linger_ms=50) as producer:
        delivered = producer.send_batch(topic, [b"%0200d" % number for number in range(400)]).result(60)
    assert sum(each.record_count for each in delivered) == 400
    assert scene.numbers(topic) == list(range(400))


# Where records go


def test_an_empty_key_is_a_key(scene: Scene) -> None:
    topic = scene.topic(7)
    with scene.producer(batch_size=0) as producer:
        with_key = {producer.send(topic, b"x" * 200, key=b"").result(30).partition for _ in range(40)}
        without = {producer.send(topic, b"x" * 200).result(30).partition for _ in range(40)}
    assert with_key == {partition_for_key(b"", 7)}
    assert len(without) > 1


def test_the_key_is_left_aside_where_told(scene: Scene) -> None:
    topic = scene.topic(5)
    with scene.producer(batch_size=0, partitioner_ignore_keys=True) as producer:
        assert len({producer.send(topic, b"x" * 200, key=b"k").result(30).partition for _ in range(60)}) > 1


@pytest.mark.parametrize("name", ["RoundRobinPartitioner", "UniformStickyPartitioner"])
def test_partitioners_that_java_has(scene: Scene, name: str) -> None:
    topic = scene.topic(3)
    with scene.producer(partitioner_class=name, batch_size=0) as producer:
        found = [producer.send(topic, b"x" * 100, key=b"k").result(30).partition for _ in range(30)]
    assert set(found) == {0, 1, 2}


def test_a_partition_that_comes_later_is_waited_for(scene: Scene) -> None:
    import threading

    topic = scene.topic()
    with scene.producer(metadata_max_age_ms=300) as producer:
        producer.send(topic, b"0").result(30)
        told: list[Any] = []
        waiting = threading.Thread(target=lambda: told.append(producer.send(topic, b"1", partition=2).result(60)))
        waiting.start()
        scene.add_partitions(topic, 3)
        waiting.join(90)
    assert [(each.partition, each.offset) for each in told] == [(2, 0)]


def test_fetching_records_larger_than_asked_for(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer() as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number + bytes(50_000)).result(30)
    consumer = scene.consumer(max_partition_fetch_bytes=1_000, fetch_max_bytes=1_000)
    consumer.assign(scene.places(topic, 1))
    assert [record.value[:1] for record in take(consumer, 5)] == [b"0", b"1", b"2", b"3", b"4"]
