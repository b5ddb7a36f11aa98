"""DeleteRecords: what readers see afterwards, what is refused, and what a crash leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient
from tests.unit.server.test_offsets import EARLIEST, LATEST, MAX_TIMESTAMP, START_MS, list_offset
from tests.unit.server.test_produce_and_fetch import batch, fetch, produce, values_of

OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17
POLICY_VIOLATION = 44


def delete(client: RawClient, version: int, *topics: tuple[str, dict[int, int]]) -> dict[tuple[str, int], Message]:
    fields = {
        "timeout_ms": 5000,
        "topics": [
            {
                "name": name,
                "partitions": [{"partition_index": index, "offset": offset} for index, offset in offsets.items()],
            }
            for name, offsets in topics
        ],
    }
    response = client.request(apis.DELETE_RECORDS, version, fields)
    return {(topic.name, part.partition_index): part for topic in response.topics for part in topic.partitions}


def filled(client: RawClient, name: str, **configs: str) -> str:
    """Offsets 0 to 9 in batches of five."""
    client.create_topic(name, **configs)
    for start in (0, 5):
        produce(client, name, batch([str(start + index).encode() for index in range(5)], key=b"k"))
    return name


@pytest.mark.parametrize("version", range(3))
def test_readers_start_where_the_log_starts_now(client: RawClient, version: int) -> None:
    topic = filled(client, f"shortened-{version}")
    result = delete(client, version, (topic, {0: 7}))[topic, 0]
    assert (result.error_code, result.low_watermark) == (0, 7)
    assert list_offset(client, topic, EARLIEST).offset == 7
    assert list_offset(client, topic, LATEST).offset == 10
    assert fetch(client, topic, 6).error_code == OFFSET_OUT_OF_RANGE
    assert (7, b"7") in values_of(fetch(client, topic, 7).records)


def test_the_high_watermark_empties_the_log(client: RawClient) -> None:
    topic = filled(client, "emptied")
    result = delete(client, 2, (topic, {0: -1}))[topic, 0]
    assert (result.error_code, result.low_watermark) == (0, 10)
    assert list_offset(client, topic, EARLIEST).offset == 10
    assert produce(client, topic, batch([b"next"])).base_offset == 10


def test_a_start_never_goes_back(client: RawClient) -> None:
    topic = filled(client, "forward")
    delete(client, 2, (topic, {0: 6}))
    assert delete(client, 2, (topic, {0: 3}))[topic, 0].low_watermark == 6


def test_partitions_fail_one_by_one(client: RawClient) -> None:
    fine, compacted = filled(client, "fine"), filled(client, "compacted", cleanup_policy="compact")
    both = filled(client, "both-policies", cleanup_policy="compact,delete")
    asked = [(fine, {0: 2, 5: 0}), (compacted, {0: 1}), (both, {0: 1}), ("absent", {0: 0})]
    results = delete(client, 2, *asked)
    assert {key: (part.error_code, part.low_watermark) for key, part in results.items()} == {
        (fine, 0): (0, 2),
        (fine, 5): (UNKNOWN_TOPIC_OR_PARTITION, -1),
        (compacted, 0): (POLICY_VIOLATION, -1),
        (both, 0): (0, 1),
        ("absent", 0): (UNKNOWN_TOPIC_OR_PARTITION, -1),
    }


@pytest.mark.parametrize("offset", [11, -2])
def test_an_offset_beyond_the_high_watermark_or_of_no_meaning(client: RawClient, offset: int) -> None:
    topic = filled(client, f"beyond{offset}")
    result = delete(client, 2, (topic, {0: offset}))[topic, 0]
    assert (result.error_code, result.low_watermark) == (OFFSET_OUT_OF_RANGE, -1)
    assert list_offset(client, topic, EARLIEST).offset == 0


def test_the_newest_record_is_one_that_is_left(client: RawClient) -> None:
    """The segment still knows the largest timestamp of all that was ever in it."""
    client.create_topic("newest")
    for delay in (1000, 9000, 200, 500, 300):
        produce(client, "newest", batch([b"v"] * 3, timestamp=START_MS + delay))
    for start, offset, delay in ((3, 5, 9002), (5, 5, 9002), (6, 11, 502), (11, 11, 502), (12, 14, 302)):
        delete(client, 2, ("newest", {0: start}))
        found = list_offset(client, "newest", MAX_TIMESTAMP)
        assert (found.offset, found.timestamp) == (offset, START_MS + delay)
    delete(client, 2, ("newest", {0: -1}))
    assert list_offset(client, "newest", MAX_TIMESTAMP).offset == -1


def test_topics_of_the_broker_keep_their_records(client: RawClient) -> None:
    client.request(apis.FIND_COORDINATOR, 2, {"key": "group", "key_type": 0})
    assert delete(client, 2, ("__consumer_offsets", {0: 0}))["__consumer_offsets", 0].error_code == INVALID_TOPIC


def test_a_topic_that_stands_twice_is_one(client: RawClient) -> None:
    client.create_topic("mentioned", 2)
    results = delete(client, 2, ("mentioned", {0: 0}), ("mentioned", {1: 0}))
    assert [part.error_code for part in results.values()] == [0, 0]


def test_what_was_deleted_stays_deleted_after_a_kill(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as process:
        with RawClient(process.port) as client:
            topic = filled(client, "gone")
            assert delete(client, 2, (topic, {0: 8}))[topic, 0].low_watermark == 8
        process.restart(kill=True)
        with RawClient(process.port) as client:
            assert list_offset(client, topic, EARLIEST).offset == 8
            assert list_offset(client, topic, LATEST).offset == 10
