"""CreateTopics, DeleteTopics, DescribeConfigs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcore import uuid
from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.server.broker import Broker
from kcore.server.config_description import describe_broker, describe_topic
from tests.raw_client import RawClient

TOPIC, BROKER = 2, 4
TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG = 1, 4, 5
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_REPLICATION_FACTOR = 38
INVALID_REPLICA_ASSIGNMENT = 39
INVALID_CONFIG = 40
INVALID_REQUEST = 42
POLICY_VIOLATION = 44
TOPIC_DELETION_DISABLED = 73
UNKNOWN_TOPIC_ID = 100


def new_topic(name: str, partitions: int = 1, replicas: int = 1, **more: object) -> dict[str, object]:
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas, **more}


def create(client: RawClient, version: int, *topics: dict[str, object], **more: object) -> list[Message]:
    response = client.request(apis.CREATE_TOPICS, version, {"topics": list(topics), **more})
    return list(response.topics)


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_made_and_ready_when_the_answer_comes(broker: Broker, client: RawClient, version: int) -> None:
    name = f"made-{version}"
    (result,) = create(client, version, new_topic(name, 2))
    assert (result.name, result.error_code, result.error_message) == (name, 0, None)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 1)
        configs = {config.name: config for config in result.configs}
        assert configs["cleanup.policy"].value == "delete"
        assert configs["segment.bytes"].config_source == DEFAULT_CONFIG
    directories = sorted(path.name for path in Path(broker.config.log_directories[0]).glob(f"{name}-*"))
    assert directories == [f"{name}-0", f"{name}-1"]
    text = (Path(broker.config.log_directories[0]) / f"{name}-0" / "partition.metadata").read_text()
    assert f"topic_id: {uuid.to_text(broker.metadata_cache.image.topics[name].topic_id)}" in text
    if version >= 7:
        assert result.topic_id == broker.metadata_cache.image.topics[name].topic_id


def test_topics_fail_one_by_one(client: RawClient) -> None:
    client.create_topic("present")
    results = create(
        client,
        5,
        new_topic("present"),
        new_topic("fine"),
        new_topic("too-many-replicas", replicas=2),
        new_topic("no-partitions", partitions=0),
        new_topic("bad/name"),
        new_topic("bad-config", configs=[{"name": "retention.ms", "value": "soon"}]),
        new_topic("unknown-config", configs=[{"name": "retention.hours", "value": "1"}]),
        new_topic("null-config", configs=[{"name": "retention.ms", "value": None}]),
        new_topic("twice"),
        new_topic("twice"),
        new_topic("assigned-and-counted", assignments=[{"partition_index": 0, "broker_ids": [1]}]),
        new_topic("partition-twice", -1, -1, assignments=[{"partition_index": 0, "broker_ids": [1]}] * 2),
        new_topic("nobody", -1, -1, assignments=[{"partition_index": 0, "broker_ids": [77]}]),
    )
    assert len(results) == 12
    assert {result.name: result.error_code for result in results} == {
        "present": TOPIC_ALREADY_EXISTS,
        "fine": 0,
        "too-many-replicas": INVALID_REPLICATION_FACTOR,
        "no-partitions": INVALID_PARTITIONS,
        "bad/name": INVALID_TOPIC,
        "bad-config": INVALID_CONFIG,
        "unknown-config": INVALID_CONFIG,
        "null-config": INVALID_CONFIG,
        "twice": INVALID_REQUEST,
        "assigned-and-counted": INVALID_REQUEST,
        "partition-twice": INVALID_REPLICA_ASSIGNMENT,
        "nobody": INVALID_REPLICA_ASSIGNMENT,
    }
    assert all(result.error_message for result in results if result.error_code)


@pytest.mark.parametrize("counts", [(10_001,), (6_000, 4_001)])
def test_no_request_makes_more_partitions_than_kafka_allows(
    broker: Broker, client: RawClient, counts: tuple[int, ...]
) -> None:
    results = create(client, 7, *(new_topic(f"vast-{count}", count) for count in counts))
    assert [result.error_code for result in results] == [POLICY_VIOLATION] * len(counts)
    assert not any(name.startswith("vast-") for name in broker.metadata_cache.image.topics)


@pytest.mark.parametrize(
    "configs",
    [{"min.compaction.lag.ms": "20", "max.compaction.lag.ms": "10"}, {"remote.storage.enable": "true"}],
)
def test_configurations_that_no_topic_can_be_given(client: RawClient, configs: dict[str, str]) -> None:
    named = [{"name": name, "value": value} for name, value in configs.items()]
    (result,) = create(client, 7, new_topic("contradictory", configs=named))
    assert result.error_code == INVALID_CONFIG


def test_validate_only_makes_nothing(broker: Broker, client: RawClient) -> None:
    (result,) = create(client, 7, new_topic("only-validated", 4), validate_only=True)
    assert (result.error_code, result.num_partitions) == (0, 4)
    assert broker.metadata_cache.topic("only-validated") is None


def test_defaults_come_from_the_broker(client: RawClient) -> None:
    (result,) = create(client, 7, new_topic("defaults", -1, -1))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 1, 1)


def test_a_manual_assignment_is_taken(broker: Broker, client: RawClient) -> None:
    assignments = [{"partition_index": index, "broker_ids": [broker.broker_id]} for index in (1, 0)]
    (result,) = create(client, 7, new_topic("assigned", -1, -1, assignments=assignments))
    assert (result.error_code, result.num_partitions) == (0, 2)


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_deleted(broker: Broker, client: RawClient, version: int) -> None:
    name = f"gone-{version}"
    topic_id = client.create_topic(name, 2)
    by_name = {"topics": [{"name": name}]} if version >= 6 else {"topic_names": [name]}
    response = client.request(apis.DELETE_TOPICS, version, by_name)
    (result,) = response.responses
    assert (result.name, result.error_code) == (name, 0)
    if version >= 6:
        assert result.topic_id == topic_id
    assert broker.metadata_cache.topic(name) is None
    assert broker.replica_manager.partition(name, 0) is None
    left = [path.name for path in Path(broker.config.log_directories[0]).glob(f"{name}-*")]
    assert all(directory.endswith("-delete") for directory in left)
    (again,) = client.request(apis.DELETE_TOPICS, version, by_name).responses
    assert again.error_code == UNKNOWN_TOPIC_OR_PARTITION


def test_topics_are_deleted_by_id_and_get_a_new_one_when_made_again(client: RawClient) -> None:
    first = client.create_topic("phoenix")
    response = client.request(
        apis.DELETE_TOPICS,
        6,
        {
            "topics": [
                {"topic_id": first, "name": None},
                {"topic_id": uuid.random_uuid(), "name": None},
                {"topic_id": first, "name": "phoenix"},
                {"name": None},
            ]
        },
    )
    assert sorted(result.error_code for result in response.responses) == [
        0,
        INVALID_REQUEST,
        INVALID_REQUEST,
        UNKNOWN_TOPIC_ID,
    ]
    assert client.create_topic("phoenix") != first


@pytest.mark.parametrize("version", [1, 5, 6])
def test_a_topic_named_twice_is_not_deleted(broker: Broker, client: RawClient, version: int) -> None:
    topic_id = client.create_topic(f"named-twice-{version}")
    names = [f"named-twice-{version}"] * 2
    by_name = {"topics": [{"name": name} for name in names]} if version >= 6 else {"topic_names": names}
    responses = client.request(apis.DELETE_TOPICS, version, by_name).responses
    if version >= 6:
        by_id = {"topics": [{"name": None, "topic_id": topic_id}] * 2}
        responses += client.request(apis.DELETE_TOPICS, version, by_id).responses
    assert {result.error_code for result in responses} == {INVALID_REQUEST}
    assert len(responses) == (2 if version >= 6 else 1)
    assert broker.metadata_cache.topic(names[0]) is not None


@pytest.mark.parametrize("version", range(1, 7))
def test_topics_stay_where_deletion_is_disabled(tmp_path: Path, version: int) -> None:
    disabled = {"delete.topic.enable": "false"}
    broker = Broker(BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path), **disabled}))
    broker.startup()
    try:
        with RawClient(broker.bound_listeners[0].port) as client:
            client.create_topic("staying")
            by_name = {"topics": [{"name": "staying"}]} if version >= 6 else {"topic_names": ["staying"]}
            (result,) = client.request(apis.DELETE_TOPICS, version, by_name).responses
        assert result.error_code == (INVALID_REQUEST if version < 3 else TOPIC_DELETION_DISABLED)
        assert broker.metadata_cache.topic("staying") is not None
    finally:
        broker.shutdown()


def describe(client: RawClient, version: int, kind: int, name: str, **more: object) -> Message:
    keys = more.pop("keys", None)
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    response = client.request(apis.DESCRIBE_CONFIGS, version, {"resources": [resource], **more})
    result: Message = response.results[0]
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topics_configuration_says_where_it_comes_from(client: RawClient, version: int) -> None:
    client.create_topic(f"configured-{version}", retention_ms="1234")
    result = describe(client, version, TOPIC, f"configured-{version}", include_synonyms=True)
    assert result.error_code == 0
    configs = {config.name: config for config in result.configs}
    assert len(configs) == 33
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("1234", TOPIC_CONFIG)
    assert [(row.name, row.value, row.source) for row in configs["retention.ms"].synonyms] == [
        ("retention.ms", "1234", TOPIC_CONFIG)
    ]
    assert [(row.name, row.value, row.source) for row in configs["segment.bytes"].synonyms] == [
        ("log.segment.bytes", "1073741824", DEFAULT_CONFIG)
    ]
    assert (configs["segment.bytes"].value, configs["segment.bytes"].config_source) == ("1073741824", DEFAULT_CONFIG)
    assert configs["segment.bytes"].config_type == (3 if version >= 3 else 0)
    assert not configs["segment.bytes"].read_only
    assert configs["segment.bytes"].documentation == (None if version >= 3 else "")


def test_synonyms_begin_with_the_configuration_itself(tmp_path: Path) -> None:
    """What Apache Kafka 3.9 answered for the same properties."""
    stated = {
        "log.retention.minutes": "50",
        "log.retention.hours": "7",
        "log.roll.ms": "7200000",
        "log.roll.hours": "9",
    }
    config = BrokerConfig({"log.dirs": str(tmp_path), "log.roll.jitter.hours": "1", **stated})
    topic = {entry["name"]: entry for entry in describe_topic(config, {})}
    broker = {entry["name"]: entry for entry in describe_broker(config)}

    def synonyms(entry: dict[str, Any]) -> list[tuple[str, str, int]]:
        return [(row["name"], row["value"], row["source"]) for row in entry["synonyms"]]

    roll = [("log.roll.ms", "7200000", 4), ("log.roll.hours", "9", 4), ("log.roll.hours", "168", 5)]
    assert synonyms(topic["segment.ms"]) == synonyms(broker["log.roll.ms"]) == roll
    assert (topic["retention.ms"]["value"], topic["retention.ms"]["config_source"]) == ("3000000", DEFAULT_CONFIG)
    assert synonyms(topic["retention.ms"]) == synonyms(broker["log.retention.ms"]) == []
    assert synonyms(broker["log.retention.minutes"]) == [
        ("log.retention.minutes", "50", 4),
        ("log.retention.hours", "7", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert synonyms(topic["segment.jitter.ms"]) == []


def test_only_the_wanted_keys_are_described_with_documentation(client: RawClient) -> None:
    client.create_topic("wanted")
    result = describe(client, 4, TOPIC, "wanted", keys=["retention.ms", "no.such.key"], include_documentation=True)
    assert [config.name for config in result.configs] == ["retention.ms"]
    assert result.configs[0].documentation
    assert result.configs[0].synonyms == []


def test_the_broker_is_described(broker: Broker, client: RawClient) -> None:
    result = describe(client, 4, BROKER, str(broker.broker_id), include_synonyms=True)
    configs = {config.name: config for config in result.configs}
    assert configs["log.dirs"].config_source == STATIC_BROKER_CONFIG
    assert configs["log.dirs"].read_only
    assert configs["log.retention.ms"].value is None
    assert configs["num.io.threads"].value == "2"
    assert [(row.name, row.value, row.source) for row in configs["num.io.threads"].synonyms] == [
        ("num.io.threads", "2", STATIC_BROKER_CONFIG),
        ("num.io.threads", "8", DEFAULT_CONFIG),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "no-such-topic", UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "bad/name", INVALID_TOPIC),
        (BROKER, "not-a-number", INVALID_REQUEST),
        (BROKER, "4711", INVALID_REQUEST),
        (BROKER, "", 0),
        (77, "x", INVALID_REQUEST),
    ],
)
def test_a_resource_that_is_not_here_has_its_own_error(client: RawClient, kind: int, name: str, code: int) -> None:
    result = describe(client, 1, kind, name)
    assert result.error_code == code
    assert result.configs == []
    # Of a topic that is not there Kafka says no more than the code.
    assert bool(result.error_message) == (code not in (0, UNKNOWN_TOPIC_OR_PARTITION))


def test_a_topic_operation_is_one_line_of_the_log(
    broker: Broker, client: RawClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """There were three for each partition, which came to nine tenths of a log."""
    capsys.readouterr()
    create(client, 7, new_topic("told", 7))
    client.request(apis.CREATE_PARTITIONS, 3, {"topics": [{"name": "told", "count": 12, "assignments": None}]})
    client.request(apis.DELETE_TOPICS, 5, {"topic_names": ["told"], "timeout_ms": 5_000})
    lines = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines() if "told" in line]
    assert lines == [
        "INFO [kcore.server.metadata] Created topic told with 7 partitions",
        "INFO [kcore.server.metadata] Added 5 partitions to topic told",
        "INFO [kcore.server.metadata] Deleted topic told with 12 partitions",
    ]
