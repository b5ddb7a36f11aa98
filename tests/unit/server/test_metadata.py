"""Metadata and DescribeCluster: by name, by id, all, auto-creation, addresses."""

from __future__ import annotations

import pytest

from kcore import uuid
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17
INVALID_REQUEST = 42
UNKNOWN_TOPIC_ID = 100
NOT_ASKED_FOR = -(2**31)
ALL_OF_A_TOPIC = 0b110111111000


def asked(name: str | None = None, topic_id: bytes = uuid.ZERO) -> dict[str, object]:
    return {"name": name, "topic_id": topic_id}


@pytest.mark.parametrize("version", range(14))
def test_a_topic_is_described_in_every_version(broker: Broker, client: RawClient, version: int) -> None:
    name = f"described-{version}"
    topic_id = client.create_topic(name, 3)
    response = client.request(apis.METADATA, version, {"topics": [{"name": name}]})
    (topic,) = response.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, name, False)
    assert topic.topic_id == (topic_id if version >= 10 else uuid.ZERO)
    assert [partition.partition_index for partition in topic.partitions] == [0, 1, 2]
    for partition in topic.partitions:
        assert partition.error_code == 0
        assert partition.leader_id == broker.broker_id
        assert partition.replica_nodes == partition.isr_nodes == [broker.broker_id]
        assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert [(node.node_id, node.host, node.port) for node in response.brokers] == [
        (broker.broker_id, "127.0.0.1", broker.bound_listeners[0].port)
    ]
    assert response.cluster_id == (broker.cluster_id if version >= 2 else None)
    assert response.controller_id == (broker.broker_id if version >= 1 else -1)
    assert topic.topic_authorized_operations == NOT_ASKED_FOR


def test_all_topics_are_null_or_in_version_0_an_empty_list(client: RawClient) -> None:
    client.create_topic("all-1")
    for version, topics in ((0, []), (1, None), (13, None)):
        names = {topic.name for topic in client.request(apis.METADATA, version, {"topics": topics}).topics}
        assert "all-1" in names
    assert client.request(apis.METADATA, 1, {"topics": []}).topics == []


def test_a_topic_is_found_by_id(client: RawClient) -> None:
    topic_id = client.create_topic("by-id")
    missing = uuid.random_uuid()
    response = client.request(apis.METADATA, 12, {"topics": [asked(topic_id=topic_id), asked(topic_id=missing)]})
    assert [(topic.error_code, topic.name, topic.topic_id) for topic in response.topics] == [
        (0, "by-id", topic_id),
        (UNKNOWN_TOPIC_ID, None, missing),
    ]


def test_versions_10_and_11_cannot_ask_by_id(client: RawClient) -> None:
    topic_id = client.create_topic("too-early")
    for version in (10, 11):
        response = client.request(apis.METADATA, version, {"topics": [asked("too-early", topic_id)]})
        assert [topic.error_code for topic in response.topics] == [INVALID_REQUEST]


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("topic_id", [uuid.ZERO, b"\x07" * 16], ids=["without", "with"])
def test_versions_10_and_11_refuse_a_null_name_with_an_empty_one(
    client: RawClient, version: int, topic_id: bytes
) -> None:
    topics = [asked("named"), asked(None, topic_id)]
    response = client.request(apis.METADATA, version, {"topics": topics})
    assert [(topic.error_code, topic.name, topic.topic_id) for topic in response.topics] == [
        (INVALID_REQUEST, "named", uuid.ZERO),
        (INVALID_REQUEST, "", topic_id),
    ]
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)


@pytest.mark.parametrize("version", [1, 9, 10, 12])
def test_a_topic_that_is_asked_about_twice_is_answered_once(client: RawClient, version: int) -> None:
    name = f"twice-{version}"
    client.create_topic(name)
    topics = [asked(name), asked("no-such"), asked(name), asked("no-such")]
    fields = {"topics": topics, **({"allow_auto_topic_creation": False} if version >= 4 else {})}
    assert sorted(topic.name for topic in client.request(apis.METADATA, version, fields).topics) == ["no-such", name]


def test_an_id_that_is_asked_about_twice_is_answered_once(client: RawClient) -> None:
    missing, topic_id = b"\x05" * 16, client.create_topic("twice-by-id")
    topics = [asked(None, missing), asked("", topic_id), asked(None, missing), asked(None, topic_id)]
    response = client.request(apis.METADATA, 12, {"topics": topics, "include_topic_authorized_operations": True})
    assert [(topic.topic_id, topic.topic_authorized_operations) for topic in response.topics] == [
        (missing, NOT_ASKED_FOR),
        (topic_id, ALL_OF_A_TOPIC),
    ]


@pytest.mark.parametrize(("version", "allowed", "made"), [(3, True, True), (4, True, True), (4, False, False)])
def test_an_unknown_topic_is_made_where_the_client_allows_it(
    client: RawClient, version: int, allowed: bool, made: bool
) -> None:
    name = f"auto-{version}-{allowed}"
    fields: dict[str, object] = {"topics": [{"name": name}]}
    if version >= 4:
        fields["allow_auto_topic_creation"] = allowed
    (topic,) = client.request(apis.METADATA, version, fields).topics
    if made:
        assert topic.error_code == 0
        assert len(topic.partitions) == 1
    else:
        assert topic.error_code == UNKNOWN_TOPIC_OR_PARTITION
    names = {topic.name for topic in client.request(apis.METADATA, 1, {"topics": None}).topics}
    assert (name in names) == made


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("name", ["no/slash", "..", "x" * 250])
def test_a_name_that_no_topic_can_have_is_an_invalid_topic(client: RawClient, name: str, allowed: bool) -> None:
    response = client.request(apis.METADATA, 9, {"topics": [{"name": name}], "allow_auto_topic_creation": allowed})
    assert [topic.error_code for topic in response.topics] == [INVALID_TOPIC]


def test_authorized_operations_are_answered_when_asked_for(client: RawClient) -> None:
    client.create_topic("operations")
    response = client.request(
        apis.METADATA,
        8,
        {
            "topics": [{"name": "operations"}],
            "include_topic_authorized_operations": True,
            "include_cluster_authorized_operations": True,
        },
    )
    # READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS, as Kafka without an authorizer answers.
    assert response.topics[0].topic_authorized_operations == ALL_OF_A_TOPIC
    assert response.cluster_authorized_operations == 0b1111110100000


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_described(broker: Broker, client: RawClient, version: int) -> None:
    response = client.request(apis.DESCRIBE_CLUSTER, version, {"include_cluster_authorized_operations": True})
    assert (response.error_code, response.cluster_id) == (0, broker.cluster_id)
    assert response.controller_id == broker.broker_id
    assert [(node.broker_id, node.host, node.port, node.rack) for node in response.brokers] == [
        (broker.broker_id, "127.0.0.1", broker.bound_listeners[0].port, None)
    ]
    assert response.cluster_authorized_operations == 0b1111110100000


@pytest.mark.parametrize(("endpoint_type", "code"), [(2, 114), (9, 115)])
def test_only_brokers_can_be_described(client: RawClient, endpoint_type: int, code: int) -> None:
    response = client.request(
        apis.DESCRIBE_CLUSTER,
        1,
        {"include_cluster_authorized_operations": False, "endpoint_type": endpoint_type},
    )
    assert response.error_code == code
