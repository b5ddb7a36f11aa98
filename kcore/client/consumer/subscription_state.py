"""Subscribed, assigned and paused partitions, and the position of each partition (Kafka's SubscriptionState).

An assigned partition goes through these states. Records are read only in the last one:

    INITIALIZING -> AWAIT_RESET -> AWAIT_VALIDATION <-> FETCHING

INITIALIZING has no position yet: the committed offset is looked up, otherwise the reset strategy applies. AWAIT_RESET
waits for ListOffsets. AWAIT_VALIDATION waits for OffsetsForLeaderEpoch, which shows whether the current leader's log
still contains the records that were read (KIP-320). It is entered whenever the leader changes.

An error of a position is stored as the failure of its partition. It is reported once. It is not reported if the
partition gets another position, or is no longer assigned, before that. No I/O and no lock: callers that share it
between threads hold a lock.
"""

from __future__ import annotations

from enum import Enum
from itertools import count

from kcore.client.config.auto_offset_reset import NONE
from kcore.client.consumer.broker_request import NEVER_MS
from kcore.client.consumer.consumer_errors import IllegalState, NoOffsetForPartition
from kcore.client.consumer.offset_reset import TO_LATEST
from kcore.client.consumer.positions import (
    NO_EPOCH,
    NO_LEADER,
    FetchPosition,
    LeaderAndEpoch,
    OffsetAndMetadata,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from re import Pattern

    from kcore.client.config.auto_offset_reset import ResetStrategy
    from kcore.client.consumer.positions import EpochEnd
    from kcore.client.metadata.cluster import TopicPartition

EXCLUSIVE = (
    "Subscription to topics, partitions and pattern are mutually exclusive: call unsubscribe() before another kind"
)


_SEEKS = count(1)


class SubscriptionType(Enum):
    NONE = "none"
    TOPICS = "topics"
    PATTERN = "pattern"
    # A pattern in RE2 syntax that the broker matches (KIP-848).
    BROKER_PATTERN = "broker pattern"
    ASSIGNED = "assigned"


AUTO_ASSIGNED = frozenset({SubscriptionType.TOPICS, SubscriptionType.PATTERN, SubscriptionType.BROKER_PATTERN})


class FetchState(Enum):
    INITIALIZING = "initializing"
    AWAIT_RESET = "await reset"
    AWAIT_VALIDATION = "await validation"
    FETCHING = "fetching"


class Truncation(Enum):
    """Result of a validation."""

    NONE = "none"
    RESET = "reset"
    UNRESOLVED = "unresolved"


class PartitionState:
    """One assigned partition."""

    __slots__ = (
        "failure",
        "is_paused",
        "is_pending_assignment",
        "is_pending_revocation",
        "position",
        "reset",
        "retry_ms",
        "seeks",
        "state",
    )

    def __init__(self) -> None:
        self.state = FetchState.INITIALIZING
        self.position: FetchPosition | None = None
        self.reset: ResetStrategy | None = None
        self.failure: Exception | None = None
        self.is_paused = False
        # Nothing is read between the decision of a rebalance and the listener's callback.
        self.is_pending_revocation = False
        self.is_pending_assignment = False
        self.retry_ms = 0.0
        # Increases whenever the position changes other than by reading on.
        self.seeks = next(_SEEKS)

    @property
    def is_readable(self) -> bool:
        is_pending = self.is_pending_revocation or self.is_pending_assignment
        return self.state is FetchState.FETCHING and not is_pending

    @property
    def is_fetchable(self) -> bool:
        return self.is_readable and not self.is_paused

    @property
    def has_question(self) -> bool:
        """Whether a request to the partition's leader is needed."""
        return self.state is FetchState.AWAIT_VALIDATION or (
            self.state is FetchState.AWAIT_RESET and self.reset is not None
        )

    def seek(self, position: FetchPosition) -> None:
        """Read from here without a request. `validate` may follow."""
        self.seeks = next(_SEEKS)
        self.state = FetchState.FETCHING
        self.position = position
        self.reset = None
        self.failure = None
        self.retry_ms = 0.0

    def await_reset(self, strategy: ResetStrategy | None) -> None:
        """Wait for a reset. Without a strategy there is no position until a `seek`."""
        self.state = FetchState.AWAIT_RESET
        self.position = None
        self.reset = strategy
        self.failure = None
        self.retry_ms = 0.0

    def validate(self, position: FetchPosition) -> None:
        """Set the position. It is validated only if its epoch and the leader's epoch are known."""
        can_be_checked = position.offset_epoch != NO_EPOCH and position.current_leader.epoch != NO_EPOCH
        self.state = FetchState.AWAIT_VALIDATION if can_be_checked else FetchState.FETCHING
        self.position = position
        self.retry_ms = 0.0


class SubscriptionState:
    def __init__(self, default_reset: ResetStrategy) -> None:
        self.default_reset = default_reset
        self.type = SubscriptionType.NONE
        # The topics of this consumer; with a pattern, those that match it now.
        self.topics: frozenset[str] = frozenset()
        self.pattern: Pattern[str] | None = None
        self.broker_pattern: str | None = None
        # While this member leads the group: the topics of all members.
        self.group_topics: frozenset[str] = frozenset()
        # Changes with every assignment, to recognise data that was fetched for an earlier one.
        self.assignment_id = 0
        self._partitions: dict[TopicPartition, PartitionState] = {}
        # Whether `take_failure` may find something. Avoids a search of all partitions at every poll.
        self.has_failure = False

    # Subscriptions

    def _become(self, kind: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, kind):
            raise IllegalState(EXCLUSIVE)
        self.type = kind

    def subscribe(self, topics: Iterable[str]) -> bool:
        """Subscribe to topics. Returns whether they differ from the previous ones."""
        self._become(SubscriptionType.TOPICS)
        return self._change_topics(frozenset(topics))

    def subscribe_pattern(self, pattern: Pattern[str]) -> None:
        self._become(SubscriptionType.PATTERN)
        self.pattern = pattern

    def subscribe_broker_pattern(self, pattern: str) -> bool:
        self._become(SubscriptionType.BROKER_PATTERN)
        changed = pattern != self.broker_pattern
        self.broker_pattern = pattern
        return changed

    def match_pattern(self, topics: Iterable[str]) -> bool:
        """Subscribe to the topics whose whole names match the client-side pattern. Returns whether they changed."""
        if self.type is not SubscriptionType.PATTERN or self.pattern is None:
            return False
        return self._change_topics(frozenset(topic for topic in topics if self.pattern.fullmatch(topic)))

    def _change_topics(self, topics: frozenset[str]) -> bool:
        changed = topics != self.topics
        self.topics = topics
        return changed

    def group_subscribe(self, topics: Iterable[str]) -> bool:
        """Set the topics of the whole group, as its leader. Returns whether they exceed this member's own topics."""
        self.group_topics = frozenset(topics)
        return not self.group_topics <= self.topics

    def unsubscribe(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics = self.group_topics = frozenset()
        self.pattern = self.broker_pattern = None
        self._partitions = {}
        self.assignment_id += 1

    @property
    def is_auto_assigned(self) -> bool:
        """Whether the group assigns the partitions."""
        return self.type in AUTO_ASSIGNED

    @property
    def metadata_topics(self) -> frozenset[str]:
        return self.topics | self.group_topics | {partition.topic for partition in self._partitions}

    # Assignments

    def assign(self, partitions: Iterable[TopicPartition]) -> bool:
        """Assign exactly these partitions. Those already assigned keep their positions. Returns whether that changes
        anything.
        """
        self._become(SubscriptionType.ASSIGNED)
        wanted = list(dict.fromkeys(partitions))
        if wanted == list(self._partitions):
            return False
        self._set_partitions(wanted)
        return self._change_topics(frozenset(partition.topic for partition in wanted)) or True

    def assign_from_group(
        self, partitions: Iterable[TopicPartition], awaiting_callback: Iterable[TopicPartition] = ()
    ) -> None:
        """Set the group's assignment. Partitions that await the listener's callback are not read yet."""
        if not self.is_auto_assigned:
            raise IllegalState("the group assigned partitions to a consumer without a subscription")
        self._set_partitions(dict.fromkeys(partitions))
        for partition in awaiting_callback:
            if partition in self._partitions:
                self._partitions[partition].is_pending_assignment = True

    def _set_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        self._partitions = {partition: self._partitions.get(partition) or PartitionState() for partition in partitions}
        self.assignment_id += 1

    def callback_done(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            if partition in self._partitions:
                self._partitions[partition].is_pending_assignment = False

    def await_revocation(self, partitions: Iterable[TopicPartition], is_pending: bool = True) -> None:
        """Stop reading partitions until they are revoked. `is_pending=False` cancels that."""
        for partition in partitions:
            if partition in self._partitions:
                self._partitions[partition].is_pending_revocation = is_pending

    @property
    def assigned(self) -> list[TopicPartition]:
        return list(self._partitions)

    def is_assigned(self, partition: TopicPartition) -> bool:
        return partition in self._partitions

    def _state(self, partition: TopicPartition) -> PartitionState:
        state = self._partitions.get(partition)
        if state is None:
            raise IllegalState(f"No current assignment for partition {partition}. Assign it, or subscribe to its topic")
        return state

    # Paused partitions

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        for state in [self._state(partition) for partition in partitions]:
            state.is_paused = True

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        for state in [self._state(partition) for partition in partitions]:
            state.is_paused = False

    @property
    def paused(self) -> list[TopicPartition]:
        return [partition for partition, state in self._partitions.items() if state.is_paused]

    @property
    def fetchable(self) -> dict[TopicPartition, FetchPosition]:
        return {
            partition: state.position
            for partition, state in self._partitions.items()
            if state.is_fetchable and state.position is not None
        }

    @property
    def readable(self) -> dict[TopicPartition, FetchPosition]:
        """The positions of all partitions that can be read, also of paused ones."""
        return {
            partition: state.position
            for partition, state in self._partitions.items()
            if state.is_readable and state.position is not None
        }

    def is_paused(self, partition: TopicPartition) -> bool:
        state = self._partitions.get(partition)
        return state is not None and state.is_paused

    def seeks(self, partition: TopicPartition) -> int:
        """Return a number that changes whenever the position changes other than by reading on."""
        state = self._partitions.get(partition)
        return state.seeks if state is not None else 0

    # Positions

    def seek(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Set the next offset to read. It is validated with the leader if it has an epoch."""
        state = self._state(partition)
        state.seek(position)
        state.validate(position)

    def consumed(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Records up to `position` were returned to the application. Ignored unless the partition is being read."""
        state = self._partitions.get(partition)
        if state is not None and state.state is FetchState.FETCHING and state.position is not None:
            state.position = position._replace(current_leader=state.position.current_leader)

    def position(self, partition: TopicPartition) -> FetchPosition | None:
        """Return the position; None while there is none to read from."""
        state = self._state(partition)
        return state.position if state.state is FetchState.FETCHING else None

    @property
    def has_all_positions(self) -> bool:
        return all(state.state is FetchState.FETCHING for state in self._partitions.values())

    @property
    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets to commit: all positions that records are read from."""
        return {
            partition: OffsetAndMetadata(state.position.offset, "", state.position.offset_epoch)
            for partition, state in self._partitions.items()
            if state.position is not None and state.state is FetchState.FETCHING
        }

    def initializing(self) -> list[TopicPartition]:
        """Return the partitions whose committed offset must be looked up.

        Partitions with a failure are left out until the application has received it.
        """
        return [
            partition
            for partition, state in self._partitions.items()
            if state.state is FetchState.INITIALIZING and not state.is_pending_assignment and state.failure is None
        ]

    def start_at_committed(
        self,
        committed: Mapping[TopicPartition, OffsetAndMetadata | None],
        leaders: Mapping[TopicPartition, LeaderAndEpoch],
    ) -> None:
        """Start waiting partitions at their committed offsets, or reset those without one.

        A partition without a committed offset and without a reset strategy fails with NoOffsetForPartition.
        """
        for partition, found in committed.items():
            state = self._partitions.get(partition)
            if state is None or state.state is not FetchState.INITIALIZING:
                continue
            if found is not None:
                leader = leaders.get(partition, LeaderAndEpoch())
                self.seek(partition, FetchPosition(found.offset, found.leader_epoch, leader))
            elif self.default_reset.kind == NONE:
                self.fail([partition], NoOffsetForPartition([partition]))
            else:
                state.await_reset(self.default_reset)

    def lose_position(self, partition: TopicPartition) -> None:
        """Drop a position whose log no longer exists. Nothing is committed or read before a `seek`."""
        state = self._partitions.get(partition)
        if state is not None:
            state.await_reset(None)

    # Failures

    def fail(self, partitions: Iterable[TopicPartition], failure: Exception) -> None:
        """Store a failure for the application. It is dropped if the partition gets another position first."""
        for partition in partitions:
            state = self._partitions.get(partition)
            if state is not None:
                state.failure = failure
                self.has_failure = True

    def take_failure(self) -> Exception | None:
        """Return one failure for all partitions that have it, and clear it there. None if there is none."""
        failed = {p: state for p, state in self._partitions.items() if state.failure is not None}
        if not failed:
            self.has_failure = False
            return None
        without_offset = [p for p, state in failed.items() if isinstance(state.failure, NoOffsetForPartition)]
        told = NoOffsetForPartition(without_offset) if without_offset else next(iter(failed.values())).failure
        for partition, state in failed.items():
            if partition in without_offset or state.failure is told:
                state.failure = None
        return told

    # Resets

    def request_reset(self, partition: TopicPartition, strategy: ResetStrategy | None = None) -> None:
        self._state(partition).await_reset(strategy or self.default_reset)

    def awaits_reset(self, partition: TopicPartition) -> bool:
        """Return whether a reset waits for its offset."""
        state = self._partitions.get(partition)
        return state is not None and state.state is FetchState.AWAIT_RESET and state.reset is not None

    def needing_reset(self, now_ms: float) -> dict[TopicPartition, ResetStrategy]:
        return {
            partition: state.reset
            for partition, state in self._partitions.items()
            if state.state is FetchState.AWAIT_RESET and state.reset is not None and state.retry_ms <= now_ms
        }

    def finish_reset(self, partition: TopicPartition, strategy: ResetStrategy, position: FetchPosition) -> bool:
        """Apply the response to a reset. Ignored if the partition no longer waits for this reset."""
        state = self._partitions.get(partition)
        if state is None or state.state is not FetchState.AWAIT_RESET or state.reset != strategy:
            return False
        state.seek(position)
        return True

    def finish_reset_at_end(self, partition: TopicPartition, strategy: ResetStrategy) -> None:
        """No record is as recent as the reset requires: reset to the end of the log instead."""
        state = self._partitions.get(partition)
        if state is not None and state.state is FetchState.AWAIT_RESET and state.reset == strategy:
            state.await_reset(TO_LATEST)

    # Validation

    def note_leader(self, partition: TopicPartition, leader: LeaderAndEpoch, *, can_validate: bool = True) -> None:
        """Set the partition's leader. If it or its epoch is new, the position must be validated (KIP-320)."""
        state = self._partitions.get(partition)
        if state is None or state.position is None or leader.leader == NO_LEADER:
            return
        known = state.position.current_leader
        if leader == known or leader.epoch < known.epoch:
            return
        position = state.position._replace(current_leader=leader)
        if can_validate:
            state.validate(position)
        else:
            state.state, state.position = FetchState.FETCHING, position

    def needing_validation(self, now_ms: float) -> dict[TopicPartition, FetchPosition]:
        return {
            partition: state.position
            for partition, state in self._partitions.items()
            if state.state is FetchState.AWAIT_VALIDATION and state.position is not None and state.retry_ms <= now_ms
        }

    def finish_validation(self, partition: TopicPartition, asked: FetchPosition, end: EpochEnd) -> Truncation:
        """Apply the leader's response about the position `asked`. Ignored if the position has changed since."""
        state = self._partitions.get(partition)
        if state is None or state.state is not FetchState.AWAIT_VALIDATION or state.position != asked:
            return Truncation.NONE
        is_known = end.end_offset >= 0 and end.leader_epoch != NO_EPOCH
        if is_known and end.end_offset >= asked.offset:
            state.state = FetchState.FETCHING
            return Truncation.NONE
        if self.default_reset.kind == NONE:
            return Truncation.UNRESOLVED
        if is_known:
            state.seek(FetchPosition(end.end_offset, end.leader_epoch, asked.current_leader))
        else:
            state.await_reset(self.default_reset)
        return Truncation.RESET

    # Retries

    def retry_at(self, partitions: Iterable[TopicPartition], retry_ms: float) -> None:
        """Retry a failed reset or validation at this time."""
        for partition in partitions:
            state = self._partitions.get(partition)
            if state is not None:
                state.retry_ms = retry_ms

    def wake_ms(self, asked: Container[TopicPartition] = ()) -> float:
        """Return when the next reset or validation is due, except those of `asked`, which are in flight."""
        waiting = [state for p, state in self._partitions.items() if state.has_question and p not in asked]
        return min((state.retry_ms for state in waiting), default=NEVER_MS)
