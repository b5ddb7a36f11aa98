"""Names and ids that exist on the broker, learnt from the broker itself at the start of each seed.

Topics have fixed names and are re-created for each seed, because mutated requests delete them and change their
configurations. Groups have names of their seed: a group whose members were disturbed would delay the next seed's joins
by a rebalance timeout.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.server.apis import TABLE
from tests.fuzz.requests.batches import Batches
from tests.raw_client import RawClient

PREFIX = "fz"
TOPICS: dict[str, tuple[int, dict[str, str]]] = {
    f"{PREFIX}-plain": (3, {}),
    f"{PREFIX}-second": (1, {}),
    f"{PREFIX}-compressed": (2, {"compression_type": "gzip"}),
    f"{PREFIX}-compacted": (1, {"cleanup_policy": "compact"}),
    f"{PREFIX}-small": (1, {"segment_bytes": "2000", "retention_bytes": "20000"}),
    f"{PREFIX}-stamped": (1, {"message_timestamp_type": "LogAppendTime"}),
}
BATCHES_AT_FIRST = 4
SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS = 45_000, 500
MEMBER_ID_REQUIRED = 79
FULL_SESSION = 0
LOAD_TIMEOUT_S, POLL_INTERVAL_S = 60.0, 0.01
# The versions of each API that the broker of this checkout serves. It advertises Produce from 0 and refuses 0 to 2.
SERVED = {entry.key: range(entry.min_version, entry.max_version + 1) for entry in TABLE}
OFFSETS_OF_A_GROUP = {"group_id": f"{PREFIX}-group", "topics": []}


@dataclass
class Topic:
    name: str
    id: bytes
    partitions: int


@dataclass
class Member:
    """A member of a stable group; `generation` is its epoch in the consumer protocol."""

    group: str
    id: str
    generation: int
    instance: str | None = None


@dataclass
class FetchSession:
    id: int
    epoch: int


@dataclass
class World:
    """What requests refer to. `learn` makes it."""

    seed: int
    node_id: int = -1
    topics: list[Topic] = field(default_factory=list)
    classic: list[Member] = field(default_factory=list)
    consumers: list[Member] = field(default_factory=list)
    producer: tuple[int, int] = (-1, -1)
    session: FetchSession = field(default_factory=lambda: FetchSession(0, 0))
    served: Mapping[int, range] = field(default_factory=lambda: SERVED)

    def ids(self) -> list[bytes]:
        """What the broker gave out, in a fixed order: two brokers' answers are compared without it."""
        members = [member.id.encode() for member in (*self.classic, *self.consumers)]
        return [*(topic.id for topic in self.topics), *members]


class Learner:
    """Brings the broker into the state that a seed begins with."""

    def __init__(self, client: RawClient, seed: int, *, with_consumer_groups: bool = True) -> None:
        self.client = client
        self.with_consumer_groups = with_consumer_groups
        self.world = World(seed)

    def learn(self) -> World:
        self.learn_versions()
        self.restore_features()
        self.world.node_id = self.client.request(apis.METADATA, 9, {"topics": []}).brokers[0].node_id
        self.create_topics()
        self.learn_producer()
        self.fill()
        self.learn_session()
        self.find_coordinator()
        for number in range(2):
            self.join_classic(number)
        if self.with_consumer_groups:
            for number in range(2):
                self.join_consumer(number)
        return self.world

    def learn_versions(self) -> None:
        """What another checkout's broker does not serve is not asked of it."""
        answer = self.client.request(apis.API_VERSIONS, 0, {})
        advertised = {row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys}
        self.world.served = {
            key: range(max(ours.start, theirs.start), min(ours.stop, theirs.stop))
            for key, ours in SERVED.items()
            if (theirs := advertised.get(key))
        }

    def restore_features(self) -> None:
        """Serves the consumer protocol again, which a mutated request may have turned off."""
        update = {"feature": "group.version", "max_version_level": 1, "upgrade_type": 1}
        self.client.request(apis.UPDATE_FEATURES, 1, {"timeout_ms": 30_000, "feature_updates": [update]})

    def create_topics(self) -> None:
        self.client.request(apis.DELETE_TOPICS, 5, {"topic_names": list(TOPICS), "timeout_ms": 30_000})
        for name, (partitions, configs) in TOPICS.items():
            self.world.topics.append(Topic(name, self.client.create_topic(name, partitions, **configs), partitions))

    def learn_producer(self) -> None:
        fields = {"transactional_id": None, "transaction_timeout_ms": 1000}
        answer = self.client.request(apis.INIT_PRODUCER_ID, 2, fields)
        assert answer.error_code == 0, answer
        self.world.producer = (answer.producer_id, answer.producer_epoch)

    def fill(self) -> None:
        """A few batches in every partition, so that there are offsets within the logs."""
        batches = Batches(random.Random(self.world.seed), self.world.producer)
        for _ in range(BATCHES_AT_FIRST):
            rows = [
                {
                    "name": topic.name,
                    "partition_data": [
                        {"index": index, "records": batches.valid(codec=index)} for index in range(topic.partitions)
                    ],
                }
                for topic in self.world.topics
            ]
            fields = {"acks": -1, "timeout_ms": 30_000, "topic_data": rows}
            for part in parts(self.client.request(apis.PRODUCE, 9, fields)):
                assert part.error_code == 0, part

    def learn_session(self) -> None:
        topic = self.world.topics[0]
        row = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 16}
        fields = {
            "max_wait_ms": 0,
            "min_bytes": 0,
            "session_epoch": FULL_SESSION,
            "topics": [{"topic": topic.name, "partitions": [row]}],
        }
        answer = self.client.request(apis.FETCH, 12, fields)
        self.world.session = FetchSession(answer.session_id, 1)

    def find_coordinator(self) -> None:
        """Creates __consumer_offsets on a new broker, and returns when the coordinator has loaded it."""
        fields = {"key_type": 0, "coordinator_keys": [f"{PREFIX}-group"]}
        deadline = time.monotonic() + LOAD_TIMEOUT_S
        while time.monotonic() < deadline:
            found = self.client.request(apis.FIND_COORDINATOR, 4, fields).coordinators[0].error_code
            if found == 0 and self.client.request(apis.OFFSET_FETCH, 7, OFFSETS_OF_A_GROUP).error_code == 0:
                return
            time.sleep(POLL_INTERVAL_S)
        raise AssertionError("the group coordinator does not become available")

    def join_classic(self, number: int) -> None:
        """A stable group of one member; every second one is static (KIP-345)."""
        group = f"{PREFIX}-group-{self.world.seed}-{number}"
        instance = f"{PREFIX}-instance" if number % 2 else None
        fields = {
            "group_id": group,
            "session_timeout_ms": SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "member_id": "",
            "group_instance_id": instance,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": bytes(10)}],
        }
        answer = self.client.request(apis.JOIN_GROUP, 7, fields)
        if answer.error_code == MEMBER_ID_REQUIRED:
            answer = self.client.request(apis.JOIN_GROUP, 7, {**fields, "member_id": answer.member_id})
        assert answer.error_code == 0, answer
        member = Member(group, answer.member_id, answer.generation_id, instance)
        fields = {
            "group_id": group,
            "generation_id": member.generation,
            "member_id": member.id,
            "group_instance_id": instance,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": member.id, "assignment": b"assigned"}],
        }
        assert self.client.request(apis.SYNC_GROUP, 5, fields).error_code == 0
        self.world.classic.append(member)
        self.commit(member)

    def commit(self, member: Member) -> None:
        row = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        fields: dict[str, Any] = {
            "group_id": member.group,
            "generation_id_or_member_epoch": member.generation,
            "member_id": member.id,
            "group_instance_id": member.instance,
            "topics": [{"name": self.world.topics[0].name, "partitions": [row]}],
        }
        answer = self.client.request(apis.OFFSET_COMMIT, 8, fields)
        assert answer.topics[0].partitions[0].error_code == 0, answer

    def join_consumer(self, number: int) -> None:
        """A group of one member in the consumer protocol (KIP-848)."""
        group = f"{PREFIX}-consumers-{self.world.seed}-{number}"
        fields = {
            "group_id": group,
            "member_id": f"{PREFIX}-member-{number}",
            "member_epoch": 0,
            "rebalance_timeout_ms": REBALANCE_TIMEOUT_MS,
            "subscribed_topic_names": [self.world.topics[0].name],
            "topic_partitions": [],
        }
        answer = self.client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields)
        assert answer.error_code == 0, answer
        self.world.consumers.append(Member(group, answer.member_id, answer.member_epoch))


def parts(answer: Message) -> list[Message]:
    """The partitions of a Produce answer."""
    return [part for topic in answer.responses for part in topic.partition_responses]
