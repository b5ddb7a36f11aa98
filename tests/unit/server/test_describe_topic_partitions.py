"""DescribeTopicPartitions: pages that together say what Metadata says at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.server.broker import Broker
from tests.raw_client import RawClient

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17
INVALID_REQUEST = 42


@pytest.fixture(scope="module", autouse=True)
def topics(broker: Broker) -> None:
    """Nine partitions in three topics."""
    with RawClient(broker.bound_listeners[0].port) as connection:
        for name, count in (("a", 2), ("b", 4), ("c", 3)):
            connection.create_topic(name, count)


def describe(
    client: RawClient, names: list[str], limit: int = 2000, cursor: tuple[str, int] | None = None
) -> tuple[list[Message], tuple[str, int] | None]:
    """The topics of a page, and where the next one starts."""
    fields = {
        "topics": [{"name": name} for name in names],
        "response_partition_limit": limit,
        "cursor": None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]},
    }
    response = client.request(apis.DESCRIBE_TOPIC_PARTITIONS, 0, fields)
    following = response.next_cursor
    return list(response.topics), None if following is None else (following.topic_name, following.partition_index)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("names", [[], ["c", "a", "b"]], ids=["all", "named"])
def test_pages_add_up_to_the_metadata(client: RawClient, limit: int, names: list[str]) -> None:
    seen = []
    cursor = None
    while True:
        page, cursor = describe(client, names, limit, cursor)
        rows = [(topic.name, bytes(topic.topic_id), part) for topic in page for part in topic.partitions]
        assert len(rows) <= limit
        seen += rows
        if cursor is None:
            break
        assert len(rows) == limit
    metadata = client.request(apis.METADATA, 12, {"topics": [{"name": name} for name in "abc"]})
    expected = [(topic.name, bytes(topic.topic_id), part) for topic in metadata.topics for part in topic.partitions]
    assert [(name, topic_id, part.partition_index) for name, topic_id, part in seen] == [
        (name, topic_id, part.partition_index) for name, topic_id, part in expected
    ]
    for (_, _, ours), (_, _, theirs) in zip(seen, expected, strict=True):
        for field in ("error_code", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas"):
            assert getattr(ours, field) == getattr(theirs, field)
        assert (ours.eligible_leader_replicas, ours.last_known_elr) == ([], [])


def test_the_broker_has_a_limit_of_its_own(tmp_path: Path) -> None:
    limit = {"max.request.partition.size.limit": "5"}
    broker = Broker(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path), **limit}))
    broker.startup()
    try:
        with RawClient(broker.bound_listeners[0].port) as connection:
            connection.create_topic("long", 7)
            page, cursor = describe(connection, [])
    finally:
        broker.shutdown()
    assert [len(topic.partitions) for topic in page] == [5]
    assert cursor == ("long", 5)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_has_one_partition_at_least(client: RawClient, limit: int) -> None:
    page, cursor = describe(client, ["a"], limit)
    assert [len(topic.partitions) for topic in page] == [1]
    assert cursor == ("a", 1)


def test_missing_topics_are_named_and_take_no_room(client: RawClient) -> None:
    page, cursor = describe(client, ["absent", "bad/name", "a", "c"], 5)
    assert [(topic.name, topic.error_code, len(topic.partitions)) for topic in page] == [
        ("a", 0, 2),
        ("absent", UNKNOWN_TOPIC_OR_PARTITION, 0),
        ("bad/name", INVALID_TOPIC, 0),
        ("c", 0, 3),
    ]
    assert cursor is None


@pytest.mark.parametrize("cursor", [("b", 99), ("bb", 0)])
def test_a_cursor_may_point_to_what_is_gone(client: RawClient, cursor: tuple[str, int]) -> None:
    page, following = describe(client, [], 2000, cursor)
    assert [topic.name for topic in page if topic.partitions] == ["c"]
    assert following is None


@pytest.mark.parametrize(("names", "cursor"), [(["b"], ("a", 0)), (["a"], ("a", -1))])
def test_a_cursor_that_does_not_belong_to_the_request(
    client: RawClient, names: list[str], cursor: tuple[str, int]
) -> None:
    page, _ = describe(client, names, 2000, cursor)
    assert [(topic.name, topic.error_code) for topic in page] == [(names[0], INVALID_REQUEST)]
