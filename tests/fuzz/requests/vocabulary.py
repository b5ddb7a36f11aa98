"""The valid value of a field: real names and ids, coherent within one request.

A field is known by its path in the message (`topics.partitions.partition_index`) or, for most, by its last name. A
field of a new API that no table names has its schema's default, or a small number.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kcore.protocol.notation import Field
from tests.fuzz.requests.batches import Batches
from tests.fuzz.requests.world import PREFIX, REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, Member, Topic, World

CONFIG_KEYS = (
    *("retention.ms", "segment.bytes", "max.message.bytes", "cleanup.policy", "compression.type"),
    *("message.timestamp.type", "min.insync.replicas", "retention.bytes", "index.interval.bytes"),
)
CONFIG_VALUES = ("86400000", "1048576", "delete", "zstd", "1", None)
TOPIC_RESOURCE, GROUP_RESOURCE = 2, 32
# The share of requests about topics that nothing else refers to, so that those of the world last for a while.
CHANGING_TOPICS = {"CreateTopics": 0.8, "DeleteTopics": 0.8, "CreatePartitions": 0.5}
NEW_TOPICS = 20
SOMEBODY = f"{PREFIX}-somebody"
TAGGED_SHARE = 0.3
NULL_SHARE = 0.15
OFFSETS = (0, 0, 1, 3, 5, 11, 12)
# An array that a valid request leaves empty, because another field says the same.
EMPTY_ARRAYS = frozenset({"topics.assignments", "forgotten_topics_data", "states_filter", "types_filter"})
SINGLE_ARRAYS = frozenset({"protocols", "assignments", "members", "entries.entity", "feature_updates", "resources"})


class Chooser:
    """Chooses the values of one request: one member of one group, and one topic for each element of `topics`."""

    def __init__(self, api_name: str, world: World, batches: Batches, source: random.Random) -> None:
        self.api_name = api_name
        self.world = world
        self.batches = batches
        self.random = source
        self.topic: Topic = source.choice(world.topics)
        is_consumer = api_name.startswith("ConsumerGroup") and bool(world.consumers)
        self.member: Member = source.choice(world.consumers if is_consumer else world.classic)
        self.partition = 0
        self.in_session = source.random() < 0.3

    def enter(self, path: str) -> None:
        """A structure begins."""
        self.partition = self.random.randrange(self.topic.partitions)

    def element(self, path: str, index: int) -> None:
        """An element of an array begins; neighbours are of different topics and partitions."""
        if path.count(".") == 0 and index:
            at = self.world.topics.index(self.topic)
            self.topic = self.world.topics[(at + 1) % len(self.world.topics)]
        self.partition = index % self.topic.partitions

    def is_tagged_present(self, field: Field) -> bool:
        return self.random.random() < TAGGED_SHARE

    def is_null(self, path: str) -> bool:
        return self.random.random() < NULL_SHARE

    def count(self, path: str) -> int:
        if path in EMPTY_ARRAYS:
            return 0
        if path in SINGLE_ARRAYS:
            return 1
        return self.random.choice((1, 1, 2))

    def boolean(self, path: str) -> bool:
        return self.random.random() < 0.5

    def float(self, path: str) -> float:
        return self.random.choice((1e9, 1.0, 50.0))

    def uuid(self, path: str) -> bytes:
        return bytes(16) if path.endswith("directory_id") else self.topic.id

    def data(self, path: str) -> bytes | None:
        if path.endswith("records"):
            return self.batches.plain() if self.random.random() < 0.6 else self.batches.hostile()
        return bytes(10)

    def text(self, path: str) -> bytes | None:
        value = self.name(path)
        return None if value is None else value.encode()

    def name(self, path: str) -> str | None:
        last = path.rpartition(".")[2]
        if path in ("protocols.name",):
            return "range"
        if path.endswith("configs.name"):
            return self.random.choice(CONFIG_KEYS)
        maker = TEXTS.get(last)
        if maker is not None:
            return maker(self)
        if self.api_name in CHANGING_TOPICS and self.random.random() < CHANGING_TOPICS[self.api_name]:
            return f"{PREFIX}-new-{self.random.randrange(NEW_TOPICS)}"
        return self.topic.name

    def integer(self, path: str, field: Field) -> int:
        last = path.rpartition(".")[2]
        if last == "partitions":
            return self.partition
        maker = INTEGERS.get(last)
        if maker is not None:
            return maker(self)
        return field.default if isinstance(field.default, int) else self.random.choice((0, 1))


TEXTS: dict[str, Callable[[Chooser], str | None]] = {
    "transactional_id": lambda chooser: None,
    "cluster_id": lambda chooser: None,
    "group_id": lambda chooser: chooser.member.group,
    "group_ids": lambda chooser: chooser.member.group,
    "groups": lambda chooser: chooser.member.group,
    "groups_names": lambda chooser: chooser.member.group,
    "key": lambda chooser: "producer_byte_rate" if chooser.api_name == "AlterClientQuotas" else chooser.member.group,
    "coordinator_keys": lambda chooser: chooser.member.group,
    "member_id": lambda chooser: chooser.member.id,
    "group_instance_id": lambda chooser: chooser.member.instance,
    "instance_id": lambda chooser: chooser.member.instance,
    "protocol_type": lambda chooser: "consumer",
    "protocol_name": lambda chooser: "range",
    "reason": lambda chooser: "a reason",
    "client_software_name": lambda chooser: "fuzzer",
    "client_software_version": lambda chooser: "1.0",
    "rack_id": lambda chooser: "",
    "committed_metadata": lambda chooser: "metadata",
    "configuration_keys": lambda chooser: chooser.random.choice(CONFIG_KEYS),
    "value": lambda chooser: chooser.random.choice(CONFIG_VALUES),
    "entity_type": lambda chooser: "client-id",
    "entity_name": lambda chooser: SOMEBODY,
    "match": lambda chooser: SOMEBODY,
    "feature": lambda chooser: chooser.random.choice(("metadata.version", "group.version", "kraft.version")),
    "subscribed_topic_regex": lambda chooser: f"{PREFIX}-.*",
    "server_assignor": lambda chooser: "uniform",
    "states_filter": lambda chooser: "Stable",
    "types_filter": lambda chooser: "classic",
    "user": lambda chooser: SOMEBODY,
}
INTEGERS: dict[str, Callable[[Chooser], int]] = {
    "acks": lambda chooser: chooser.random.choice((-1, 1, 1, 0)),
    "timeout_ms": lambda chooser: 1000,
    "transaction_timeout_ms": lambda chooser: 1000,
    "max_wait_ms": lambda chooser: chooser.random.choice((0, 0, 0, 1)),
    "min_bytes": lambda chooser: chooser.random.choice((0, 1)),
    "max_bytes": lambda chooser: 1 << 20,
    "partition_max_bytes": lambda chooser: chooser.random.choice((1 << 16, 200)),
    "isolation_level": lambda chooser: chooser.random.choice((0, 1)),
    "session_id": lambda chooser: chooser.world.session.id if chooser.in_session else 0,
    "session_epoch": lambda chooser: (
        chooser.world.session.epoch if chooser.in_session else chooser.random.choice((-1, -1, 0))
    ),
    "index": lambda chooser: chooser.partition,
    "partition": lambda chooser: chooser.partition,
    "partition_index": lambda chooser: chooser.partition,
    "partition_indexes": lambda chooser: chooser.partition,
    "current_leader_epoch": lambda chooser: chooser.random.choice((-1, 0)),
    "leader_epoch": lambda chooser: 0,
    "fetch_offset": lambda chooser: chooser.random.choice(OFFSETS),
    "offset": lambda chooser: chooser.random.choice((0, 1, 3)),
    "committed_offset": lambda chooser: chooser.random.choice(OFFSETS),
    "committed_leader_epoch": lambda chooser: chooser.random.choice((-1, 0)),
    "timestamp": lambda chooser: chooser.random.choice((-1, -2, -3, 0, 1_700_000_000_000)),
    "replica_id": lambda chooser: -1,
    "retention_time_ms": lambda chooser: -1,
    "session_timeout_ms": lambda chooser: SESSION_TIMEOUT_MS,
    "rebalance_timeout_ms": lambda chooser: REBALANCE_TIMEOUT_MS,
    "generation_id": lambda chooser: chooser.member.generation,
    "generation_id_or_member_epoch": lambda chooser: chooser.member.generation,
    "member_epoch": lambda chooser: chooser.member.generation,
    "num_partitions": lambda chooser: chooser.random.choice((1, 2, -1)),
    "replication_factor": lambda chooser: chooser.random.choice((1, -1)),
    "broker_ids": lambda chooser: chooser.world.node_id,
    "replicas": lambda chooser: chooser.world.node_id,
    "count": lambda chooser: chooser.topic.partitions + 1,
    "resource_type": lambda chooser: TOPIC_RESOURCE,
    "config_operation": lambda chooser: 0,
    "producer_id": lambda chooser: chooser.random.choice((-1, chooser.world.producer[0])),
    "producer_epoch": lambda chooser: chooser.random.choice((-1, chooser.world.producer[1])),
    "max_version_level": lambda chooser: 1,
}
