"""Requests that change something, each made of a random source: API, version and fields.

Names are few, so that requests meet. Numbers are often those at which a bound or a sign changes.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.record.encoder import encode_batch
from kcore.server.apis import BY_KEY

Asked = tuple[Api, int, dict[str, Any]]

TOPICS = ("race-0", "race-1", "race.2")
GROUPS = ("racers-0", "racers-1")
ODD_NAMES = ("", ".", "a/b", "x" * 300, "__transaction_state", "__cluster_metadata", "race_2", "absent")
COUNTS = (-(2**31), -1, 0, 1, 2, 3, 5, 8, 10_010, 2**31 - 1)
INDEXES = (-(2**31), -1, 0, 0, 0, 1, 2, 2**31 - 1)
OFFSETS = (-(2**63), -2, -1, 0, 1, 3, 2**63 - 1)
BROKER_LISTS = ((), (1,), (1,), (1, 1), (2,), (-1,), (1, 2, 3), (2**31 - 1,))
TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
TOPIC_CONFIGS = {
    "retention.ms": ("-1", "0", "86400000", "9223372036854775807", "no"),
    "segment.bytes": ("1048576", "1", "2147483647", ""),
    "cleanup.policy": ("delete", "compact", "delete,compact", "neither"),
    "min.insync.replicas": ("1", "2", "-1"),
    "no.such.key": ("1",),
}
BROKER_CONFIGS = {"log.segment.bytes": ("1048576", "1"), "num.io.threads": ("4", "8", "0", "1000000000")}
GROUP_CONFIGS = {"consumer.session.timeout.ms": ("45000", "1"), "consumer.heartbeat.interval.ms": ("5000", "-1")}
METRICS_CONFIGS = {"interval.ms": ("100", "-1"), "metrics": ("*", "")}
QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "connection_creation_rate", "none")
VALUES = (0.0, -1.0, 0.5, 1e6, 1e308, float("nan"), float("inf"))
REMEMBERED = 20
SESSION_MS, REBALANCE_MS = 1_000, 100
MANY = 500


class Chooser:
    """The random source of one connection, and what the connections of a run have learnt from answers."""

    def __init__(self, source: random.Random, learnt: Learnt) -> None:
        self.source = source
        self.learnt = learnt

    def one(self, values: Any) -> Any:
        return self.source.choice(values)

    def happens(self, probability: float) -> bool:
        return self.source.random() < probability

    def topic(self) -> str:
        return str(self.one(ODD_NAMES) if self.happens(0.1) else self.one(TOPICS))

    def topics(self) -> list[str]:
        """Some names, now and then one of them twice, now and then very many."""
        if self.happens(0.01):
            return [f"absent-{number}" for number in range(MANY)]
        return [self.topic() for _ in range(self.one((1, 1, 1, 2, 4)))]

    def group(self) -> str:
        return str("" if self.happens(0.05) else self.one(GROUPS))

    def version(self, api: Api) -> int:
        entry = BY_KEY[api.key]
        return self.source.randint(entry.min_version, entry.max_version)

    def brokers(self) -> list[int]:
        return list(self.one(BROKER_LISTS))

    def configs(self, table: dict[str, tuple[str, ...]]) -> list[dict[str, Any]]:
        names = [self.one(sorted(table)) for _ in range(self.one((0, 1, 1, 2)))]
        return [{"name": name, "value": None if self.happens(0.1) else self.one(table[name])} for name in names]


class Learnt:
    """The newest topic ids and members: a few, shared by all connections."""

    def __init__(self) -> None:
        self.topic_ids: deque[bytes] = deque([bytes(16)], REMEMBERED)
        self.members: deque[str] = deque([""], REMEMBERED)


def create_topics(choose: Chooser) -> Asked:
    rows = []
    for name in choose.topics():
        assigned = [{"partition_index": choose.one(INDEXES), "broker_ids": choose.brokers()} for _ in range(2)]
        rows.append(
            {
                "name": name,
                "num_partitions": choose.one(COUNTS),
                "replication_factor": choose.one((-1, -1, 1, 1, 0, 2, 32767)),
                "assignments": assigned if choose.happens(0.1) else [],
                "configs": choose.configs(TOPIC_CONFIGS),
            }
        )
    return (
        apis.CREATE_TOPICS,
        choose.version(apis.CREATE_TOPICS),
        {"topics": rows, "validate_only": choose.happens(0.1)},
    )


def delete_topics(choose: Chooser) -> Asked:
    version = choose.version(apis.DELETE_TOPICS)
    if version < 6:
        return apis.DELETE_TOPICS, version, {"topic_names": choose.topics()}
    rows = [{"name": name} for name in choose.topics()]
    rows += [{"topic_id": choose.one(choose.learnt.topic_ids)} for _ in range(choose.one((0, 1, 2)))]
    return apis.DELETE_TOPICS, version, {"topics": rows}


def create_partitions(choose: Chooser) -> Asked:
    rows = []
    for name in choose.topics():
        assignments = None
        if choose.happens(0.2):
            assignments = [{"broker_ids": choose.brokers()} for _ in range(choose.one((0, 1, 2, MANY)))]
        rows.append({"name": name, "count": choose.one(COUNTS), "assignments": assignments})
    fields = {"topics": rows, "validate_only": choose.happens(0.1)}
    return apis.CREATE_PARTITIONS, choose.version(apis.CREATE_PARTITIONS), fields


def resource(choose: Chooser) -> dict[str, Any]:
    kind, name, table = choose.one(
        (
            (TOPIC, choose.topic(), TOPIC_CONFIGS),
            (TOPIC, choose.topic(), TOPIC_CONFIGS),
            (BROKER, choose.one(("", "1", "2", "x")), BROKER_CONFIGS),
            (GROUP, choose.group(), GROUP_CONFIGS),
            (CLIENT_METRICS, choose.one(("", "subscribed")), METRICS_CONFIGS),
            (choose.one((0, 1, 127)), "", TOPIC_CONFIGS),
        )
    )
    return {"resource_type": kind, "resource_name": name, "configs": choose.configs(table)}


def alter_configs(choose: Chooser) -> Asked:
    rows = [resource(choose) for _ in range(choose.one((1, 1, 2)))]
    return apis.ALTER_CONFIGS, choose.version(apis.ALTER_CONFIGS), {"resources": rows}


def incremental_alter_configs(choose: Chooser) -> Asked:
    rows = [resource(choose) for _ in range(choose.one((1, 1, 2)))]
    for row in rows:
        for config in row["configs"]:
            config["config_operation"] = choose.one((0, 0, 1, 2, 3, 127))
    fields = {"resources": rows, "validate_only": choose.happens(0.1)}
    return apis.INCREMENTAL_ALTER_CONFIGS, choose.version(apis.INCREMENTAL_ALTER_CONFIGS), fields


def delete_records(choose: Chooser) -> Asked:
    rows = [
        {"name": name, "partitions": [{"partition_index": choose.one(INDEXES), "offset": choose.one(OFFSETS)}]}
        for name in choose.topics()
    ]
    return apis.DELETE_RECORDS, choose.version(apis.DELETE_RECORDS), {"topics": rows, "timeout_ms": 1_000}


def alter_partition_reassignments(choose: Chooser) -> Asked:
    rows = [
        {
            "name": name,
            "partitions": [
                {"partition_index": choose.one(INDEXES), "replicas": None if choose.happens(0.2) else choose.brokers()}
            ],
        }
        for name in choose.topics()
    ]
    api = apis.ALTER_PARTITION_REASSIGNMENTS
    return api, choose.version(api), {"topics": rows}


def elect_leaders(choose: Chooser) -> Asked:
    version = choose.version(apis.ELECT_LEADERS)
    rows = [{"topic": name, "partitions": [choose.one(INDEXES)]} for name in choose.topics()]
    fields: dict[str, Any] = {"topic_partitions": None if choose.happens(0.1) else rows}
    if version >= 1:
        fields["election_type"] = choose.one((0, 0, 1, 1, 127))
    return apis.ELECT_LEADERS, version, fields


def alter_client_quotas(choose: Chooser) -> Asked:
    """Of nobody who connects here: the connections of the run are not throttled."""
    rows = []
    for _ in range(choose.one((1, 1, 3))):
        entity = choose.one(
            (
                (("client-id", f"nobody-{choose.one(range(3))}"),),
                (("user", f"nobody-{choose.one(range(3))}"), ("client-id", None)),
                (("ip", "10.1.2.3"),),
                (("ip", "10.1.2.3"), ("user", "nobody")),
                (("planet", "mars"),),
                (),
            )
        )
        parts = [{"entity_type": kind, "entity_name": name} for kind, name in entity]
        operations = [
            {"key": choose.one(QUOTAS), "value": choose.one(VALUES), "remove": choose.happens(0.3)}
            for _ in range(choose.one((0, 1, 2)))
        ]
        rows.append({"entity": parts, "ops": operations})
    fields = {"entries": rows, "validate_only": choose.happens(0.1)}
    return apis.ALTER_CLIENT_QUOTAS, choose.version(apis.ALTER_CLIENT_QUOTAS), fields


def update_features(choose: Chooser) -> Asked:
    version = choose.version(apis.UPDATE_FEATURES)
    rows = []
    for _ in range(choose.one((1, 1, 2))):
        level = choose.one((-32768, 0, 1, 2, 32767))
        row = {"feature": choose.one(("group.version", "transaction.version", "none", "")), "max_version_level": level}
        if version >= 1:
            row["upgrade_type"] = choose.one((1, 2, 3, 0, 127))
        else:
            row["allow_downgrade"] = choose.happens(0.5)
        rows.append(row)
    return apis.UPDATE_FEATURES, version, {"feature_updates": rows}


def delete_groups(choose: Chooser) -> Asked:
    groups = [choose.group() for _ in range(choose.one((1, 2, 4)))]
    return apis.DELETE_GROUPS, choose.version(apis.DELETE_GROUPS), {"groups_names": groups}


def offset_delete(choose: Chooser) -> Asked:
    rows = [{"name": name, "partitions": [{"partition_index": choose.one(INDEXES)}]} for name in choose.topics()]
    return apis.OFFSET_DELETE, choose.version(apis.OFFSET_DELETE), {"group_id": choose.group(), "topics": rows}


def offset_commit(choose: Chooser) -> Asked:
    rows = [
        {
            "name": name,
            "partitions": [
                {
                    "partition_index": choose.one(INDEXES),
                    "committed_offset": choose.one(OFFSETS),
                    "committed_metadata": choose.one((None, "", "x" * 5_000)),
                }
            ],
        }
        for name in choose.topics()
    ]
    fields: dict[str, Any] = {"group_id": choose.group(), "topics": rows}
    if choose.happens(0.3):
        fields["member_id"] = choose.one(choose.learnt.members)
        fields["generation_id_or_member_epoch"] = choose.one((-1, 0, 1, 2**31 - 1))
    return apis.OFFSET_COMMIT, choose.version(apis.OFFSET_COMMIT), fields


def join_group(choose: Chooser) -> Asked:
    fields = {
        "group_id": choose.group(),
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": REBALANCE_MS,
        "member_id": choose.one(choose.learnt.members),
        "protocol_type": "consumer",
        "protocols": [{"name": choose.one(("range", "sticky")), "metadata": bytes(choose.one((0, 10, 1_000)))}],
    }
    return apis.JOIN_GROUP, choose.version(apis.JOIN_GROUP), fields


def leave_group(choose: Chooser) -> Asked:
    version = choose.version(apis.LEAVE_GROUP)
    member = choose.one(choose.learnt.members)
    fields: dict[str, Any] = {"group_id": choose.group()}
    if version < 3:
        fields["member_id"] = member
    else:
        fields["members"] = [{"member_id": member}] * choose.one((0, 1, 2))
    return apis.LEAVE_GROUP, version, fields


def consumer_group_heartbeat(choose: Chooser) -> Asked:
    epoch = choose.one((0, 0, -1, -2, 1, 2**31 - 1))
    fields: dict[str, Any] = {
        "group_id": choose.group(),
        "member_id": choose.one(("", "first", "second", "third")),
        "member_epoch": epoch,
    }
    if epoch == 0:
        fields |= {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": choose.topics()}
        fields["topic_partitions"] = []
    return apis.CONSUMER_GROUP_HEARTBEAT, choose.version(apis.CONSUMER_GROUP_HEARTBEAT), fields


def init_producer_id(choose: Chooser) -> Asked:
    version = choose.version(apis.INIT_PRODUCER_ID)
    fields: dict[str, Any] = {"transactional_id": None, "transaction_timeout_ms": choose.one((0, 60_000, 2**31 - 1))}
    if version >= 3:
        fields["producer_id"] = choose.one((-1, 0, 1, 2**63 - 1))
        fields["producer_epoch"] = choose.one((-1, 0, 32767))
    return apis.INIT_PRODUCER_ID, version, fields


def metadata(choose: Chooser) -> Asked:
    """Creates topics that are absent."""
    rows = [{"name": name} for name in choose.topics()]
    version = max(4, choose.version(apis.METADATA))
    return apis.METADATA, version, {"topics": rows, "allow_auto_topic_creation": True}


def produce(choose: Chooser) -> Asked:
    batch = encode_batch([(b"key", b"value" * choose.one((1, 100)))], timestamp=choose.one((0, 1_800_000_000_000)))
    rows = [
        {"name": name, "partition_data": [{"index": choose.one(INDEXES), "records": batch}]}
        for name in dict.fromkeys(choose.topics())
    ]
    fields = {"acks": choose.one((1, -1)), "timeout_ms": 1_000, "topic_data": rows}
    return apis.PRODUCE, choose.version(apis.PRODUCE), fields


REQUESTS: tuple[Callable[[Chooser], Asked], ...] = (
    create_topics,
    delete_topics,
    create_partitions,
    alter_configs,
    incremental_alter_configs,
    delete_records,
    alter_partition_reassignments,
    elect_leaders,
    alter_client_quotas,
    update_features,
    delete_groups,
    offset_delete,
    offset_commit,
    join_group,
    leave_group,
    consumer_group_heartbeat,
    init_producer_id,
    metadata,
    produce,
)


def churn(choose: Chooser) -> Asked:
    """Creates, extends and deletes one of the topics; as many partitions as possible are asked for, too."""
    name = choose.one(TOPICS)
    kind = choose.one((create_topics, create_topics, delete_topics, create_partitions))
    if kind is create_topics:
        row = {"name": name, "num_partitions": choose.one((1, 2, 3)), "replication_factor": 1}
        return apis.CREATE_TOPICS, 7, {"topics": [row]}
    if kind is delete_topics:
        return apis.DELETE_TOPICS, 5, {"topic_names": [name]}
    return (
        apis.CREATE_PARTITIONS,
        3,
        {"topics": [{"name": name, "count": choose.one((4, 6, 2**31 - 1)), "assignments": None}]},
    )
