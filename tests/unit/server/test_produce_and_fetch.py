"""Produce and Fetch, natively and on handler threads: the same requests, the same answers.

Record batches are built and read by aiokafka's codec, which knows nothing of ours.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import crc32c
import lz4.frame
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from kcore import uuid
from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.record import batches

OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
LOG_APPEND_TIME = 0x08
MESSAGE_TOO_LARGE = 10
INVALID_TOPIC = 17
INVALID_REQUIRED_ACKS = 21
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
FENCED_LEADER_EPOCH = 74
UNKNOWN_LEADER_EPOCH = 75
INVALID_TIMESTAMP = 32
UNSUPPORTED_COMPRESSION_TYPE = 76
INVALID_RECORD = 87
UNKNOWN_TOPIC_ID = 100
READ_COMMITTED = 1

NOBODY = (-1, -1, -1)


def batch(
    values: Iterable[bytes],
    *,
    codec: int = 0,
    timestamp: int = 1_700_000_000_000,
    key: bytes | None = None,
    producer: tuple[int, int, int] = NOBODY,
    transactional: bool = False,
) -> bytes:
    """One batch of magic 2; `producer` is its id, epoch and first sequence number."""
    builder = DefaultRecordBatchBuilder(2, codec, transactional, *producer, 1 << 24)
    for index, value in enumerate(values):
        assert builder.append(index, timestamp + index, key, value, []) is not None
    return bytes(builder.build())


def values_of(records: bytes | None) -> list[tuple[int, bytes]]:
    """Offsets and values of whole batches."""
    found = []
    read = MemoryRecords(bytes(records or b""))
    while (next_batch := read.next_batch()) is not None:
        found += [(record.offset, record.value) for record in next_batch]
    return found


def produce(
    client: RawClient,
    topic: str,
    records: bytes | None,
    *,
    version: int = 9,
    acks: int = 1,
    index: int = 0,
    **more: object,
) -> Message:
    fields = {
        "acks": acks,
        "timeout_ms": 5000,
        "topic_data": [{"name": topic, "partition_data": [{"index": index, "records": records}]}],
        **more,
    }
    response = client.request(apis.PRODUCE, version, fields)
    part: Message = response.responses[0].partition_responses[0]
    assert part.index == index
    return part


def fetch_fields(
    client: RawClient,
    topic: str,
    offset: int = 0,
    *,
    version: int = 12,
    index: int = 0,
    topic_id: bytes = uuid.ZERO,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    leader_epoch: int = -1,
    **more: object,
) -> dict[str, object]:
    partition = {
        "partition": index,
        "fetch_offset": offset,
        "partition_max_bytes": partition_max_bytes,
        "current_leader_epoch": leader_epoch,
    }
    name = {"topic_id": topic_id} if version >= 13 else {"topic": topic}
    fields: dict[str, object] = {
        "max_wait_ms": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "topics": [{**name, "partitions": [partition]}],
        **more,
    }
    if version < 15:
        fields["replica_id"] = -1
    return fields


def fetch(client: RawClient, topic: str, offset: int = 0, *, version: int = 12, **more: object) -> Message:
    fields = fetch_fields(client, topic, offset, version=version, **more)  # type: ignore[arg-type]
    response = client.request(apis.FETCH, version, fields)
    assert response.error_code == 0
    part: Message = response.responses[0].partitions[0]
    return part


@pytest.mark.parametrize("version", range(3, 12))
def test_every_version_of_produce(client: RawClient, version: int) -> None:
    topic = f"produce-v{version}"
    client.create_topic(topic)
    for expected in (0, 2):
        part = produce(client, topic, batch([b"a", b"b"]), version=version)
        assert (part.error_code, part.base_offset, part.log_append_time_ms) == (0, expected, -1)
        assert part.log_start_offset == (0 if version >= 5 else -1)
        assert (part.record_errors, part.error_message) == ([], None)
    assert values_of(fetch(client, topic).records) == [(0, b"a"), (1, b"b"), (2, b"a"), (3, b"b")]


@pytest.mark.parametrize("version", range(4, 18))
def test_every_version_of_fetch(client: RawClient, version: int) -> None:
    topic = f"fetch-v{version}"
    topic_id = client.create_topic(topic)
    records = batch([b"one", b"two", b"three"])
    produce(client, topic, records)
    part = fetch(client, topic, version=version, topic_id=topic_id)
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (0, 3, 3)
    assert part.log_start_offset == (0 if version >= 5 else -1)
    assert values_of(part.records) == [(0, b"one"), (1, b"two"), (2, b"three")]
    assert len(part.records) == len(records)


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("acks", [1, -1])
def test_codecs_are_stored_as_they_came(broker: Broker, client: RawClient, codec: int, acks: int) -> None:
    topic = f"codec-{codec}-{acks}"
    client.create_topic(topic)
    records = batch([b"x" * 500] * 20, codec=codec)
    assert produce(client, topic, records, acks=acks).error_code == 0
    part = fetch(client, topic)
    assert values_of(part.records) == [(offset, b"x" * 500) for offset in range(20)]
    (segment,) = Path(broker.config.log_directories[0], f"{topic}-0").glob("*.log")
    assert segment.read_bytes()[: len(part.records)] == bytes(part.records)
    # Only what stands outside the checksum differs: the base offset and the leader epoch.
    assert bytes(part.records)[17:] == records[17:]


def test_without_acks_there_is_no_response(client: RawClient) -> None:
    client.create_topic("silent")
    fields = {
        "acks": 0,
        "timeout_ms": 1000,
        "topic_data": [{"name": "silent", "partition_data": [{"index": 0, "records": batch([b"hush"])}]}],
    }
    client.send(apis.PRODUCE, 9, fields)
    # The next response on the connection is the fetch's own.
    assert values_of(fetch(client, "silent").records) == [(0, b"hush")]


def test_without_acks_an_error_closes_the_connection(client: RawClient) -> None:
    fields = {
        "acks": 0,
        "timeout_ms": 1000,
        "topic_data": [{"name": "nowhere", "partition_data": [{"index": 0, "records": batch([b"lost"])}]}],
    }
    client.send(apis.PRODUCE, 9, fields)
    assert client.is_closed_by_broker()


def test_a_failed_append_without_acks_costs_nobody_elses_answer(broker: Broker, client: RawClient) -> None:
    """The next answer of the same network thread, on whatever connection, once went unsent with it."""
    client.create_topic("narrow", max_message_bytes="1000")
    port = broker.bound_listeners[0].port
    # One for each network thread, so that every one of them has to say something after it.
    for _ in range(2):
        with RawClient(port) as careless:
            data = [{"name": "narrow", "partition_data": [{"index": 0, "records": batch([bytes(2000)])}]}]
            careless.send(apis.PRODUCE, 9, {"acks": 0, "timeout_ms": 5000, "topic_data": data})
            assert careless.is_closed_by_broker()
    for _ in range(2):
        with RawClient(port) as other:
            assert produce(other, "narrow", batch([b"short"])).error_code == 0


def test_errors_of_produce(client: RawClient) -> None:
    client.create_topic("strict", max_message_bytes="500")
    client.create_topic("compacted", cleanup_policy="compact")
    good = batch([b"fine"])
    torn = bytearray(good)
    torn[-1] ^= 1
    cases = [
        ("nowhere", good, 9, 1, 0, UNKNOWN_TOPIC_OR_PARTITION),
        ("strict", good, 9, 1, 7, UNKNOWN_TOPIC_OR_PARTITION),
        ("strict", bytes(torn), 9, 1, 0, CORRUPT_MESSAGE),
        ("strict", batch([b"x" * 600]), 9, 1, 0, MESSAGE_TOO_LARGE),
        ("strict", good, 9, 2, 0, INVALID_REQUIRED_ACKS),
        ("compacted", good, 9, 1, 0, INVALID_RECORD),
        ("strict", batch([b"z" * 200], codec=4), 6, 1, 0, UNSUPPORTED_COMPRESSION_TYPE),
    ]
    for topic, records, version, acks, index, code in cases:
        part = produce(client, topic, records, version=version, acks=acks, index=index)
        assert (part.error_code, part.base_offset) == (code, -1), (topic, code)
    assert fetch(client, "strict").high_watermark == 0, "nothing of all that was written"


def keyed(keys: Iterable[bytes | None], *, codec: int = 0, timestamps: Iterable[int] = ()) -> bytes:
    """A batch with these keys, and these times where they are given."""
    builder = DefaultRecordBatchBuilder(2, codec, False, *NOBODY, 1 << 24)
    times = iter(timestamps)
    for index, key in enumerate(keys):
        assert builder.append(index, next(times, 1_700_000_000_000), key, b"value", []) is not None
    return bytes(builder.build())


@pytest.mark.parametrize("codec", [0, 1, 4])
@pytest.mark.parametrize("version", [8, 9, 11])
def test_every_record_without_a_key_is_named_in_a_compacted_topic(client: RawClient, version: int, codec: int) -> None:
    topic = f"keys-please-{version}-{codec}"
    client.create_topic(topic, cleanup_policy="compact")
    part = produce(client, topic, keyed([b"k", None, b"k", None, None, None], codec=codec), version=version)
    sentence = f"Compacted topic cannot accept message without key in topic partition {topic}-0"
    assert part.error_code == INVALID_RECORD
    assert [(error.batch_index, error.batch_index_error_message) for error in part.record_errors] == [
        (index, sentence) for index in (1, 3, 4, 5)
    ]
    first_three = ", ".join(f"RecordError(batchIndex={index}, message='{sentence}')" for index in (1, 3, 4))
    assert part.error_message == (
        "One or more records have been rejected due to 4 record errors in total, "
        f"and only showing the first three errors at most: [{first_three}]"
    )
    assert produce(client, topic, batch([b"a"], key=b"k")).error_code == 0


def test_every_record_out_of_the_time_range_is_named(client: RawClient) -> None:
    client.create_topic("timely", cleanup_policy="compact", message_timestamp_before_max_ms="1000")
    times = [1_000, 2_000, int(time.time() * 1000), 3_000]
    started_ms = int(time.time() * 1000)
    part = produce(client, "timely", keyed([b"k", None, b"k", b"k"], timestamps=times))
    ended_ms = int(time.time() * 1000)
    assert part.error_code == INVALID_TIMESTAMP
    assert part.error_message == "One or more records have been rejected due to invalid timestamp"
    assert [error.batch_index for error in part.record_errors] == [0, 1, 3]
    first, second, third = (error.batch_index_error_message for error in part.record_errors)
    assert second == "Compacted topic cannot accept message without key in topic partition timely-0"
    for sentence, timestamp, offset in ((first, 1_000, 0), (third, 3_000, 3)):
        start = f"Timestamp {timestamp} of message with offset {offset} is out of range. "
        earliest, _ = json.loads(sentence.removeprefix(f"{start}The timestamp should be within "))
        assert started_ms - 1000 <= earliest <= ended_ms - 1000


def test_log_append_time_from_a_producer_is_named(client: RawClient) -> None:
    client.create_topic("stamped", message_timestamp_type="LogAppendTime")
    records = bytearray(keyed([b"k", None]))
    records[22] |= LOG_APPEND_TIME
    records[17:21] = crc32c.crc32c(bytes(records[21:])).to_bytes(4, "big")
    part = produce(client, "stamped", bytes(records))
    assert part.error_code == INVALID_TIMESTAMP
    assert [error.batch_index_error_message for error in part.record_errors] == [
        f"Invalid timestamp type in message DefaultRecord(offset={index}, timestamp=1700000000000, key={size} bytes, "
        "value=5 bytes). Producer should not set timestamp type to LogAppendTime."
        for index, size in ((0, 1), (1, 0))
    ]


def test_a_batch_that_cannot_be_read_names_no_record(client: RawClient) -> None:
    client.create_topic("unreadable", cleanup_policy="compact")
    records = bytearray(keyed([None, None, None]))
    records[-20] ^= 0x7F
    records[17:21] = crc32c.crc32c(bytes(records[21:])).to_bytes(4, "big")
    part = produce(client, "unreadable", bytes(records))
    assert (part.error_code, part.record_errors) == (INVALID_RECORD, [])


def test_an_answer_lists_a_bounded_number_of_records(client: RawClient) -> None:
    """Many records fit into a few compressed bytes, and each is a hundred bytes of the answer."""
    client.create_topic("many", 2, cleanup_policy="compact")
    records = keyed([None] * 70_000, codec=4)
    data = [{"name": "many", "partition_data": [{"index": index, "records": records} for index in (0, 1)]}]
    response = client.request(apis.PRODUCE, 9, {"acks": 1, "timeout_ms": 5000, "topic_data": data})
    parts = response.responses[0].partition_responses
    assert [(part.error_code, len(part.record_errors)) for part in parts] == [
        (INVALID_RECORD, 70_000),
        (INVALID_RECORD, 30_000),
    ]
    assert all("due to 70000 record errors in total" in part.error_message for part in parts)


@pytest.mark.parametrize("version", range(3, 12))
@pytest.mark.parametrize("acks", [1, -1])
def test_null_records_are_invalid_records(client: RawClient, version: int, acks: int) -> None:
    topic = f"null-{version}-{acks}"
    client.create_topic(topic)
    for records in (None, b""):
        part = produce(client, topic, records, version=version, acks=acks)
        assert (part.error_code, part.base_offset) == (INVALID_RECORD, -1)
    assert produce(client, topic, batch([b"and on it goes"]), version=version, acks=acks).error_code == 0


def test_null_records_without_acks_close_the_connection(broker: Broker, client: RawClient) -> None:
    client.create_topic("null-silent")
    data = [{"name": "null-silent", "partition_data": [{"index": 0, "records": None}]}]
    with RawClient(broker.bound_listeners[0].port) as careless:
        careless.send(apis.PRODUCE, 9, {"acks": 0, "timeout_ms": 5000, "topic_data": data})
        assert careless.is_closed_by_broker()
    assert produce(client, "null-silent", batch([b"and on it goes"])).error_code == 0


@pytest.mark.parametrize("version", range(3, 12))
@pytest.mark.parametrize("acks", [1, -1])
def test_a_transactional_batch_is_refused_without_and_with_a_transactional_id(
    client: RawClient, version: int, acks: int
) -> None:
    """Nothing of the request is written, in other partitions either; readers of committed records go on."""
    topic = f"open-{version}-{acks}"
    client.create_topic(topic, 2)
    records = [batch([b"plain"]), batch([b"open"], producer=(7, 0, 0), transactional=True)]
    for transactional_id in (None, "id"):
        fields = {
            "transactional_id": transactional_id,
            "acks": acks,
            "timeout_ms": 5000,
            "topic_data": [
                {"name": topic, "partition_data": [{"index": i, "records": records[i]} for i in range(2)]},
                {"name": "missing", "partition_data": [{"index": 0, "records": records[0]}]},
            ],
        }
        response = client.request(apis.PRODUCE, version, fields)
        parts = [part for each in response.responses for part in each.partition_responses]
        assert [part.error_code for part in parts] == [TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 3
        assert version < 8 or all("transactional" in part.error_message.lower() for part in parts)
    for index in range(2):
        part = fetch(client, topic, index=index, isolation_level=READ_COMMITTED)
        assert (part.high_watermark, part.last_stable_offset) == (0, 0)
        assert produce(client, topic, batch([b"next"]), version=version, acks=acks, index=index).error_code == 0
        part = fetch(client, topic, index=index, isolation_level=READ_COMMITTED)
        assert (part.high_watermark, part.last_stable_offset, values_of(part.records)) == (1, 1, [(0, b"next")])


def test_a_transactional_batch_without_acks_closes_the_connection(broker: Broker, client: RawClient) -> None:
    client.create_topic("open-silent")
    records = batch([b"open"], producer=(7, 0, 0), transactional=True)
    data = [{"name": "open-silent", "partition_data": [{"index": 0, "records": records}]}]
    with RawClient(broker.bound_listeners[0].port) as careless:
        careless.send(apis.PRODUCE, 9, {"acks": 0, "timeout_ms": 5000, "topic_data": data})
        assert careless.is_closed_by_broker()
    assert fetch(client, "open-silent").high_watermark == 0


def test_a_partition_named_twice_is_answered_twice(client: RawClient) -> None:
    client.create_topic("twice")
    data = [
        {"name": "twice", "partition_data": [{"index": 0, "records": records} for records in (batch([b"a"]), None)]},
        {"name": "twice", "partition_data": [{"index": 0, "records": batch([b"b"])}]},
    ]
    response = client.request(apis.PRODUCE, 9, {"acks": -1, "timeout_ms": 5000, "topic_data": data})
    parts = [part for topic in response.responses for part in topic.partition_responses]
    assert [(part.error_code, part.base_offset) for part in parts] == [(0, 0), (INVALID_RECORD, -1), (0, 1)]
    assert values_of(fetch(client, "twice").records) == [(0, b"a"), (1, b"b")]


def test_a_frame_of_lz4_that_is_cut_short_spoils_no_other_batch(broker: Broker, client: RawClient) -> None:
    """Its frame names its size; contexts that had read it once refused the batches of every producer after it."""
    client.create_topic("spoiled")
    frame = bytes(lz4.frame.compress(bytes(200_000), block_linked=False, store_size=True))
    for _ in range(4):
        with RawClient(broker.bound_listeners[0].port) as careless:
            records = batches.batch(frame[:-30], 1, attributes=3)
            assert produce(careless, "spoiled", records).error_code == INVALID_RECORD
        for _ in range(4):
            with RawClient(broker.bound_listeners[0].port) as other:
                assert produce(other, "spoiled", batch([b"good" * 100], codec=3)).error_code == 0


def test_several_partitions_answer_for_themselves(client: RawClient) -> None:
    client.create_topic("several", 2)
    fields = {
        "acks": -1,
        "timeout_ms": 1000,
        "topic_data": [
            {
                "name": "several",
                "partition_data": [{"index": index, "records": batch([b"%d" % index])} for index in (0, 1, 2)],
            },
            {"name": "missing", "partition_data": [{"index": 0, "records": batch([b"-"])}]},
        ],
    }
    response = client.request(apis.PRODUCE, 9, fields)
    assert [
        (topic.name, part.index, part.error_code) for topic in response.responses for part in topic.partition_responses
    ] == [
        ("several", 0, 0),
        ("several", 1, 0),
        ("several", 2, UNKNOWN_TOPIC_OR_PARTITION),
        ("missing", 0, UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert values_of(fetch(client, "several", index=1).records) == [(0, b"1")]


def test_errors_of_fetch(client: RawClient) -> None:
    topic_id = client.create_topic("fetched")
    produce(client, "fetched", batch([b"1", b"2"]))
    assert fetch(client, "fetched", 3).error_code == OFFSET_OUT_OF_RANGE
    assert fetch(client, "fetched", -1).error_code == OFFSET_OUT_OF_RANGE
    assert fetch(client, "fetched", index=9).error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(client, "elsewhere").error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(client, "", version=13, topic_id=uuid.random_uuid()).error_code == UNKNOWN_TOPIC_ID
    assert fetch(client, "", version=13, topic_id=topic_id, index=9).error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(client, "fetched", leader_epoch=7).error_code == UNKNOWN_LEADER_EPOCH
    assert fetch(client, "fetched", 2).records in (b"", None), "the end is not out of range"


def test_bounds_of_a_fetch(client: RawClient) -> None:
    client.create_topic("bounded")
    size = len(batch([b"x" * 1000]))
    for _ in range(5):
        produce(client, "bounded", batch([b"x" * 1000]))
    assert len(values_of(fetch(client, "bounded", partition_max_bytes=1).records)) == 1, "the first batch comes whole"
    assert len(values_of(fetch(client, "bounded", max_bytes=1).records)) == 1
    assert len(values_of(fetch(client, "bounded", partition_max_bytes=2 * size).records)) == 2
    assert len(fetch(client, "bounded", partition_max_bytes=2 * size + 10).records) <= 2 * size + 10
    assert [offset for offset, _ in values_of(fetch(client, "bounded", 3).records)] == [3, 4]


def test_the_bounds_hold_for_all_partitions_together(client: RawClient) -> None:
    client.create_topic("shared", 3)
    for index in range(3):
        produce(client, "shared", batch([b"y" * 1000]), index=index)
    fields = fetch_fields(client, "shared", max_bytes=1)
    fields["topics"] = [
        {
            "topic": "shared",
            "partitions": [
                {"partition": index, "fetch_offset": 0, "partition_max_bytes": 10_000} for index in (2, 0, 1)
            ],
        }
    ]
    response = client.request(apis.FETCH, 12, fields)
    parts = [(part.partition_index, bool(part.records)) for part in response.responses[0].partitions]
    assert parts == [(2, True), (0, False), (1, False)]


def test_a_fetch_waits_for_records(broker: Broker, client: RawClient) -> None:
    client.create_topic("awaited")
    client.send(apis.FETCH, 12, fetch_fields(client, "awaited", max_wait_ms=55_000))
    with RawClient(broker.bound_listeners[0].port) as producer:
        produce(producer, "awaited", batch([b"at last"]))
    started = time.monotonic()
    response = client.receive(apis.FETCH, 12)
    assert values_of(response.responses[0].partitions[0].records) == [(0, b"at last")]
    assert time.monotonic() - started < 50, "woken, not timed out"


def test_a_fetch_waits_for_enough_bytes(broker: Broker, client: RawClient) -> None:
    client.create_topic("enough")
    one = len(batch([b"z" * 100]))
    client.send(apis.FETCH, 12, fetch_fields(client, "enough", max_wait_ms=55_000, min_bytes=3 * one))
    with RawClient(broker.bound_listeners[0].port) as producer:
        for _ in range(3):
            produce(producer, "enough", batch([b"z" * 100]))
    response = client.receive(apis.FETCH, 12)
    assert len(values_of(response.responses[0].partitions[0].records)) == 3


def test_a_fetch_that_waits_in_vain_is_answered_empty(client: RawClient) -> None:
    client.create_topic("vain")
    started = time.monotonic()
    part = fetch(client, "vain", max_wait_ms=120)
    assert time.monotonic() - started >= 0.12
    assert (part.error_code, part.high_watermark) == (0, 0)
    assert not part.records


def test_nothing_later_on_a_connection_overtakes_a_waiting_fetch(client: RawClient) -> None:
    client.create_topic("queue")
    client.send(apis.FETCH, 12, fetch_fields(client, "queue", max_wait_ms=150))
    waiting = client.correlation_id
    client.send(apis.API_VERSIONS, 0, {})
    answers = [client.receive_frame(), client.receive_frame()]
    assert [int.from_bytes(answer[:4], "big") for answer in answers if answer] == [waiting, waiting + 1]


def test_a_waiting_fetch_hears_of_its_topics_deletion(broker: Broker, client: RawClient) -> None:
    client.create_topic("doomed")
    client.send(apis.FETCH, 12, fetch_fields(client, "doomed", max_wait_ms=55_000))
    with RawClient(broker.bound_listeners[0].port) as other:
        other.request(apis.DELETE_TOPICS, 6, {"topics": [{"name": "doomed"}]})
    response = client.receive(apis.FETCH, 12)
    assert response.responses[0].partitions[0].error_code in (UNKNOWN_TOPIC_OR_PARTITION, 6)


def test_many_fetches_wait_at_once(broker: Broker) -> None:
    port = broker.bound_listeners[0].port
    with RawClient(port) as admin:
        admin.create_topic("crowd")
        waiters = [RawClient(port) for _ in range(20)]
        for waiter in waiters:
            waiter.send(apis.FETCH, 12, fetch_fields(waiter, "crowd", max_wait_ms=55_000))
        produce(admin, "crowd", batch([b"everyone"]))
        for waiter in waiters:
            with waiter:
                part = waiter.receive(apis.FETCH, 12).responses[0].partitions[0]
                assert values_of(part.records) == [(0, b"everyone")]


def test_internal_topics_are_not_for_clients(client: RawClient) -> None:
    client.request(apis.FIND_COORDINATOR, 2, {"key": "some-group", "key_type": 0})
    part = produce(client, "__consumer_offsets", batch([b"forged"], key=b"k"))
    assert part.error_code == INVALID_TOPIC


def test_an_idempotent_retry_gets_its_first_offset(client: RawClient) -> None:
    client.create_topic("once")
    first = client.request(apis.INIT_PRODUCER_ID, 4, {"transactional_id": None, "transaction_timeout_ms": 1000})
    assert first.error_code == 0

    def sequenced(sequence: int) -> bytes:
        return batch([b"%d" % sequence], producer=(first.producer_id, first.producer_epoch, sequence))

    assert produce(client, "once", sequenced(0)).base_offset == 0
    assert produce(client, "once", sequenced(1)).base_offset == 1
    again = produce(client, "once", sequenced(0))
    assert (again.error_code, again.base_offset) == (0, 0)
    assert produce(client, "once", sequenced(5)).error_code == 45
    assert len(values_of(fetch(client, "once").records)) == 2


def test_producers_at_the_same_time_lose_nothing(broker: Broker) -> None:
    port = broker.bound_listeners[0].port
    with RawClient(port) as admin:
        admin.create_topic("rush")

    def run(number: int) -> None:
        with RawClient(port) as producer:
            for index in range(50):
                assert produce(producer, "rush", batch([b"%d-%d" % (number, index)]), acks=-1).error_code == 0

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with RawClient(port) as consumer:
        read = values_of(fetch(consumer, "rush").records)
    assert [offset for offset, _ in read] == list(range(200))
    for number in range(4):
        mine = [value for _, value in read if value.startswith(b"%d-" % number)]
        assert mine == [b"%d-%d" % (number, index) for index in range(50)]


def test_a_fetch_behind_a_lost_epoch_learns_where_the_logs_part(broker: Broker, client: RawClient) -> None:
    """KIP-595; whether the asker knows the leader's epoch is asked before that."""
    client.create_topic("parted")
    produce(client, "parted", batch([b"a", b"b", b"c"]))
    partition = broker.replica_manager.partition("parted", 0)
    assert partition is not None
    epoch = partition.leader_epoch
    for known, code in ((epoch, 0), (-1, 0), (epoch + 1, UNKNOWN_LEADER_EPOCH)):
        fields = fetch_fields(client, "parted", 9, leader_epoch=known)
        fields["topics"][0]["partitions"][0]["last_fetched_epoch"] = epoch  # type: ignore[index]
        part = client.request(apis.FETCH, 12, fields).responses[0].partitions[0]
        assert part.error_code == code
        diverging = part.diverging_epoch
        assert (diverging.epoch, diverging.end_offset) == ((-1, -1) if code else (epoch, 3))
        assert (part.high_watermark, part.log_start_offset) == ((-1, -1) if code else (3, 0))


def test_a_batch_that_grows_beyond_the_limit_when_decompressed_is_refused(fast_path: bool, tmp_path: Path) -> None:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path),
        "kcli.fast.path.enable": str(fast_path).lower(),
        "kcli.batch.max.decompressed.bytes": "10000",
    }
    broker = Broker(BrokerConfig(settings))
    broker.startup()
    try:
        with RawClient(broker.bound_listeners[0].port) as client:
            client.create_topic("squeezed")
            for codec in (1, 2, 3, 4):
                large, small = (batch([bytes(size)], codec=codec) for size in (10_001, 9_000))
                assert len(large) < 10_000
                assert produce(client, "squeezed", large).error_code == MESSAGE_TOO_LARGE
                assert produce(client, "squeezed", small).error_code == 0
            # The limit is of what has to be decompressed: plain records have limits of their own.
            assert produce(client, "squeezed", batch([bytes(10_001)])).error_code == 0
    finally:
        broker.shutdown()
