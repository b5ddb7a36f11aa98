"""DescribeProducers: the producers as their own batches told of them."""

from __future__ import annotations

from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17


def describe(client: RawClient, **indexes: list[int]) -> dict[tuple[str, int], Message]:
    topics = [{"name": name, "partition_indexes": wanted} for name, wanted in indexes.items()]
    response = client.request(apis.DESCRIBE_PRODUCERS, 0, {"topics": topics})
    return {(topic.name, part.partition_index): part for topic in response.topics for part in topic.partitions}


def test_idempotent_producers_are_known_and_others_are_not(client: RawClient) -> None:
    client.create_topic("written", 2)
    produce(client, "written", batch([b"by nobody"]))
    for first, sequence in ((41, 0), (41, 3), (42, 0)):
        produce(client, "written", batch([b"v"] * 3, producer=(first, 5, sequence), timestamp=1_700_000_000_000))
    found = describe(client, written=[0, 1])
    producers = {row.producer_id: row for row in found["written", 0].active_producers}
    assert sorted(producers) == [41, 42]
    row = producers[41]
    assert (row.producer_epoch, row.last_sequence, row.last_timestamp) == (5, 5, 1_700_000_000_002)
    assert row.current_txn_start_offset == -1
    assert found["written", 1].active_producers == []


def test_what_is_not_there(client: RawClient) -> None:
    client.create_topic("there")
    found = describe(client, there=[0, 7], absent=[0], **{"bad/name": [0]})
    assert {key: part.error_code for key, part in found.items()} == {
        ("there", 0): 0,
        ("there", 7): UNKNOWN_TOPIC_OR_PARTITION,
        ("absent", 0): UNKNOWN_TOPIC_OR_PARTITION,
        ("bad/name", 0): INVALID_TOPIC,
    }
