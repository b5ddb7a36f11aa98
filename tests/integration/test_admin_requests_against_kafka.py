"""The administrative requests, one by one, to our broker and to Apache Kafka 3.9: equal answers, codes and words.

Left out of the comparison is what belongs to one broker: ids, addresses and directories, and sizes of volumes. The
order of topics and partitions in an answer has no meaning to clients, and none to Kafka, which answers them in that of
a hash table. `metadata.version` and `kraft.version` are features of KRaft's, of which nothing exists here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

OF_ONE_BROKER = frozenset({"topic_id", "log_dir", "total_bytes", "usable_bytes", "cluster_id", "port"})
# Kafka 4 has removed three of these configurations, and has another default of the fourth.
CHANGED_BY_KAFKA_4 = frozenset(
    {
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.after.max.ms",
        "message.timestamp.difference.max.ms",
    }
)
INVALID_TOPIC = 17
COMPACT, BOTH = {"cleanup.policy": "compact"}, {"cleanup.policy": "compact,delete"}


@pytest.fixture(scope="module")
def our_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Ours, with default settings."""
    data: Path = tmp_path_factory.mktemp("ours") / "data"
    with BrokerProcess(data) as process:
        yield process


@pytest.fixture(scope="module")
def brokers(apache_kafka_39: ApacheKafka, our_broker: BrokerProcess) -> Iterator[list[RawClient]]:
    """A connection to Kafka and one to us, with the same topics and records on both sides."""
    with RawClient(apache_kafka_39.port) as kafka_client, RawClient(our_broker.port) as our_client:
        clients = [kafka_client, our_client]
        for client in clients:
            for topic in (
                creatable("adm-a", 3),
                creatable("adm-b", 1, configs=COMPACT),
                creatable("adm-c", 1, configs=BOTH),
            ):
                response = client.request(apis.CREATE_TOPICS, 7, {"topics": [topic], "timeout_ms": 10_000})
                assert response.topics[0].error_code == 0, response
            for name in ("adm-a", "adm-b", "adm-c"):
                # Kafka's answer to CreateTopics may come before the leader is ready.
                while produce(client, name, batch([b"v"] * 10, key=b"k")).error_code != 0:
                    pass
        yield clients


def creatable(
    name: str,
    partitions: int = -1,
    replicas: int | None = None,
    *,
    assignments: Mapping[int, Sequence[int]] | Sequence[tuple[int, Sequence[int]]] = (),
    configs: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """A topic of CreateTopics; one replica unless brokers are assigned."""
    pairs = assignments.items() if isinstance(assignments, Mapping) else assignments
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas if replicas is not None else (-1 if assignments else 1),
        "assignments": [{"partition_index": index, "broker_ids": list(ids)} for index, ids in pairs],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }


def comparable(value: Any) -> Any:
    """A response as plain values in an order that does not depend on who answered."""
    if isinstance(value, Message):
        names = (field.name for field in value._struct.fields if field.name not in OF_ONE_BROKER)
        return {name: comparable(getattr(value, name)) for name in names if hasattr(value, name)}
    if isinstance(value, list):
        kept = (item for item in value if getattr(item, "name", None) not in CHANGED_BY_KAFKA_4)
        return sorted((comparable(item) for item in kept), key=repr)
    return value


def assert_answered_alike(brokers: list[RawClient], api: Api, versions: Sequence[int], fields: Any) -> None:
    """In every version; what changes something is only validated, or changes it to the same on both sides."""
    for version in versions:
        theirs, ours = (comparable(client.request(api, version, fields)) for client in brokers)
        assert ours == theirs, f"{api.name} {version}"


def growth(name: str, count: int, assignments: Sequence[Sequence[int]] | None = None) -> dict[str, Any]:
    rows = None if assignments is None else [{"broker_ids": list(ids)} for ids in assignments]
    return {"name": name, "count": count, "assignments": rows}


@pytest.mark.parametrize(
    "topics",
    [
        [growth("adm-a", 5), growth("adm-b", 1), growth("adm-absent", 3)],
        [growth("adm-a", 3), growth("adm-b", 0), growth("adm-c", -5)],
        [growth("adm-a", 5), growth("adm-a", 6), growth("adm-b", 2)],
        [growth("adm-a", 5, [[1]]), growth("adm-b", 2, []), growth("adm-c", 2, [[1]])],
        [growth("adm-a", 4, [[2]]), growth("adm-b", 2, [[]]), growth("adm-c", 2, [[1, 1]])],
        [growth("adm-a", 4, [[1, 2]]), growth("", 2), growth("bad/name", 2)],
        [],
    ],
)
def test_create_partitions(brokers: list[RawClient], topics: list[dict[str, Any]]) -> None:
    fields = {"topics": topics, "timeout_ms": 60_000, "validate_only": True}
    assert_answered_alike(brokers, apis.CREATE_PARTITIONS, range(4), fields)


@pytest.mark.parametrize(
    "offsets",
    [
        {"adm-a": {0: 3, 1: 0, 2: 1, 9: 0}, "adm-b": {0: 1}, "adm-c": {0: 2}, "adm-absent": {0: 0}},
        {"adm-a": {0: 1, 1: -1}, "adm-c": {0: 11}},
        {"adm-a": {0: -2}, "adm-c": {0: -1}},
        {"adm-a": {0: -1}},
    ],
)
def test_delete_records(brokers: list[RawClient], offsets: dict[str, dict[int, int]]) -> None:
    topics = [
        {"name": name, "partitions": [{"partition_index": index, "offset": offset} for index, offset in asked.items()]}
        for name, asked in offsets.items()
    ]
    assert_answered_alike(brokers, apis.DELETE_RECORDS, range(3), {"topics": topics, "timeout_ms": 60_000})


@pytest.mark.parametrize(
    "topics", [{"adm-a": [0, 1, 77], "adm-absent": [0]}, {"adm-a": []}, {}], ids=["some", "none", "nothing"]
)
def test_describe_log_dirs(brokers: list[RawClient], topics: dict[str, list[int]]) -> None:
    fields = {"topics": [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]}
    assert_answered_alike(brokers, apis.DESCRIBE_LOG_DIRS, range(5), fields)


@pytest.mark.parametrize(
    ("names", "limit", "cursor"),
    [
        (["adm-a", "adm-b", "adm-absent", "bad/name"], 2000, None),
        (["adm-c", "adm-a", "adm-b", "adm-zz"], 4, None),
        (["adm-a", "adm-b"], 2, None),
        (["adm-a"], 0, None),
        (["adm-a"], -3, None),
        (["adm-a", "adm-b"], 2, ("adm-a", 2)),
        (["adm-b"], 2, ("adm-a", 1)),
        (["adm-a"], 2, ("adm-a", -1)),
        (["adm-a", "adm-b"], 2, ("adm-a", 99)),
        (["adm-a", "adm-a"], 3, ("adm-a", 0)),
        (["adm-a", "adm-b"], 2000, ("adm-b", 0)),
    ],
)
def test_describe_topic_partitions(
    brokers: list[RawClient], names: list[str], limit: int, cursor: tuple[str, int] | None
) -> None:
    fields = {
        "topics": [{"name": name} for name in names],
        "response_partition_limit": limit,
        "cursor": None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]},
    }
    assert_answered_alike(brokers, apis.DESCRIBE_TOPIC_PARTITIONS, [0], fields)


@pytest.mark.parametrize("topics", [None, [], [{"name": "adm-a", "partition_indexes": [0, 9]}], [{"name": "absent"}]])
def test_list_partition_reassignments(brokers: list[RawClient], topics: list[dict[str, Any]] | None) -> None:
    assert_answered_alike(brokers, apis.LIST_PARTITION_REASSIGNMENTS, [0], {"topics": topics})


def named(name: str, **configs: str | None) -> dict[str, Any]:
    """A topic with configurations; `_` stands for `.`."""
    return creatable(name, 1, configs={key.replace("_", "."): value for key, value in configs.items()})


TOPICS = {
    "plain": [creatable("new-1", 3), creatable("new-2", 1, configs=BOTH), creatable("new-3", -1, -1)],
    "numbers": [
        creatable("two-replicas", 1, 2),
        creatable("none", 0),
        creatable("no-replica", 1, 0),
        creatable("less", -2),
        creatable("fewer", 1, -2),
    ],
    "names": [creatable(name, 1) for name in ("", ".", "..", "bad/name", "x" * 250, "adm-a", "__cluster_metadata")],
    "twice": [creatable("twice", 1), creatable("twice", 2), creatable("once", 1)],
    "assigned": [creatable("assigned", assignments={0: [1], 1: [1]})],
    "assigned and counted": [
        creatable("counted-1", 1, -1, assignments={0: [1]}),
        creatable("counted-2", -1, 1, assignments={0: [1]}),
    ],
    "misassigned": [
        creatable("from-1", assignments={1: [1]}),
        creatable("gap", assignments={0: [1], 2: [1]}),
        creatable("below", assignments={-1: [1]}),
        creatable("again", assignments=[(0, [1]), (0, [1])]),
        creatable("stranger", assignments={0: [2]}),
        creatable("nobody", assignments={0: []}),
        creatable("doubled", assignments={0: [1, 1]}),
        creatable("uneven", assignments={0: [1], 1: [1, 2]}),
    ],
    "configs": [
        named("no-number", retention_ms="soon"),
        named("unknown", no_such_key="1"),
        named("null", retention_ms=None),
        named("nulls", retention_ms=None, segment_bytes=None),
        named("small", segment_bytes="5"),
        named("policy", cleanup_policy="eat"),
        named("empty-policy", cleanup_policy=""),
        named("codec", compression_type="rar"),
        named("lags", min_compaction_lag_ms="20", max_compaction_lag_ms="10"),
        named("tiered", remote_storage_enable="true"),
        named("as-written", cleanup_policy="compact, delete", retention_ms=" 5 ", preallocate="TRUE"),
        creatable("worse-first", 0, configs={"retention.ms": "x"}),
        creatable("nameless", 1, configs={"": "x"}),
    ],
    "too many": [creatable("many-1", 6_000), creatable("many-2", 4_001)],
    "nothing": [],
}


@pytest.mark.parametrize("topics", TOPICS.values(), ids=TOPICS)
def test_create_topics(brokers: list[RawClient], topics: list[dict[str, Any]]) -> None:
    fields = {"topics": topics, "timeout_ms": 60_000, "validate_only": True}
    assert_answered_alike(brokers, apis.CREATE_TOPICS, range(2, 8), fields)


def test_names_that_collide_within_a_request(brokers: list[RawClient]) -> None:
    """Kafka compares new names with existing topics only. Here validation predicts what the creation would answer."""
    topics = [creatable("dot.or_line", 1), creatable("dot_or.line", 1)]
    fields = {"topics": topics, "timeout_ms": 60_000, "validate_only": True}
    for client, second in zip(brokers, (0, INVALID_TOPIC), strict=True):
        answered = client.request(apis.CREATE_TOPICS, 7, fields).topics
        assert {topic.name: topic.error_code for topic in answered} == {"dot.or_line": 0, "dot_or.line": second}


@pytest.mark.parametrize("names", [["adm-absent"], ["adm-a", "adm-a"], ["", "bad/name"], []])
def test_delete_topics_by_name(brokers: list[RawClient], names: list[str]) -> None:
    assert_answered_alike(brokers, apis.DELETE_TOPICS, range(1, 6), {"topic_names": names, "timeout_ms": 60_000})


NAME, ID, BOTH_OF_IT, NEITHER, STRANGE_ID = "name", "id", "both", "neither", "strange"


@pytest.mark.parametrize(
    "asked",
    [
        [("gone-1", NAME), ("gone-2", ID)],
        [("gone-1", NAME), ("gone-1", ID), ("gone-2", NAME)],
        [("gone-1", BOTH_OF_IT), ("gone-1", NAME)],
        [("gone-1", NAME), ("gone-1", NAME), ("gone-2", ID), ("gone-2", ID)],
        [("gone-1", NAME), ("gone-1", NAME), ("gone-1", ID)],
        [("", NEITHER), ("", NEITHER), ("", STRANGE_ID), ("adm-absent", NAME), ("gone-1", NAME)],
    ],
)
def test_delete_topics_by_name_and_id(brokers: list[RawClient], asked: list[tuple[str, str]]) -> None:
    answers = []
    for client in brokers:
        ids = {name: topic_id(client, name) for name in ("gone-1", "gone-2")}
        names = {found: name for name, found in ids.items()}
        rows = []
        for name, way in asked:
            found = {ID: ids.get(name), BOTH_OF_IT: ids.get(name), STRANGE_ID: bytes(15) + b"x"}.get(way, bytes(16))
            rows.append({"name": name if way in (NAME, BOTH_OF_IT) else None, "topic_id": found})
        responses = client.request(apis.DELETE_TOPICS, 6, {"topics": rows, "timeout_ms": 60_000}).responses
        answers.append(
            sorted(
                repr((row.name, names.get(bytes(row.topic_id), bytes(row.topic_id)), row.error_code, row.error_message))
                for row in responses
            )
        )
    assert answers[1] == answers[0]


def topic_id(client: RawClient, name: str) -> bytes:
    """The id of a topic, which is made if it is not there."""
    client.request(apis.CREATE_TOPICS, 7, {"topics": [creatable(name, 1)], "timeout_ms": 60_000})
    while True:
        (topic,) = client.request(apis.METADATA, 12, {"topics": [{"name": name}]}).topics
        if topic.error_code == 0:
            return bytes(topic.topic_id)


@pytest.mark.parametrize("kind", [0, 1, 5])
@pytest.mark.parametrize("topics", [{"adm-a": [0, 1, 99], "adm-absent": [0]}, {}], ids=["some", "none"])
def test_elect_leaders(brokers: list[RawClient], kind: int, topics: dict[str, list[int]]) -> None:
    rows = [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]
    for version in range(3):
        fields = {"topic_partitions": rows, "timeout_ms": 60_000, **({"election_type": kind} if version else {})}
        assert_answered_alike(brokers, apis.ELECT_LEADERS, [version], fields)


@pytest.mark.parametrize(
    "replicas",
    [
        {"adm-a": {0: [1], 1: None, 2: [2], 99: [1]}, "adm-absent": {0: [1]}},
        {"adm-a": {0: [], 1: [1, 1], 2: [1, 2]}},
        {},
    ],
)
def test_alter_partition_reassignments(
    brokers: list[RawClient], replicas: dict[str, dict[int, list[int] | None]]
) -> None:
    topics = [
        {"name": name, "partitions": [{"partition_index": index, "replicas": ids} for index, ids in asked.items()]}
        for name, asked in replicas.items()
    ]
    assert_answered_alike(brokers, apis.ALTER_PARTITION_REASSIGNMENTS, [0], {"topics": topics, "timeout_ms": 60_000})


@pytest.mark.parametrize(
    "updates",
    [
        [("nobodys.version", 1, {})],
        [("nobodys.version", 0, {}), ("", 1, {})],
        [("nobodys.version", 1, {}), ("nobodys.version", -1, {})],
        [("transaction.version", 2, {})],
        [("group.version", 0, {"upgrade_type": 9}), ("transaction.version", 0, {"upgrade_type": 9})],
        [],
    ],
)
def test_update_features(brokers: list[RawClient], updates: list[tuple[str, int, dict[str, int]]]) -> None:
    rows = [{"feature": name, "max_version_level": level, **more} for name, level, more in updates]
    fields = {"feature_updates": rows, "timeout_ms": 60_000, "validate_only": True}
    assert_answered_alike(brokers, apis.UPDATE_FEATURES, [1], fields)


@pytest.mark.parametrize("types", [[], [2], [4], [8], [16], [32], [16, 32, 2], [99], [2, 99], None])
def test_list_config_resources(apache_kafka_4: ApacheKafka, our_broker: BrokerProcess, types: list[int] | None) -> None:
    """Version 0 for None. Of topics, groups and subscriptions only the test's own: others have run on both brokers."""
    asked = {"resource_types": types} if types is not None else {}
    version = 0 if types is None else 1
    answers = []
    for port in (our_broker.port, apache_kafka_4.port):
        with RawClient(port) as client:
            topic_id(client, "lcr-topic")
            for kind, name, key in (
                (16, "lcr-metrics", "interval.ms"),
                (32, "lcr-group", "consumer.session.timeout.ms"),
            ):
                config = {"name": key, "config_operation": 0, "value": "50000"}
                resource = {"resource_type": kind, "resource_name": name, "configs": [config]}
                client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
            # Kafka's broker follows its controller a moment later.
            while not own(client.request(apis.LIST_CONFIG_RESOURCES, 1, {"resource_types": [32]})):
                pass
            response = client.request(apis.LIST_CONFIG_RESOURCES, version, asked)
            answers.append((response.error_code, own(response)))
    assert answers[0] == answers[1]


def own(response: Message) -> list[tuple[int, str]]:
    found = [(resource.resource_type, resource.resource_name) for resource in response.config_resources]
    return sorted((kind, name) for kind, name in found if kind in (4, 8) or name.startswith("lcr-"))


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(
    "updates",
    [
        [("nobodys.version", 1, 1)],
        [("nobodys.version", 0, 1)],
        [("", 1, 1)],
        [("nobodys.version", 1, 1), ("nobodys.version", -1, 1)],
        [("group.version", -1, 1)],
        [("group.version", 0, 1), ("a.version", 1, 1)],
        [("group.version", 2, 1)],
        [("group.version", 1, 1), ("group.version", 1, 1)],
        [],
    ],
)
def test_update_features_byte_by_byte(
    apache_kafka_39: ApacheKafka,
    apache_kafka_4: ApacheKafka,
    our_broker: BrokerProcess,
    version: int,
    updates: list[tuple[str, int, int]],
) -> None:
    """Versions 0 and 1 are those of Kafka 3.9, of which `group.version` is no released feature; 2 came with Kafka 4.

    One failure a request in version 2: Kafka 4 names the first in the order of a hash table.
    """
    kafka = apache_kafka_39 if version < 2 else apache_kafka_4
    if version < 2 and any(name == "group.version" and level >= 0 for name, level, _ in updates):
        updates = [(name, level, kind) for name, level, kind in updates if name != "group.version"]
    rows = [
        {"feature": name, "max_version_level": level, **({"upgrade_type": kind} if version else {})}
        for name, level, kind in updates
    ]
    fields = {"feature_updates": rows, **({"validate_only": True} if version else {})}
    frames = []
    for port in (our_broker.port, kafka.port):
        with RawClient(port) as client:
            client.send(apis.UPDATE_FEATURES, version, fields)
            frames.append(client.receive_frame())
    assert frames[0] == frames[1]


def test_describe_producers(brokers: list[RawClient]) -> None:
    for client in brokers:
        topic_id(client, "adm-producers")
        while produce(client, "adm-producers", batch([b"v"] * 3, producer=(4711, 2, 0))).error_code != 0:
            pass
    names = ["adm-producers", "adm-a", "adm-absent", "bad/name", ""]
    topics = [{"name": name, "partition_indexes": [0, 99]} for name in names]
    assert_answered_alike(brokers, apis.DESCRIBE_PRODUCERS, [0], {"topics": topics})


@pytest.mark.parametrize("isolation", [0, 1])
@pytest.mark.parametrize("time", [-1, -2, -3, -4, -5, -6, 0, 1_700_000_000_004, 1_700_000_000_010])
def test_list_offsets(brokers: list[RawClient], time: int, isolation: int) -> None:
    topics = [
        {"name": "adm-b", "partitions": [{"partition_index": index, "timestamp": time} for index in (0, 99)]},
        {"name": "adm-absent", "partitions": [{"partition_index": 0, "timestamp": time}]},
    ]
    for version in range(1, 10):
        fields = {"replica_id": -1, "topics": topics, **({"isolation_level": isolation} if version > 1 else {})}
        assert_answered_alike(brokers, apis.LIST_OFFSETS, [version], fields)


@pytest.mark.parametrize("epoch", [-1, 0, 1])
def test_list_offsets_in_a_leader_epoch(brokers: list[RawClient], epoch: int) -> None:
    partition = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": epoch}
    fields = {"replica_id": -1, "topics": [{"name": "adm-b", "partitions": [partition]}]}
    assert_answered_alike(brokers, apis.LIST_OFFSETS, range(4, 10), fields)


@pytest.mark.parametrize("endpoint_type", [1, 2, 3])
def test_describe_cluster(brokers: list[RawClient], endpoint_type: int) -> None:
    fields = {"include_cluster_authorized_operations": True, "endpoint_type": endpoint_type}
    assert_answered_alike(brokers, apis.DESCRIBE_CLUSTER, [1], fields)


@pytest.fixture(scope="module")
def newer_brokers(apache_kafka_4: ApacheKafka, our_broker: BrokerProcess) -> Iterator[list[RawClient]]:
    """The same with Kafka 4, for versions that 3.9 does not know; one topic on both sides."""
    with RawClient(apache_kafka_4.port) as kafka_client, RawClient(our_broker.port) as our_client:
        clients = [kafka_client, our_client]
        for client in clients:
            topic_id(client, "adm-newer")
            while produce(client, "adm-newer", batch([b"v"] * 10)).error_code != 0:
                pass
        yield clients


@pytest.mark.parametrize("isolation", [0, 1])
@pytest.mark.parametrize("time", [-1, -2, -3, -4, -5, -6, 0, 1_700_000_000_004, 1_700_000_000_010])
def test_list_offsets_of_kafka_4(newer_brokers: list[RawClient], time: int, isolation: int) -> None:
    partitions = [{"partition_index": index, "timestamp": time} for index in (0, 99)]
    topics = [{"name": "adm-newer", "partitions": partitions}]
    fields = {"replica_id": -1, "isolation_level": isolation, "topics": topics, "timeout_ms": 60_000}
    assert_answered_alike(newer_brokers, apis.LIST_OFFSETS, [10], fields)


@pytest.mark.parametrize("endpoint_type", [1, 2, 3])
@pytest.mark.parametrize("fenced", [False, True])
def test_describe_cluster_of_kafka_4(newer_brokers: list[RawClient], endpoint_type: int, fenced: bool) -> None:
    fields = {"endpoint_type": endpoint_type, "include_fenced_brokers": fenced}
    assert_answered_alike(newer_brokers, apis.DESCRIBE_CLUSTER, [2], fields)
