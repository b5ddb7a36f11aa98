"""A member of a group under the consumer protocol (KIP-848): one request, ConsumerGroupHeartbeat. No I/O.

    UNSUBSCRIBED -> JOINING -> STABLE <-> RECONCILING -> ACKNOWLEDGING -> STABLE
                       ^__________ FENCED <- (the coordinator reports that it is not a member any more)
                       ^__________ STALE  <- (the application has not called poll() for max.poll.interval.ms: it left)

The coordinator computes the assignment and sends each member its part. A member revokes partitions that are no longer
assigned to it and takes new ones, both with callbacks that the application runs within `poll`. Its next heartbeat lists
the partitions it owns. Only then does the coordinator assign the revoked partitions to others. Epoch 0 joins, -1
leaves, -2 leaves temporarily (static members). A heartbeat omits fields that have not changed since the last one that
was acknowledged.

Assignments have topic ids, commits have topic names. If all partitions of a topic are revoked, the member first checks
in new metadata that its name still has the same id. Otherwise the offsets of a deleted topic would be committed to a
topic that was re-created with its name.
Source: Kafka's ConsumerMembershipManager and ConsumerHeartbeatRequestManager.
"""

from __future__ import annotations

from enum import Enum

from kcore import uuid
from kcore.client.consumer import codes
from kcore.client.consumer.broker_request import NEVER_MS, BrokerRequest
from kcore.client.consumer.consumer_errors import FencedInstance
from kcore.client.consumer.group_member import GroupMember
from kcore.client.consumer.group_settings import GroupMetadata
from kcore.client.consumer.rebalance_callback import CallbackKind
from kcore.client.consumer.subscription_state import SubscriptionType
from kcore.client.errors import UnsupportedByBroker, broker_error
from kcore.client.metadata.cluster import TopicPartition
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.client.consumer.consumer_metadata import ConsumerMetadata
    from kcore.client.consumer.coordinator_lookup import CoordinatorLookup
    from kcore.client.consumer.group_settings import GroupSettings
    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import Node
    from kcore.protocol.message import Message

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
FIRST_VERSION_WITH_PATTERNS = 1


class ConsumerState(Enum):
    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    STABLE = "stable"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    FENCED = "fenced"
    STALE = "stale"
    LEFT = "left"


JOINED = frozenset({ConsumerState.STABLE, ConsumerState.RECONCILING, ConsumerState.ACKNOWLEDGING})


class ConsumerMembership(GroupMember):
    """A member under the consumer protocol."""

    def __init__(
        self,
        settings: GroupSettings,
        subscriptions: SubscriptionState,
        metadata: ConsumerMetadata,
        lookup: CoordinatorLookup,
    ) -> None:
        super().__init__(settings, subscriptions, metadata, lookup)
        self.state = ConsumerState.UNSUBSCRIBED
        # The member generates its id and keeps it for its lifetime (KIP-1082).
        self.member_id = uuid.to_text(uuid.random_uuid())
        self.member_epoch = JOIN_EPOCH
        # Incremented by each join and leave. Responses to requests from before are ignored.
        self._life = 0
        self._is_in_flight = False
        self._due_ms = 0.0
        self._interval_ms = float(settings.heartbeat_interval_ms)
        self._poll_due_ms = NEVER_MS
        # The fields that the coordinator has acknowledged, by name.
        self._told: dict[str, Any] = {}
        self._target: dict[bytes, list[int]] | None = None
        self._reconciled: frozenset[TopicPartition] = frozenset()
        # Whether the coordinator has acknowledged the owned partitions since it sent the target assignment.
        self._is_acknowledged = True
        # The ids of the assigned topics by name, and the metadata query whose successors may confirm them.
        self._topic_ids: dict[str, bytes] = {}
        self._asked_metadata: int | None = None

    # Queries

    @property
    def group_metadata(self) -> GroupMetadata:
        settings = self._settings
        return GroupMetadata(settings.group_id, self.member_epoch, self.member_id, settings.instance_id)

    @property
    def can_commit(self) -> bool:
        return self.member_epoch > 0 and self.state in JOINED

    @property
    def is_rebalancing(self) -> bool:
        return self.state in (ConsumerState.JOINING, ConsumerState.FENCED)

    def commit_refused(self, metadata: GroupMetadata, code: int) -> None:
        """The coordinator has another epoch for this member, or has removed it. The next heartbeat shows which."""
        if code == codes.FENCED_INSTANCE_ID:
            self._fail(FencedInstance(self._settings.group_id, self._settings.instance_id))
        elif metadata.member_id == self.member_id:
            self._due_ms = 0.0

    # The application's side

    def polled(self, now_ms: float) -> None:
        self._poll_due_ms = now_ms + self._settings.rebalance_timeout_ms
        if self.state is ConsumerState.STALE and not self._callbacks:
            self._lose_everything()

    @property
    def is_out(self) -> bool:
        return self.state is ConsumerState.STALE

    def _callbacks_done(self, last: CallbackKind | None = None) -> None:
        if self.state is ConsumerState.RECONCILING:
            self._reconciled = frozenset(self._subscriptions.assigned)
            self.state = ConsumerState.ACKNOWLEDGING
            self.rebalances += last is CallbackKind.ASSIGNED
        elif self.state in (ConsumerState.FENCED, ConsumerState.STALE):
            self._lose_everything()

    # Time

    def _go_on(self, now_ms: float) -> None:
        if self.state is ConsumerState.LEFT:
            return
        if self.state is ConsumerState.UNSUBSCRIBED:
            self._join()
        if now_ms >= self._poll_due_ms and self.state in JOINED | {ConsumerState.JOINING}:
            self._leave_for_want_of_polls()
        self._lookup.is_wanted = True
        if self.state in (ConsumerState.STABLE, ConsumerState.ACKNOWLEDGING):
            self._reconcile()
        if self._lookup.node is not None and self._must_heartbeat(now_ms):
            self._send_heartbeat(self._lookup.node, now_ms)

    def wake_ms(self) -> float:
        if self._outbox:
            return 0.0
        if self.is_fatal or not self._subscriptions.is_auto_assigned or self.state is ConsumerState.LEFT:
            return NEVER_MS
        if self.state in (ConsumerState.FENCED, ConsumerState.STALE):
            return NEVER_MS
        if self._is_in_flight:
            return self._poll_due_ms
        is_urgent = self.state in (ConsumerState.JOINING, ConsumerState.ACKNOWLEDGING) or self._has_news
        due_ms = self._backoff.until_ms if is_urgent else max(self._due_ms, self._backoff.until_ms)
        return min(due_ms, self._poll_due_ms) if self._lookup.node is not None else self._poll_due_ms

    # Heartbeats

    def _must_heartbeat(self, now_ms: float) -> bool:
        if self._is_in_flight or self._backoff.until_ms > now_ms:
            return False
        if self.state in (ConsumerState.FENCED, ConsumerState.STALE):
            return False
        if self.state is ConsumerState.JOINING:
            is_matched_here = self._subscriptions.type is SubscriptionType.PATTERN
            return not is_matched_here or self._metadata.version > 0
        return self.state is ConsumerState.ACKNOWLEDGING or now_ms >= self._due_ms or self._has_news

    def _subscription(self) -> dict[str, Any]:
        subscriptions = self._subscriptions
        if subscriptions.type is SubscriptionType.BROKER_PATTERN:
            return {"subscribed_topic_names": [], "subscribed_topic_regex": subscriptions.broker_pattern}
        had_pattern = self._told.get("subscribed_topic_regex")
        names: dict[str, Any] = {"subscribed_topic_names": sorted(subscriptions.topics)}
        return {**names, "subscribed_topic_regex": ""} if had_pattern else names

    @property
    def _has_news(self) -> bool:
        """Whether the subscription differs from what the coordinator knows."""
        return any(self._told.get(name) != value for name, value in self._subscription().items())

    def _fields(self) -> dict[str, Any]:
        """All fields that describe this member."""
        settings = self._settings
        fields = self._subscription()
        fields |= {"rack_id": settings.rack or None, "rebalance_timeout_ms": settings.rebalance_timeout_ms}
        if settings.remote_assignor:
            fields["server_assignor"] = settings.remote_assignor
        if self.state is ConsumerState.JOINING:
            fields["topic_partitions"] = []
        elif self.state is not ConsumerState.RECONCILING:
            fields["topic_partitions"] = self._owned_by_id()
        return fields

    def _owned_by_id(self) -> list[dict[str, Any]]:
        by_id: dict[bytes, list[int]] = {}
        for topic_id, numbers in (self._target or {}).items():
            name = self._metadata.topic_name(topic_id)
            owned = [n for n in numbers if name is not None and TopicPartition(name, n) in self._reconciled]
            if owned:
                by_id[topic_id] = owned
        return [{"topic_id": topic_id, "partitions": by_id[topic_id]} for topic_id in sorted(by_id)]

    def _send_heartbeat(self, node: Node, now_ms: float) -> None:
        fields = self._fields()
        news = {name: value for name, value in fields.items() if self._told.get(name) != value}
        is_joining = self.state is ConsumerState.JOINING
        request = {**self._identity(self.member_epoch), **(fields if is_joining else news)}
        if self.state is ConsumerState.ACKNOWLEDGING:
            request["topic_partitions"] = fields["topic_partitions"]
        life, state = self._life, self.state
        self._is_in_flight = True
        self._due_ms = now_ms + self._interval_ms

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            if self._life != life:
                return
            self._is_in_flight = False
            if response is None:
                self._unanswered(node, error, now_ms)
            elif response.error_code != codes.NONE:
                self._refused(node, response, now_ms)
            else:
                self._told.update(fields)
                self._accepted(response, state, now_ms)

        has_pattern = "subscribed_topic_regex" in request
        self._outbox.append(
            BrokerRequest(
                apis.CONSUMER_GROUP_HEARTBEAT,
                lambda version: request,
                node,
                answered,
                min_version=FIRST_VERSION_WITH_PATTERNS if has_pattern else None,
            )
        )

    def _identity(self, epoch: int) -> dict[str, Any]:
        settings = self._settings
        return {
            "group_id": settings.group_id,
            "member_id": self.member_id,
            "member_epoch": epoch,
            "instance_id": settings.instance_id,
        }

    def _accepted(self, response: Message, asked_in: ConsumerState, now_ms: float) -> None:
        self._backoff.succeeded()
        self._interval_ms = float(response.heartbeat_interval_ms)
        self._due_ms = now_ms + self._interval_ms
        self.member_id = response.member_id or self.member_id
        self.member_epoch = response.member_epoch
        if response.assignment is not None:
            target = {bytes(t.topic_id): list(t.partitions) for t in response.assignment.topic_partitions}
            # Brokers before 4 repeat the assignment in response to each heartbeat with owned partitions.
            self._is_acknowledged = asked_in is ConsumerState.ACKNOWLEDGING and target == self._target
            self._target = target
            self._asked_metadata = None
        elif asked_in is ConsumerState.ACKNOWLEDGING:
            self._is_acknowledged = True
        if self.state is ConsumerState.JOINING or (
            self.state is ConsumerState.ACKNOWLEDGING and asked_in is ConsumerState.ACKNOWLEDGING
        ):
            self.state = ConsumerState.STABLE

    def _unanswered(self, node: Node, error: Exception | None, now_ms: float) -> None:
        if isinstance(error, UnsupportedByBroker):
            self._fail(error)
            return
        # The coordinator may have missed the heartbeat, so the next one has all fields.
        self._told.clear()
        self._lookup.lost(node)
        self._backoff.failed(now_ms)

    def _refused(self, node: Node, response: Message, now_ms: float) -> None:
        code = response.error_code
        self._told.clear()
        if code in codes.COORDINATOR_LOST:
            self._lookup.lost(node)
            self._backoff.failed(now_ms)
        elif code == codes.COORDINATOR_LOAD_IN_PROGRESS:
            self._backoff.failed(now_ms)
        elif code in (codes.UNKNOWN_MEMBER_ID, codes.FENCED_MEMBER_EPOCH):
            self._fenced()
        elif code == codes.FENCED_INSTANCE_ID:
            self._fail(FencedInstance(self._settings.group_id, self._settings.instance_id))
        else:
            error = broker_error(code, f"group {self._settings.group_id}", response.error_message)
            if code == codes.TOPIC_AUTHORIZATION_FAILED:
                self.error = error
                self._backoff.failed(now_ms)
            else:
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.error = error
        self.is_fatal = True
        self.member_epoch = JOIN_EPOCH
        self._subscriptions.await_revocation(self._subscriptions.assigned)

    # Joining and fencing

    def _join(self) -> None:
        self._life += 1
        self._is_in_flight = False
        self.member_epoch = JOIN_EPOCH
        self._told.clear()
        self._target = None
        self._reconciled = frozenset()
        self.state = ConsumerState.JOINING

    def _fenced(self) -> None:
        self._life += 1
        self._is_in_flight = False
        self.member_epoch = JOIN_EPOCH
        self._callbacks.clear()
        self.state = ConsumerState.FENCED
        self._lose_everything()

    def _lose_everything(self) -> None:
        """Report all partitions as lost, after the running callback (see callback_done). Without any, join again."""
        owned = self._subscriptions.assigned
        self._subscriptions.await_revocation(owned)
        if self._callbacks:
            return
        if owned:
            self._callbacks.revoke(owned, are_lost=True)
        else:
            self._join()

    def _leave_for_want_of_polls(self) -> None:
        self._leave()
        self._life += 1
        self._is_in_flight = False
        self.member_epoch = JOIN_EPOCH
        self._callbacks.clear()
        self.state = ConsumerState.STALE
        self._subscriptions.await_revocation(self._subscriptions.assigned)

    # Reconciliation

    def _reconcile(self) -> None:
        """Go from the owned partitions to the target assignment, as far as the names of its topics are known."""
        if self._target is None or self._callbacks:
            return
        wanted, is_complete = self._resolve(self._target)
        owned = set(self._subscriptions.assigned)
        if not is_complete:
            self._metadata.request_update()
        revoked = [p for p in self._subscriptions.assigned if p not in wanted]
        added = [partition for partition in wanted if partition not in owned]
        if not revoked and not added and (self._reconciled == frozenset(owned)):
            if not self._is_acknowledged:
                # The partitions to revoke may be gone already, with a deleted topic. The coordinator still waits for
                # the acknowledgement and assigns nothing else until then.
                self.state = ConsumerState.ACKNOWLEDGING
            return
        if not self._may_give_up(revoked):
            return
        self._topic_ids = {name: id for id in self._target if (name := self._metadata.topic_name(id)) is not None}
        self.state = ConsumerState.RECONCILING
        if revoked:
            self._callbacks.prepare()
            self._callbacks.revoke(revoked)
        self._callbacks.assign(added, wanted)

    def _may_give_up(self, revoked: list[TopicPartition]) -> bool:
        """Return whether the positions of these partitions belong to the topics that have their names now.

        A partition of a re-created topic is kept until its reset is finished. An offset of the old topic may have been
        committed to the new one, and the commit at the revocation corrects that.
        """
        doubtful = [partition for partition in revoked if self._is_doubtful(partition.topic)]
        if not doubtful:
            return True
        metadata = self._metadata
        if self._asked_metadata is None:
            self._asked_metadata = metadata.ask_anew()
        if not metadata.is_newer_than(self._asked_metadata):
            return False
        anew = [p for p in doubtful if metadata.topic_id(p.topic) not in (None, self._topic_ids.get(p.topic))]
        begun = [partition for partition in anew if metadata.leader_node(partition) is not None]
        if any(self._subscriptions.awaits_reset(partition) for partition in begun):
            return False
        for partition in doubtful:
            if metadata.is_gone(partition.topic) or (partition in anew and partition not in begun):
                self._subscriptions.lose_position(partition)
        return True

    def _is_doubtful(self, topic: str) -> bool:
        """Whether a name's former topic has no assigned partitions any more, or the name has another id now."""
        topic_id = self._topic_ids.get(topic)
        return topic_id not in (self._target or {}) or topic_id != self._metadata.topic_id(topic)

    def _resolve(self, target: dict[bytes, list[int]]) -> tuple[dict[TopicPartition, None], bool]:
        found: dict[TopicPartition, None] = {}
        is_complete = True
        for topic_id, numbers in target.items():
            name = self._metadata.topic_name(topic_id)
            if name is None:
                is_complete = False
                continue
            found.update(dict.fromkeys(TopicPartition(name, number) for number in numbers))
        return found, is_complete

    # Leaving

    def leave(self, reason: str, *, is_closing: bool = False) -> None:
        if not self.is_fatal and (self.member_epoch > 0 or self._is_in_flight):
            self._leave()
        self._life += 1
        self._is_in_flight = False
        self.member_epoch = JOIN_EPOCH
        self._target = None
        self._told.clear()
        self._reconciled = frozenset()
        self.state = ConsumerState.LEFT if is_closing else ConsumerState.UNSUBSCRIBED

    def _leave(self) -> None:
        if self._lookup.node is None:
            return
        epoch = LEAVE_EPOCH if self._settings.instance_id is None else STATIC_LEAVE_EPOCH
        request = self._identity(epoch)

        def answered(response: Message | None, error: Exception | None, now_ms: float) -> None:
            self.is_leaving = False

        self.is_leaving = True
        self._outbox.append(
            BrokerRequest(apis.CONSUMER_GROUP_HEARTBEAT, lambda version: request, self._lookup.node, answered)
        )
