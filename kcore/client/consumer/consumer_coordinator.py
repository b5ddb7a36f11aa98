"""A member of a group under the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup. No I/O.

    UNJOINED -> PREPARING -> JOINING -> SYNCING -> ASSIGNING -> STABLE
                    ^__________________________________________|    something changed: join again

PREPARING and ASSIGNING wait for the application, which runs callbacks within `poll`. The other states wait for the
coordinator. Eager members revoke all partitions before they join. Cooperative members (KIP-429) keep their partitions,
revoke those that the new generation assigns to others, and join once more. A static member (KIP-345) does not leave,
because it is expected back with the same `group.instance.id`. Another consumer that joins with this id fences it.

A response counts only if the generation has not changed since its request. Source: Kafka's AbstractCoordinator and
ConsumerCoordinator. Driven under the consumer's lock; see broker_request.py.
"""

from __future__ import annotations

from enum import Enum

from kcore.client.consumer import codes
from kcore.client.consumer.assignors.assignor import Member
from kcore.client.consumer.broker_request import NEVER_MS, BrokerRequest
from kcore.client.consumer.consumer_errors import FencedInstance
from kcore.client.consumer.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kcore.client.consumer.group_member import GroupMember
from kcore.client.consumer.group_settings import NO_GENERATION, GroupMetadata
from kcore.client.consumer.heartbeat import Heartbeat
from kcore.client.consumer.subscription_state import SubscriptionType
from kcore.client.errors import ClientError, broker_error
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kcore.client.consumer.assignors.assignor import Assignor, ReplicaRacks
    from kcore.client.consumer.broker_request import Finish
    from kcore.client.consumer.consumer_metadata import ConsumerMetadata
    from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
    from kcore.client.consumer.group_settings import GroupSettings
    from kcore.client.consumer.rebalance_callback import CallbackKind
    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import Node, TopicPartition
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

# How much longer than the rebalance timeout the response to JoinGroup may take.
JOIN_GRACE_MS = 5_000
# From this version on, LeaveGroup has a list of members (KIP-345); from the next one on, also a reason (KIP-800).
FIRST_LEAVE_OF_MANY = 3
FIRST_LEAVE_WITH_REASON = 5
# First versions that have a group.instance.id (KIP-345).
FIRST_STATIC_VERSIONS = {apis.JOIN_GROUP.key: 5, apis.SYNC_GROUP.key: 3, apis.HEARTBEAT.key: 3}


class MemberState(Enum):
    UNJOINED = "unjoined"
    PREPARING = "preparing"
    JOINING = "joining"
    SYNCING = "syncing"
    ASSIGNING = "assigning"
    STABLE = "stable"


class ConsumerCoordinator(GroupMember):
    """A member under the classic protocol."""

    def __init__(
        self,
        settings: GroupSettings,
        subscriptions: SubscriptionState,
        metadata: ConsumerMetadata,
        lookup: CoordinatorLookup,
        assignors: Sequence[Assignor],
    ) -> None:
        super().__init__(settings, subscriptions, metadata, lookup)
        self._assignors = {assignor.name: assignor for assignor in assignors}
        # Cooperative only if all assignors are: the group may choose any of them.
        self.is_cooperative = all(assignor.is_cooperative for assignor in assignors)
        self._heartbeat = Heartbeat(
            settings.heartbeat_interval_ms, settings.session_timeout_ms, settings.rebalance_timeout_ms
        )
        self.state = MemberState.UNJOINED
        self.member_id = ""
        self.generation_id = NO_GENERATION
        self.protocol_name = ""
        self.is_leader = False
        self._reason = "the consumer is starting"
        self._rejoin_needed = True
        self._in_flight = False
        self._joined_topics: frozenset[str] | None = None
        self._led_topics: dict[str, ReplicaRacks | None] | None = None
        self._led: Message | None = None
        self._expected: frozenset[TopicPartition] | None = None
        self._last_assignment: tuple[TopicPartition, ...] = ()
        self._last_generation = NO_GENERATION
        self._is_out = False

    # Queries

    @property
    def group_metadata(self) -> GroupMetadata:
        settings = self._settings
        return GroupMetadata(settings.group_id, self.generation_id, self.member_id, settings.instance_id)

    @property
    def has_generation(self) -> bool:
        return self.generation_id != NO_GENERATION and bool(self.member_id)

    @property
    def can_commit(self) -> bool:
        return self.has_generation and self.state in (
            MemberState.STABLE,
            MemberState.PREPARING,
            MemberState.ASSIGNING,
        )

    @property
    def is_rebalancing(self) -> bool:
        return self.state not in (MemberState.STABLE, MemberState.UNJOINED)

    @property
    def is_out(self) -> bool:
        return self._is_out

    def request_rejoin(self, reason: str) -> None:
        self._rejoin_needed = True
        self._reason = reason

    # The application's side

    def polled(self, now_ms: float) -> None:
        self._heartbeat.polled(now_ms)
        self._is_out = False

    def _callbacks_done(self, last: CallbackKind | None = None) -> None:
        if self.state is MemberState.PREPARING:
            self.state = MemberState.JOINING
            self.is_leader = False
            self._led_topics = None
            self._subscriptions.group_topics = frozenset()
        elif self.state is MemberState.ASSIGNING:
            self.state = MemberState.STABLE

    # Time

    def _go_on(self, now_ms: float) -> None:
        self._check_clocks(now_ms)
        if self._is_out:
            return
        self._lookup.is_wanted = True
        self._check_subscription()
        is_idle = self.state in (MemberState.UNJOINED, MemberState.STABLE) and self._callbacks.running is None
        if self._rejoin_needed and is_idle:
            self._prepare()
        if self._lookup.node is None:
            return
        if self.state is MemberState.JOINING:
            self._join(now_ms)
        elif self.state is MemberState.SYNCING and self._led is not None:
            self._lead(self._led)
        elif self.has_generation and self._heartbeat.is_due(now_ms):
            self._send_heartbeat(now_ms)

    def wake_ms(self) -> float:
        if self._outbox:
            return 0.0
        if self.is_fatal or not self._subscriptions.is_auto_assigned or self._is_out:
            return NEVER_MS
        # Waits for the coordinator or for metadata have timers elsewhere. Waking earlier would be a busy loop.
        is_held = self._lookup.node is None or self._awaits_matches
        if self.state is MemberState.JOINING:
            if self._in_flight:
                return NEVER_MS
            return self._heartbeat.poll_due_ms if is_held else self._backoff.until_ms
        if not self.has_generation:
            return NEVER_MS if self._callbacks else self._backoff.until_ms
        due_ms = NEVER_MS if self._heartbeat.is_in_flight or self._lookup.node is None else self._heartbeat.due_ms
        return min(due_ms, self._heartbeat.session_ends_ms, self._heartbeat.poll_due_ms)

    def _check_clocks(self, now_ms: float) -> None:
        if self.state is MemberState.UNJOINED or self._is_out:
            return
        if self._heartbeat.is_poll_overdue(now_ms):
            self._is_out = True
            self._leave("the application has not called poll() for max.poll.interval.ms")
            self._reset_generation(forget_member=True, reason="max.poll.interval.ms has passed")
            return
        is_counted = self.has_generation and self.state is not MemberState.JOINING
        if is_counted and self._heartbeat.has_session_ended(now_ms):
            self._lookup.lost(None)
            self._heartbeat.start(now_ms)

    def _check_subscription(self) -> None:
        if self.state is not MemberState.STABLE:
            return
        if self._joined_topics is not None and self._joined_topics != self._subscriptions.topics:
            self.request_rejoin("the subscription has changed")
        elif self._led_topics is not None and any(
            self._metadata.replica_racks(topic) != known for topic, known in self._led_topics.items()
        ):
            self.request_rejoin("the metadata of subscribed topics has changed")

    # Before joining

    def _prepare(self) -> None:
        self.state = MemberState.PREPARING
        self._rejoin_needed = False
        owned = self._subscriptions.assigned
        if not self.has_generation:
            if owned:
                self._callbacks.revoke(owned, are_lost=True)
        else:
            self._callbacks.prepare()
            revoked = owned
            if self.is_cooperative:
                revoked = [p for p in owned if p.topic not in self._subscriptions.topics]
            if revoked or not self.is_cooperative:
                self._callbacks.revoke(revoked)
        if not self._callbacks:
            self._callbacks_done()

    # Joining

    def _join(self, now_ms: float) -> None:
        if self._in_flight or self._backoff.until_ms > now_ms:
            return
        if self._awaits_matches:
            return
        self._in_flight = True
        self._joined_topics = self._subscriptions.topics
        settings = self._settings
        fields = {
            "group_id": settings.group_id,
            "session_timeout_ms": settings.session_timeout_ms,
            "rebalance_timeout_ms": settings.rebalance_timeout_ms,
            "member_id": self.member_id,
            "group_instance_id": settings.instance_id,
            "protocol_type": PROTOCOL_TYPE,
            "protocols": [
                {"name": name, "metadata": encode_subscription(self._described(assignor))}
                for name, assignor in self._assignors.items()
            ],
            "reason": self._reason,
        }
        timeout_ms = max(settings.request_timeout_ms, settings.rebalance_timeout_ms + JOIN_GRACE_MS)
        node = self._lookup.node
        member_id = self.member_id

        def joined(response: Message | None, error: Exception | None, now_ms: float) -> None:
            self._in_flight = False
            if self.state is MemberState.JOINING and self.member_id == member_id:
                self._joined(node, response, now_ms)

        self._send(apis.JOIN_GROUP, fields, node, joined, timeout_ms)

    @property
    def _awaits_matches(self) -> bool:
        """Whether the topics that match the pattern are not known yet."""
        return self._subscriptions.type is SubscriptionType.PATTERN and not self._metadata.version

    def _described(self, assignor: Assignor) -> Member:
        """This member as described by its subscription."""
        owned = tuple(self._subscriptions.assigned) if self.is_cooperative else ()
        generation = self.generation_id if self.has_generation else NO_GENERATION
        return Member(
            topics=self._subscriptions.topics,
            owned=owned,
            generation=generation,
            rack=self._settings.rack,
            instance_id=self._settings.instance_id,
            user_data=assignor.user_data(self._last_assignment, self._last_generation),
        )

    def _joined(self, node: Node | None, response: Message | None, now_ms: float) -> None:
        if response is None:
            self._lookup.lost(node)
            self._backoff.failed(now_ms)
            return
        code = response.error_code
        if code == codes.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return
        if code != codes.NONE:
            self._refused(node, code, now_ms, "JoinGroup")
            return
        self._backoff.succeeded()
        self.member_id, self.generation_id = response.member_id, response.generation_id
        self.protocol_name = response.protocol_name or ""
        self._heartbeat.start(now_ms)
        self._heartbeat.is_in_flight = False
        self.state = MemberState.SYNCING
        if self.protocol_name not in self._assignors:
            self._fail(
                ClientError(
                    f"group {self._settings.group_id}: the group chose the assignor {self.protocol_name!r}, which this "
                    "consumer does not have. Add it to partition.assignment.strategy"
                )
            )
            return
        self.is_leader = response.leader == self.member_id
        if self.is_leader:
            self._led = response
        else:
            self._sync([])

    # Leading

    def _lead(self, joined: Message) -> None:
        """Compute the assignment once the metadata of all members' topics is known."""
        members = {
            member.member_id: decode_subscription(bytes(member.metadata), member.group_instance_id)
            for member in joined.members
        }
        topics = frozenset[str]().union(*(member.topics for member in members.values()))
        self._subscriptions.group_subscribe(topics)
        if not self._metadata.knows(topics):
            return
        self._led = None
        self._led_topics = {topic: self._metadata.replica_racks(topic) for topic in topics}
        assignor = self._assignors[self.protocol_name]
        existing = {topic: racks for topic, racks in self._led_topics.items() if racks is not None}
        if getattr(joined, "skip_assignment", False):
            # A static leader has returned. The coordinator's assignment stays valid (KIP-814), unless topics changed
            # meanwhile. With a deterministic assignor, that shows as a difference in the leader's own part.
            if not assignor.is_sticky:
                self._expected = frozenset(assignor.assign(members, existing)[self.member_id])
            self._sync([])
            return
        assigned = assignor.assign(members, existing)
        self._sync(
            [
                {"member_id": member, "assignment": encode_assignment(partitions)}
                for member, partitions in assigned.items()
            ]
        )

    # Syncing

    def _sync(self, assignments: list[dict[str, Any]]) -> None:
        node = self._lookup.node
        generation = self.generation_id
        fields = {
            **self._identity(),
            "protocol_type": PROTOCOL_TYPE,
            "protocol_name": self.protocol_name,
            "assignments": assignments,
        }

        def synced(response: Message | None, error: Exception | None, now_ms: float) -> None:
            if self.state is MemberState.SYNCING and self.generation_id == generation:
                self._synced(node, response, now_ms)

        timeout_ms = max(self._settings.request_timeout_ms, self._settings.rebalance_timeout_ms + JOIN_GRACE_MS)
        self._send(apis.SYNC_GROUP, fields, node, synced, timeout_ms)

    def _send(self, api: Api, fields: dict[str, Any], node: Node | None, finish: Finish, timeout_ms: float) -> None:
        is_static = self._settings.instance_id is not None
        min_version = FIRST_STATIC_VERSIONS[api.key] if is_static else None
        self._outbox.append(
            BrokerRequest(api, lambda version: fields, node, finish, timeout_ms=timeout_ms, min_version=min_version)
        )

    def _identity(self) -> dict[str, Any]:
        return {
            "group_id": self._settings.group_id,
            "generation_id": self.generation_id,
            "member_id": self.member_id,
            "group_instance_id": self._settings.instance_id,
        }

    def _synced(self, node: Node | None, response: Message | None, now_ms: float) -> None:
        if response is None:
            self._lookup.lost(node)
            self._backoff.failed(now_ms)
            self.state = MemberState.JOINING
            return
        if response.error_code != codes.NONE:
            self._refused(node, response.error_code, now_ms, "SyncGroup")
            return
        assigned = decode_assignment(bytes(response.assignment))
        self.rebalances += 1
        self.state = MemberState.ASSIGNING
        if any(partition.topic not in self._subscriptions.topics for partition in assigned):
            # The subscription changed while the group was joining. This assignment is for the old one.
            self.request_rejoin("the assignment does not match the subscription")
            assigned = [p for p in assigned if p.topic in self._subscriptions.topics]
        expected, self._expected = self._expected, None
        if expected is not None and expected != set(assigned):
            self.request_rejoin("topics have changed while the leader was away")
        self._last_assignment, self._last_generation = tuple(assigned), self.generation_id
        owned = self._subscriptions.assigned
        revoked = [partition for partition in owned if partition not in set(assigned)]
        if revoked:
            self._callbacks.revoke(revoked)
            if self.is_cooperative:
                self.request_rejoin("partitions were revoked, and may now be given to others")
        self._callbacks.assign([p for p in assigned if p not in set(owned)], assigned)

    # Refusals

    def _refused(self, node: Node | None, code: int, now_ms: float, what: str) -> None:
        """Handle an error of JoinGroup, SyncGroup or Heartbeat: set the new state and decide what to do next."""
        if code in codes.COORDINATOR_LOST:
            self._lookup.lost(node)
            self._backoff.failed(now_ms)
            self._join_again()
        elif code == codes.COORDINATOR_LOAD_IN_PROGRESS:
            self._backoff.failed(now_ms)
            self._join_again()
        elif code == codes.REBALANCE_IN_PROGRESS:
            self._join_again()
        elif code in (codes.UNKNOWN_MEMBER_ID, codes.ILLEGAL_GENERATION):
            reason = f"{what} was refused: the member id or the generation is not known to the coordinator"
            self._reset_generation(forget_member=code == codes.UNKNOWN_MEMBER_ID, reason=reason)
        elif code == codes.FENCED_INSTANCE_ID:
            self._reset_generation(forget_member=True, reason="fenced")
            self._fail(FencedInstance(self._settings.group_id, self._settings.instance_id), is_fatal=True)
        else:
            self._backoff.failed(now_ms)
            self._fail(broker_error(code, f"group {self._settings.group_id}"))

    def _join_again(self) -> None:
        """Join again with the same member id, without revoking partitions again."""
        if self.state in (MemberState.JOINING, MemberState.SYNCING):
            self._led = None
            self.state = MemberState.JOINING

    def _reset_generation(self, *, forget_member: bool, reason: str) -> None:
        """Leave the generation. Owned partitions are lost unless they are already revoked."""
        self.generation_id = NO_GENERATION
        if forget_member:
            self.member_id = ""
        self._led = None
        self._led_topics = None
        self._heartbeat.is_in_flight = False
        self._callbacks.clear()
        self.state = MemberState.UNJOINED
        self.request_rejoin(reason)
        self._subscriptions.await_revocation(self._subscriptions.assigned)

    def _fail(self, error: Exception, *, is_fatal: bool = False) -> None:
        self.error = error
        self.is_fatal = is_fatal
        if self.state in (MemberState.JOINING, MemberState.SYNCING):
            self._led = None
            self.state = MemberState.JOINING

    # Heartbeats

    def _send_heartbeat(self, now_ms: float) -> None:
        node = self._lookup.node
        member = (self.member_id, self.generation_id)
        fields = self._identity()
        self._heartbeat.sent(now_ms)

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            if (self.member_id, self.generation_id) == member:
                self._heartbeat_answered(node, response, now_ms)

        timeout_ms = min(self._settings.request_timeout_ms, self._settings.session_timeout_ms)
        self._send(apis.HEARTBEAT, fields, node, answered, timeout_ms)

    def _heartbeat_answered(self, node: Node | None, response: Message | None, now_ms: float) -> None:
        retry_ms = now_ms + self._settings.retry_backoff_ms
        if response is None:
            self._lookup.lost(node)
            self._heartbeat.failed(retry_ms)
            return
        code = response.error_code
        if code in (codes.NONE, codes.REBALANCE_IN_PROGRESS):
            self._heartbeat.received(now_ms)
            if code == codes.REBALANCE_IN_PROGRESS and self.state is MemberState.STABLE:
                self.request_rejoin("the group is already rebalancing")
        elif code in codes.COORDINATOR_LOST or code == codes.COORDINATOR_LOAD_IN_PROGRESS:
            if code in codes.COORDINATOR_LOST:
                self._lookup.lost(node)
            self._heartbeat.failed(retry_ms)
        else:
            self._heartbeat.failed(retry_ms)
            self._refused(node, code, now_ms, "Heartbeat")

    def commit_refused(self, metadata: GroupMetadata, code: int) -> None:
        if metadata != self.group_metadata:
            return
        if code == codes.REBALANCE_IN_PROGRESS:
            self.request_rejoin("a commit was refused: the group is already rebalancing")
        elif code == codes.FENCED_INSTANCE_ID:
            self._reset_generation(forget_member=True, reason="fenced")
            self._fail(FencedInstance(self._settings.group_id, self._settings.instance_id), is_fatal=True)
        else:
            self._reset_generation(forget_member=code == codes.UNKNOWN_MEMBER_ID, reason="a commit was refused")

    # Leaving

    def leave(self, reason: str, *, is_closing: bool = False) -> None:
        """Leave the group, which frees the partitions at once. A static member keeps its place."""
        self._leave(reason)
        self._reset_generation(forget_member=True, reason=reason)
        self._last_assignment, self._last_generation = (), NO_GENERATION
        self._is_out = is_closing

    def _leave(self, reason: str) -> None:
        if not self.member_id or self._lookup.node is None:
            return
        if self._settings.instance_id is not None:
            return
        leaver = {"member_id": self.member_id, "group_instance_id": None}
        group = {"group_id": self._settings.group_id}

        def fields(version: int) -> Mapping[str, Any]:
            if version < FIRST_LEAVE_OF_MANY:
                return {**group, "member_id": leaver["member_id"]}
            with_reason = {"reason": reason} if version >= FIRST_LEAVE_WITH_REASON else {}
            return {**group, "members": [{**leaver, **with_reason}]}

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            self.is_leaving = False

        self.is_leaving = True
        self._outbox.append(BrokerRequest(apis.LEAVE_GROUP, fields, self._lookup.node, answered))
