"""A consumer's place in its group: join, sync, heartbeat, leave, and the offsets that the group has committed.

The classic protocol (JoinGroup, SyncGroup), one round at a time: whoever is elected leader assigns ranges. Heartbeats
are sent from `poll`, so that a member that no longer polls is found out by the coordinator, as it should be.
"""

from __future__ import annotations

from kcore.client.cluster import TopicPartition
from kcore.client.connection import now_ms
from kcore.client.consumer_protocol import (
    RANGE,
    assign_ranges,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcore.client.errors import (
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    ClientError,
    broker_error,
)
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.cluster import Node
    from kcore.client.network_client import NetworkClient
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

NO_GENERATION = -1
# How much longer than the rebalance itself the answer to JoinGroup may take.
JOIN_GRACE_MS = 5_000
MAX_JOIN_ROUNDS = 100
NOT_COORDINATOR_CODES = frozenset({15, 16})
# Loading, not available, not the coordinator: the same question is answered later, or elsewhere.
RETRIED_CODES = frozenset({14, 15, 16})
_PROTOCOL = {"protocol_type": "consumer", "protocol_name": RANGE}


class GroupMembership:
    def __init__(
        self,
        client: NetworkClient,
        group_id: str,
        *,
        session_timeout_ms: int = 45_000,
        heartbeat_interval_ms: int = 3_000,
        rebalance_timeout_ms: int = 300_000,
    ) -> None:
        self._client = client
        self.group_id = group_id
        self._session_timeout_ms = session_timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._coordinator: Node | None = None
        self.member_id = ""
        self.generation_id = NO_GENERATION
        self.must_join = True
        self._next_heartbeat_ms = 0.0

    @property
    def is_member_of_generation(self) -> bool:
        """Whether the coordinator would, as far as is known, take a commit."""
        return bool(self.member_id) and self.generation_id != NO_GENERATION

    # Membership

    def join(self, topics: Sequence[str]) -> list[TopicPartition]:
        """Becomes a member of the next generation and returns the partitions that it was given."""
        for _ in range(MAX_JOIN_ROUNDS):
            assigned = self._join_once(topics)
            if assigned is not None:
                self.must_join = False
                self._next_heartbeat_ms = now_ms() + self._heartbeat_interval_ms
                return assigned
        raise ClientError(f"group {self.group_id}: no stable generation within {MAX_JOIN_ROUNDS} rounds of joining")

    def _join_once(self, topics: Sequence[str]) -> list[TopicPartition] | None:
        """One round; None when it has to be repeated."""
        fields = {
            "group_id": self.group_id,
            "session_timeout_ms": self._session_timeout_ms,
            "rebalance_timeout_ms": self._rebalance_timeout_ms,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": RANGE, "metadata": encode_subscription(topics)}],
        }
        joined = self._ask(apis.JOIN_GROUP, fields, self._rebalance_timeout_ms + JOIN_GRACE_MS)
        if joined.error_code == MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return None
        if self._starts_over(joined.error_code):
            return None
        self.member_id, self.generation_id = joined.member_id, joined.generation_id
        is_leader = joined.leader == joined.member_id
        assignments = self._assign(joined) if is_leader else []
        synced = self._ask(apis.SYNC_GROUP, {**self._identity(), "assignments": assignments, **_PROTOCOL})
        if self._starts_over(synced.error_code):
            return None
        return decode_assignment(bytes(synced.assignment))

    def _starts_over(self, code: int) -> bool:
        if code == NONE:
            return False
        if code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION):
            self.generation_id = NO_GENERATION
        if code == UNKNOWN_MEMBER_ID:
            self.member_id = ""
        if code in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS):
            return True
        raise broker_error(code, f"group {self.group_id}")

    def _assign(self, joined: Message) -> list[dict[str, Any]]:
        members = {member.member_id: decode_subscription(bytes(member.metadata)) for member in joined.members}
        wanted = sorted({topic for topics in members.values() for topic in topics})
        counts = {topic: len(self._client.partitions_of(topic)) for topic in wanted}
        assigned = assign_ranges(members, counts)
        return [
            {"member_id": member, "assignment": encode_assignment(partitions)}
            for member, partitions in assigned.items()
        ]

    def heartbeat_if_due(self) -> None:
        """Tells the coordinator that this member lives; notices that the group wants to rebalance."""
        now = now_ms()
        if self.must_join or now < self._next_heartbeat_ms:
            return
        self._next_heartbeat_ms = now + self._heartbeat_interval_ms
        code = self._ask(apis.HEARTBEAT, self._identity()).error_code
        if self._starts_over(code):
            self.must_join = True

    def leave(self) -> None:
        """Gives the partitions free at once, instead of after the session timeout."""
        if not self.is_member_of_generation:
            return
        coordinator = self._coordinator or self._client.group_coordinator(self.group_id)
        version = self._client.connection_to(coordinator).version_of(apis.LEAVE_GROUP)
        leaver: dict[str, Any] = {"member_id": self.member_id}
        # From version 3 on several members may leave at once (KIP-345).
        self._ask(apis.LEAVE_GROUP, {"group_id": self.group_id, **({"members": [leaver]} if version >= 3 else leaver)})
        self.member_id, self.generation_id, self.must_join = "", NO_GENERATION, True

    # Offsets

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The group's offsets; a partition without one is left out."""
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, []).append(partition)
        topics = [{"name": topic, "partition_indexes": numbers} for topic, numbers in by_topic.items()]
        response = self._ask(apis.OFFSET_FETCH, {"group_id": self.group_id, "topics": topics})
        if response.error_code:
            raise broker_error(response.error_code, f"group {self.group_id}")
        offsets = {}
        for topic in response.topics:
            for partition in topic.partitions:
                where = TopicPartition(topic.name, partition.partition_index)
                if partition.error_code:
                    raise broker_error(partition.error_code, f"group {self.group_id}, partition {where}")
                if partition.committed_offset >= 0:
                    offsets[where] = partition.committed_offset
        return offsets

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commits the next offset to read of each partition, as a member of the present generation."""
        by_topic: dict[str, list[dict[str, Any]]] = {}
        for (topic, partition), offset in offsets.items():
            entry = {"partition_index": partition, "committed_offset": offset, "committed_metadata": ""}
            by_topic.setdefault(topic, []).append(entry)
        fields = {
            "group_id": self.group_id,
            "generation_id_or_member_epoch": self.generation_id,
            "member_id": self.member_id,
            "topics": [{"name": topic, "partitions": entries} for topic, entries in by_topic.items()],
        }
        response = self._ask(apis.OFFSET_COMMIT, fields)
        for topic in response.topics:
            for partition in topic.partitions:
                if self._starts_over(partition.error_code):
                    self.must_join = True

    # The coordinator

    def _identity(self) -> dict[str, Any]:
        return {"group_id": self.group_id, "generation_id": self.generation_id, "member_id": self.member_id}

    def _ask(self, api: Api, fields: dict[str, Any], timeout_ms: float | None = None) -> Message:
        """Asks the coordinator, looking for it anew after it has moved or was lost."""

        def attempt() -> Message:
            if self._coordinator is None:
                self._coordinator = self._client.group_coordinator(self.group_id)
            try:
                response = self._client.request(api, fields, self._coordinator, timeout_ms)
            except ClientError:
                self._coordinator = None
                raise
            code = _first_error(response)
            if code in NOT_COORDINATOR_CODES:
                self._coordinator = None
            if code in RETRIED_CODES:
                raise broker_error(code, f"group {self.group_id}")
            return response

        return self._client.retrying(attempt)


def _first_error(response: Message) -> int:
    """The error of the answer, or of the first partition that has one (OffsetCommit has no other place for it)."""
    code: int = getattr(response, "error_code", NONE)
    for topic in getattr(response, "topics", None) or ():
        for partition in topic.partitions:
            code = code or partition.error_code
    return code
