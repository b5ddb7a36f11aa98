"""One request of each API in every version that both brokers have: what each version calls an error, and its fields.

The requests ask, validate only, or want what cannot be: nothing is different afterwards.
"""

from __future__ import annotations

from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from tests.interop.admin_scenario.step import IdOf, Step, wire
from tests.interop.admin_scenario.steps.records import batch

TIMEOUT_MS = 10_000
TOPIC, BROKER = 2, 4


def each(api: Api, first: int, last: int, about: str = "", **fields: Any) -> tuple[Step, ...]:
    """The same request in the versions from first to last."""
    name = f"{api.name} {about}".strip()
    return tuple(wire(f"{name}, version {version}", api, version, **fields) for version in range(first, last + 1))


def resource(kind: int, name: str, **fields: Any) -> dict[str, Any]:
    return {"resource_type": kind, "resource_name": name, **fields}


def altered(**operation: int) -> dict[str, Any]:
    """The fields of AlterConfigs and IncrementalAlterConfigs: one change that can be, and three that cannot."""
    changes = ((TOPIC, "tuned", "flush.ms", "7"), (TOPIC, "tuned2", "flush.ms", "7"), (BROKER, "1", "broker.id", "7"))
    rows = [
        resource(kind, name, configs=[{"name": key, "value": value, **operation}]) for kind, name, key, value in changes
    ]
    return {"validate_only": True, "resources": rows}


PARTITIONS = [{"partition_index": 0, "timestamp": -1}, {"partition_index": 9, "timestamp": -1}]
COMMIT = [{"name": "records", "partitions": [{"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}]}]
FETCH = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1000}
BATCH = [{"index": 9, "records": batch()}]
STRANGER = {"group_id": "unknown", "member_id": "nobody"}
NEW_MEMBER = {**STRANGER, "protocol_type": "consumer", "protocols": [{"name": "range", "metadata": b""}]}
FETCHED = [
    {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 100}
    for partition, offset in ((0, 99), (9, 0))
]

STEPS = (
    *each(
        apis.PRODUCE,
        3,
        11,
        "to no partition",
        acks=1,
        timeout_ms=1,
        topic_data=[{"name": "empty", "partition_data": BATCH}],
    ),
    *each(apis.FETCH, 4, 12, "out of range", **FETCH, topics=[{"topic": "compacted", "partitions": FETCHED}]),
    *each(apis.FETCH, 13, 17, "out of range", **FETCH, topics=[{"topic_id": IdOf("compacted"), "partitions": FETCHED}]),
    *each(
        apis.LIST_OFFSETS,
        1,
        9,
        replica_id=-1,
        topics=[{"name": name, "partitions": PARTITIONS} for name in ("compacted", "no")],
    ),
    *each(apis.METADATA, 0, 3, topics=[{"name": "plain"}]),
    *each(apis.METADATA, 4, 12, topics=[{"name": "plain"}, {"name": "no"}], allow_auto_topic_creation=False),
    *each(apis.METADATA, 1, 12, "of no topics", topics=[]),
    *each(apis.OFFSET_COMMIT, 2, 9, generation_id_or_member_epoch=5, **STRANGER, topics=COMMIT),
    *each(apis.OFFSET_FETCH, 1, 7, group_id="unknown", topics=[{"name": "records", "partition_indexes": [0, 9]}]),
    *each(apis.OFFSET_FETCH, 2, 7, "of all", group_id="unknown", topics=None),
    *each(
        apis.OFFSET_FETCH,
        *(8, 9),
        groups=[
            {"group_id": "unknown", "topics": [{"name": "records", "partition_indexes": [0]}]},
            {"group_id": "none", "topics": None},
        ],
    ),
    *each(apis.FIND_COORDINATOR, 0, 3, key="unknown"),
    *each(apis.FIND_COORDINATOR, 4, 6, coordinator_keys=["unknown", "none"]),
    *each(apis.JOIN_GROUP, 0, 9, "as a stranger", session_timeout_ms=10_000, **NEW_MEMBER),
    *each(apis.JOIN_GROUP, 0, 9, "with too short a session", session_timeout_ms=1, **NEW_MEMBER),
    *each(apis.HEARTBEAT, 0, 4, generation_id=5, **STRANGER),
    *each(apis.LEAVE_GROUP, 0, 2, **STRANGER),
    *each(apis.LEAVE_GROUP, 3, 5, group_id="unknown", members=[{"member_id": "nobody"}]),
    *each(apis.SYNC_GROUP, 0, 5, generation_id=5, **STRANGER, protocol_type="consumer", protocol_name="range"),
    *each(apis.API_VERSIONS, 4, 4, "without a name"),
    *each(
        apis.CREATE_TOPICS,
        *(2, 7),
        validate_only=True,
        timeout_ms=TIMEOUT_MS,
        topics=[
            {"name": "new", "num_partitions": 2, "replication_factor": 1},
            {"name": "plain", "num_partitions": 1, "replication_factor": 1},
            {"name": "odd", "num_partitions": 1, "replication_factor": 9},
        ],
    ),
    *each(
        apis.CREATE_TOPICS,
        2,
        7,
        "by defaults",
        validate_only=True,
        topics=[{"name": "new", "num_partitions": -1, "replication_factor": -1}],
    ),
    *each(apis.DELETE_TOPICS, 1, 5, topic_names=["no", "a/b"], timeout_ms=TIMEOUT_MS),
    *each(
        apis.DELETE_TOPICS,
        6,
        6,
        topics=[{"name": "no"}, {"name": None, "topic_id": bytes(range(16))}],
        timeout_ms=TIMEOUT_MS,
    ),
    *each(
        apis.DELETE_RECORDS,
        *(0, 2),
        topics=[
            {
                "name": "records",
                "partitions": [{"partition_index": 1, "offset": 999}, {"partition_index": 9, "offset": 0}],
            }
        ],
        timeout_ms=TIMEOUT_MS,
    ),
    *each(
        apis.INIT_PRODUCER_ID, 0, 4, "for a transaction without a name", transactional_id="", transaction_timeout_ms=0
    ),
    *each(
        apis.OFFSET_FOR_LEADER_EPOCH,
        *(2, 4),
        topics=[
            {"topic": name, "partitions": [{"partition": 0, "leader_epoch": epoch}]}
            for name, epoch in (("compacted", 0), ("no", 0))
        ],
    ),
    *each(
        apis.DESCRIBE_CONFIGS,
        *(1, 4),
        include_synonyms=True,
        resources=[
            resource(TOPIC, "tuned", configuration_keys=["flush.ms", "segment.bytes"]),
            resource(TOPIC, "no", configuration_keys=None),
        ],
    ),
    *each(apis.ALTER_CONFIGS, 0, 2, **altered()),
    *each(apis.INCREMENTAL_ALTER_CONFIGS, 0, 1, **altered(config_operation=0)),
    *each(apis.DESCRIBE_LOG_DIRS, 1, 4, topics=[{"topic": "empty", "partitions": [0]}]),
    *each(
        apis.CREATE_PARTITIONS,
        *(0, 3),
        validate_only=True,
        timeout_ms=TIMEOUT_MS,
        topics=[{"name": name, "count": count} for name, count in (("plain", 9), ("empty", 1), ("no", 3))],
    ),
    *each(apis.ELECT_LEADERS, 0, 2, timeout_ms=TIMEOUT_MS, topic_partitions=[{"topic": "plain", "partitions": [0, 9]}]),
    *each(
        apis.ALTER_PARTITION_REASSIGNMENTS,
        0,
        0,
        timeout_ms=TIMEOUT_MS,
        topics=[{"name": "no", "partitions": [{"partition_index": 0, "replicas": [1]}]}],
    ),
    *each(apis.DESCRIBE_CLIENT_QUOTAS, 0, 1, components=[{"entity_type": "user", "match_type": 9, "match": None}]),
    *each(
        apis.ALTER_CLIENT_QUOTAS,
        *(0, 1),
        validate_only=True,
        entries=[{"entity": [{"entity_type": "user", "entity_name": "u"}], "ops": [{"key": "no", "value": 1.0}]}],
    ),
    *each(
        apis.UPDATE_FEATURES, 0, 1, timeout_ms=TIMEOUT_MS, feature_updates=[{"feature": "no", "max_version_level": 1}]
    ),
    *each(apis.DESCRIBE_CLUSTER, 0, 1),
)
