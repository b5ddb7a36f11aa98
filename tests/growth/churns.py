"""What a soak creates and forgets: one class for each kind of item, whose `turn` leaves the broker as it was before.

`turn(start, count)` creates and forgets the items `start` to `start + count - 1`; no name is ever used twice. Every
response is checked, so that a soak cannot pass because nothing was created.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from kcore.logger import MAX_LIMITED
from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from kcore.record.encoder import encode_batch
from tests.growth.burst import Burst

TOPIC = "growth"
GROUP = "growth"
TIMEOUT_MS = 60_000
TOPICS_PER_REQUEST = 50
# As a consumer subscribes: version 0, no topics, no user data.
METADATA = b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"


class Churn(ABC):
    """`warm_up` is the number of items after which every bounded cache of the broker is full."""

    name: ClassVar[str]
    overrides: ClassVar[Mapping[str, str]] = {}
    warm_up: ClassVar[int] = 1000

    def __init__(self, port: int) -> None:
        self.port = port
        self.burst = Burst(port)

    def close(self) -> None:
        self.burst.close()

    def prepare(self) -> None:
        """Creates what all items have in common."""
        self.create_topics([TOPIC])

    @abstractmethod
    def turn(self, start: int, count: int) -> None:
        """Creates and forgets `count` items."""

    def create_topics(self, names: list[str], **configs: str) -> None:
        rows = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1, "configs": rows} for name in names]
        response = self.burst.one(apis.CREATE_TOPICS, 7, {"topics": topics})
        assert not any(topic.error_code for topic in response.topics), response


class Topics(Churn):
    """Half of them have configurations of their own."""

    name = "topics"
    # What is remembered of a deleted log until the next checkpoint is forgotten before the next count.
    overrides: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (
            "log.initial.task.delay.ms",
            "log.flush.offset.checkpoint.interval.ms",
            "log.flush.start.offset.checkpoint.interval.ms",
            "replica.high.watermark.checkpoint.interval.ms",
        ),
        "100",
    )

    def prepare(self) -> None:
        pass

    def turn(self, start: int, count: int) -> None:
        for first in range(start, start + count, TOPICS_PER_REQUEST):
            names = [f"topic-{number}" for number in range(first, min(first + TOPICS_PER_REQUEST, start + count))]
            half = len(names) // 2
            self.create_topics(names[:half])
            self.create_topics(names[half:], retention_ms=str(10**9 + first))
            response = self.burst.one(apis.DELETE_TOPICS, 6, {"topics": [{"name": name} for name in names]})
            assert not any(topic.error_code for topic in response.responses), response


class GroupChurn(Churn):
    """Groups need `__consumer_offsets`, which the broker creates for the first client that looks for a coordinator.

    The broker limits the log lines of each group, and remembers MAX_LIMITED groups for that. Every second item is a
    classic group, whose changes are logged.
    """

    warm_up = 3 * MAX_LIMITED

    def prepare(self) -> None:
        super().prepare()
        while self.burst.one(apis.FIND_COORDINATOR, 3, {"key": GROUP, "key_type": 0}).error_code:
            pass


class ClassicGroups(GroupChurn):
    """A new group for each item, with one member that joins, synchronizes and leaves; then the group is deleted."""

    name = "classic-groups"

    def turn(self, start: int, count: int) -> None:
        groups = [f"group-{number}" for number in range(start, start + count)]
        join_and_leave(self.burst, groups)
        delete_groups(self.burst, groups)


class ClassicMembers(GroupChurn):
    """The members of one group, one after another."""

    name = "classic-members"

    def turn(self, start: int, count: int) -> None:
        for _ in range(count):
            join_and_leave(self.burst, [GROUP])


class ConsumerGroups(GroupChurn):
    """A new group of the consumer protocol (KIP-848) for each item, with one member; then the group is deleted."""

    name = "consumer-groups"

    def turn(self, start: int, count: int) -> None:
        groups = [f"consumer-group-{number}" for number in range(start, start + count)]
        heartbeat_in_and_out(self.burst, [(group, f"member-{group}") for group in groups])
        delete_groups(self.burst, groups)


class ConsumerMembers(GroupChurn):
    """The members of one group of the consumer protocol (KIP-848), up to ten at a time, each of another kind."""

    name = "consumer-members"
    at_once = 10

    def turn(self, start: int, count: int) -> None:
        for first in range(start, start + count, self.at_once):
            numbers = range(first, min(first + self.at_once, start + count))
            group = f"consumer-{GROUP}"
            joins = [
                {**consumer_join_request(group, f"member-{number}"), **kind_of_member(number)} for number in numbers
            ]
            checked(self.burst, apis.CONSUMER_GROUP_HEARTBEAT, 1, joins)
            leaves = [leave_request(group, f"member-{number}") for number in numbers]
            checked(self.burst, apis.CONSUMER_GROUP_HEARTBEAT, 1, leaves)


class EmptiedGroups(GroupChurn):
    """Groups of both protocols that nobody deletes: the broker does, once nobody is in them."""

    name = "emptied-groups"
    overrides: ClassVar[Mapping[str, str]] = {"offsets.retention.check.interval.ms": "100"}

    def turn(self, start: int, count: int) -> None:
        numbers = range(start, start + count)
        join_and_leave(self.burst, [f"classic-{number}" for number in numbers[::2]])
        heartbeat_in_and_out(self.burst, [(f"consumer-{number}", f"member-{number}") for number in numbers[1::2]])
        await_no_groups(self.burst)


class ExpiredMembers(GroupChurn):
    """Members of both protocols that never leave: their sessions end, and then their groups."""

    name = "expired-members"
    overrides: ClassVar[Mapping[str, str]] = {
        "offsets.retention.check.interval.ms": "100",
        "group.min.session.timeout.ms": "1",
        "group.consumer.min.session.timeout.ms": "1",
        "group.consumer.session.timeout.ms": "300",
        "group.consumer.min.heartbeat.interval.ms": "1",
        "group.consumer.heartbeat.interval.ms": "100",
    }

    def turn(self, start: int, count: int) -> None:
        numbers = range(start, start + count)
        checked(self.burst, apis.JOIN_GROUP, 3, [join_request(f"classic-{number}", 300) for number in numbers[::2]])
        joins = [consumer_join_request(f"consumer-{number}", f"member-{number}") for number in numbers[1::2]]
        checked(self.burst, apis.CONSUMER_GROUP_HEARTBEAT, 1, joins)
        await_no_groups(self.burst)


class ProducerIds(Churn):
    """Each writes one batch to a topic of its turn; the producer states go with the topic."""

    name = "producer-ids"

    def turn(self, start: int, count: int) -> None:
        topic = f"producers-{start}"
        self.create_topics([topic])
        request = {"transactional_id": None, "transaction_timeout_ms": TIMEOUT_MS}
        answers = list(self.burst.each(apis.INIT_PRODUCER_ID, 4, [request] * count))
        assert not any(answer.error_code for answer in answers)
        batches = [batch_of(answer.producer_id) for answer in answers]
        requests = [produce_request(topic, batch) for batch in batches]
        for response in self.burst.each(apis.PRODUCE, 9, requests):
            assert response.responses[0].partition_responses[0].error_code == 0, response
        response = self.burst.one(apis.DELETE_TOPICS, 6, {"topics": [{"name": topic}]})
        assert response.responses[0].error_code == 0


class ExpiringProducerIds(ProducerIds):
    """They write to one topic, and the broker forgets those that have written nothing for a while."""

    name = "expiring-producer-ids"
    overrides: ClassVar[Mapping[str, str]] = {
        "producer.id.expiration.ms": "100",
        "producer.id.expiration.check.interval.ms": "100",
        "log.segment.bytes": "1048576",
        "log.retention.bytes": "1048576",
        "log.initial.task.delay.ms": "100",
        "log.retention.check.interval.ms": "100",
    }

    def turn(self, start: int, count: int) -> None:
        request = {"transactional_id": None, "transaction_timeout_ms": TIMEOUT_MS}
        answers = list(self.burst.each(apis.INIT_PRODUCER_ID, 4, [request] * count))
        requests = [produce_request(TOPIC, batch_of(answer.producer_id)) for answer in answers]
        for response in self.burst.each(apis.PRODUCE, 9, requests):
            assert response.responses[0].partition_responses[0].error_code == 0, response
        asked = {"topics": [{"name": TOPIC, "partition_indexes": [0]}]}
        while self.burst.one(apis.DESCRIBE_PRODUCERS, 0, asked).topics[0].partitions[0].active_producers:
            pass


class ClientIds(Churn):
    """Requests of ever new client ids, which quotas apply to: of each the broker keeps what it has used."""

    name = "client-ids"
    warm_up = 12_000

    def prepare(self) -> None:
        super().prepare()
        for key in ("producer_byte_rate", "consumer_byte_rate", "request_percentage"):
            alter_quotas(self.burst, [None], key, 1e9)

    def turn(self, start: int, count: int) -> None:
        names = [f"client-{number}" for number in range(start, start + count)]
        requests = [produce_request(TOPIC, batch_of(-1)) for _ in names]
        for response in self.burst.each(apis.PRODUCE, 9, requests, names):
            assert response.responses[0].partition_responses[0].error_code == 0, response


class QuotaEntities(Churn):
    """Quotas of client ids that no client has: set, and removed."""

    name = "quota-entities"

    def turn(self, start: int, count: int) -> None:
        names: list[str | None] = [f"entity-{number}" for number in range(start, start + count)]
        for first in range(0, count, TOPICS_PER_REQUEST):
            some = names[first : first + TOPICS_PER_REQUEST]
            alter_quotas(self.burst, some, "producer_byte_rate", 1e6)
            alter_quotas(self.burst, some, "producer_byte_rate", None)


class FetchSessions(Churn):
    """Every other session is closed by its client; the others are evicted from a full cache."""

    name = "fetch-sessions"
    overrides: ClassVar[Mapping[str, str]] = {
        "max.incremental.fetch.session.cache.slots": "100",
    }

    def turn(self, start: int, count: int) -> None:
        opened = list(self.burst.each(apis.FETCH, 12, [fetch_request(0, 0)] * count))
        sessions = [response.session_id for response in opened]
        assert not any(response.error_code for response in opened)
        closed = [fetch_request(session, -1) for session in sessions[::2] if session]
        for response in self.burst.each(apis.FETCH, 12, closed):
            assert response.error_code in (0, 70), response


class Connections(Churn):
    """Each sends one request with a client id of its own, and ends."""

    name = "connections"

    def turn(self, start: int, count: int) -> None:
        for number in range(start, start + count):
            with Burst(self.port, f"connection-{number}") as burst:
                software = {"client_software_name": f"soak-{number}", "client_software_version": str(number)}
                assert burst.one(apis.API_VERSIONS, 3, software).error_code == 0


KINDS: dict[str, type[Churn]] = {
    kind.name: kind
    for kind in (
        Topics,
        ClassicGroups,
        ClassicMembers,
        ConsumerGroups,
        ConsumerMembers,
        EmptiedGroups,
        ExpiredMembers,
        ProducerIds,
        ExpiringProducerIds,
        ClientIds,
        QuotaEntities,
        FetchSessions,
        Connections,
    )
}


def join_and_leave(burst: Burst, groups: list[str]) -> None:
    """One member in each group."""
    joined = checked(burst, apis.JOIN_GROUP, 3, [join_request(group) for group in groups])
    syncs = [
        {
            "group_id": group,
            "generation_id": answer.generation_id,
            "member_id": answer.member_id,
            "assignments": [{"member_id": answer.member_id, "assignment": b"assignment"}],
        }
        for group, answer in zip(groups, joined, strict=True)
    ]
    checked(burst, apis.SYNC_GROUP, 3, syncs)
    beats = [
        {"group_id": group, "generation_id": answer.generation_id, "member_id": answer.member_id}
        for group, answer in zip(groups, joined, strict=True)
    ]
    checked(burst, apis.HEARTBEAT, 3, beats)
    leaves = [
        {"group_id": group, "members": [{"member_id": answer.member_id}]}
        for group, answer in zip(groups, joined, strict=True)
    ]
    checked(burst, apis.LEAVE_GROUP, 3, leaves)


def join_request(group: str, session_timeout_ms: int = 45_000) -> dict[str, object]:
    return {
        "group_id": group,
        "session_timeout_ms": session_timeout_ms,
        "rebalance_timeout_ms": 45_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": METADATA}],
    }


def consumer_join_request(group: str, member: str) -> dict[str, object]:
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": 0,
        "rebalance_timeout_ms": TIMEOUT_MS,
        "subscribed_topic_names": [TOPIC],
        "topic_partitions": [],
    }


def leave_request(group: str, member: str) -> dict[str, object]:
    return {"group_id": group, "member_id": member, "member_epoch": -1}


def kind_of_member(number: int) -> dict[str, object]:
    """By name, by a pattern of its own, static, or of a topic that does not exist."""
    kinds: list[dict[str, object]] = [
        {},
        {"subscribed_topic_names": None, "subscribed_topic_regex": f"growth|pattern-{number}"},
        {"instance_id": f"instance-{number}"},
        {"subscribed_topic_names": [f"missing-{number}"], "rack_id": f"rack-{number}", "server_assignor": "range"},
    ]
    return kinds[number % len(kinds)]


def await_no_groups(burst: Burst) -> None:
    while burst.one(apis.LIST_GROUPS, 4, {}).groups:
        pass


def heartbeat_in_and_out(burst: Burst, members: list[tuple[str, str]]) -> None:
    """(group, member id): all of them join, then all leave."""
    joins = [consumer_join_request(group, member) for group, member in members]
    leaves = [leave_request(group, member) for group, member in members]
    checked(burst, apis.CONSUMER_GROUP_HEARTBEAT, 1, joins)
    checked(burst, apis.CONSUMER_GROUP_HEARTBEAT, 1, leaves)


def delete_groups(burst: Burst, groups: list[str]) -> None:
    response = burst.one(apis.DELETE_GROUPS, 2, {"groups_names": groups})
    assert not any(result.error_code for result in response.results), response


def alter_quotas(burst: Burst, client_ids: list[str | None], key: str, value: float | None) -> None:
    """None for a client id is the default, None for a value removes the quota."""
    entries = [
        {
            "entity": [{"entity_type": "client-id", "entity_name": client_id}],
            "ops": [{"key": key, "value": value or 0.0, "remove": value is None}],
        }
        for client_id in client_ids
    ]
    response = burst.one(apis.ALTER_CLIENT_QUOTAS, 1, {"entries": entries, "validate_only": False})
    assert not any(entry.error_code for entry in response.entries), response


def produce_request(topic: str, batch: bytes) -> dict[str, object]:
    return {
        "transactional_id": None,
        "acks": 1,
        "timeout_ms": TIMEOUT_MS,
        "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
    }


def fetch_request(session_id: int, session_epoch: int) -> dict[str, object]:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    return {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "isolation_level": 0,
        "session_id": session_id,
        "session_epoch": session_epoch,
        "topics": [{"topic": TOPIC, "partitions": [partition]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def batch_of(producer_id: int) -> bytes:
    epoch, sequence = (0, 0) if producer_id >= 0 else (-1, -1)
    return encode_batch(
        [(None, b"value")],
        timestamp=time.time_ns() // 1_000_000,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def checked(burst: Burst, api: Api, version: int, requests: Sequence[Mapping[str, object]]) -> list[Message]:
    answers = list(burst.each(api, version, requests))
    failed = [answer for answer in answers if answer.error_code]
    assert not failed, failed[0]
    return answers
