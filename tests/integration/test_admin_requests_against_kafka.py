"""The administrative requests, one by one, to our broker and to Apache Kafka 3.9: equal answers, codes and words.

Left out of the comparison is what belongs to one broker: ids, addresses and directories, sizes of volumes, and the
configurations of new topics, which tests of their own compare. The order of topics and partitions in an answer has no
meaning to clients, and none to Kafka, which answers them in that of a hash table.
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

OF_ONE_BROKER = frozenset({"topic_id", "log_dir", "total_bytes", "usable_bytes", "throttle_time_ms", "configs"})
COMPACT, BOTH = {"cleanup.policy": "compact"}, {"cleanup.policy": "compact,delete"}


@pytest.fixture(scope="module")
def brokers(apache_kafka_39: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RawClient]]:
    """A connection to Kafka and one to us, with the same topics and records on both sides."""
    data: Path = tmp_path_factory.mktemp("ours") / "data"
    with (
        BrokerProcess(data) as ours,
        RawClient(apache_kafka_39.port) as kafka_client,
        RawClient(ours.port) as our_client,
    ):
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
        return sorted((comparable(item) for item in value), key=repr)
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
    fields = {"topics": topics, "timeout_ms": 5000, "validate_only": True}
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
    assert_answered_alike(brokers, apis.DELETE_RECORDS, range(3), {"topics": topics, "timeout_ms": 5000})


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
