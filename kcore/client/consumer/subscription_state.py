"""What is subscribed, assigned and paused, and where each partition stands (Kafka's SubscriptionState).

A partition that is assigned goes through these states; records are read in the last one only:

    INITIALIZING -> AWAIT_RESET -> AWAIT_VALIDATION <-> FETCHING

INITIALIZING has no position yet: the group's committed offset is looked up, or the reset strategy counts. AWAIT_RESET
waits for ListOffsets. AWAIT_VALIDATION waits for OffsetsForLeaderEpoch, which says whether the log that the present
leader has still contains what was read (KIP-320); it is entered whenever the leader changes.

What goes wrong with a position is a failure of its partition: it is told once, and not at all when the partition has
been given another position, or has gone, before it could be told. No I/O, no lock: whoever shares it between threads
holds one.
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
    # A pattern that the broker matches (KIP-848), in RE2's syntax.
    BROKER_PATTERN = "broker pattern"
    ASSIGNED = "assigned"


AUTO_ASSIGNED = frozenset({SubscriptionType.TOPICS, SubscriptionType.PATTERN, SubscriptionType.BROKER_PATTERN})


class FetchState(Enum):
    INITIALIZING = "initializing"
    AWAIT_RESET = "await reset"
    AWAIT_VALIDATION = "await validation"
    FETCHING = "fetching"


class Truncation(Enum):
    """What came of a validation."""

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
        # Between the decision of a rebalance and the listener's answer nothing is read.
        self.is_pending_revocation = False
        self.is_pending_assignment = False
        self.retry_ms = 0.0
        # Grows with every position that does not come from reading on.
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
        """Whether there is something to ask the partition's leader."""
        return self.state is FetchState.AWAIT_VALIDATION or (
            self.state is FetchState.AWAIT_RESET and self.reset is not None
        )

    def seek(self, position: FetchPosition) -> None:
        """Reads from here without asking; `validate` may follow."""
        self.seeks = next(_SEEKS)
        self.state = FetchState.FETCHING
        self.position = position
        self.reset = None
        self.failure = None
        self.retry_ms = 0.0

    def await_reset(self, strategy: ResetStrategy | None) -> None:
        """Without a strategy there is no position until a `seek`."""
        self.state = FetchState.AWAIT_RESET
        self.position = None
        self.reset = strategy
        self.failure = None
        self.retry_ms = 0.0

    def validate(self, position: FetchPosition) -> None:
        """Only epochs on both sides can be compared."""
        can_be_checked = position.offset_epoch != NO_EPOCH and position.current_leader.epoch != NO_EPOCH
        self.state = FetchState.AWAIT_VALIDATION if can_be_checked else FetchState.FETCHING
        self.position = position
        self.retry_ms = 0.0


class SubscriptionState:
    def __init__(self, default_reset: ResetStrategy) -> None:
        self.default_reset = default_reset
        self.type = SubscriptionType.NONE
        # What this consumer wants; with a pattern, the topics that match it now.
        self.topics: frozenset[str] = frozenset()
        self.pattern: Pattern[str] | None = None
        self.broker_pattern: str | None = None
        # What any member of the group wants, while this one leads it.
        self.group_topics: frozenset[str] = frozenset()
        # Changes with every assignment, so that what was fetched for an older one can be told apart.
        self.assignment_id = 0
        self._partitions: dict[TopicPartition, PartitionState] = {}
        # Whether `take_failure` may find something: asked with every poll, however many partitions there are.
        self.has_failure = False

    # What is wanted

    def _become(self, kind: SubscriptionType) -> None:
        if self.type not in (SubscriptionType.NONE, kind):
            raise IllegalState(EXCLUSIVE)
        self.type = kind

    def subscribe(self, topics: Iterable[str]) -> bool:
        """Whether that is another set of topics than before."""
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
        """With a pattern of ours: subscribes to those of the cluster's topics that it matches as a whole."""
        if self.type is not SubscriptionType.PATTERN or self.pattern is None:
            return False
        return self._change_topics(frozenset(topic for topic in topics if self.pattern.fullmatch(topic)))

    def _change_topics(self, topics: frozenset[str]) -> bool:
        changed = topics != self.topics
        self.topics = topics
        return changed

    def group_subscribe(self, topics: Iterable[str]) -> bool:
        """As the leader: what the whole group wants; whether that is more than is known of by this member's own."""
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
        """Whether the group says which partitions are read."""
        return self.type in AUTO_ASSIGNED

    @property
    def metadata_topics(self) -> frozenset[str]:
        return self.topics | self.group_topics | {partition.topic for partition in self._partitions}

    # What is assigned

    def assign(self, partitions: Iterable[TopicPartition]) -> bool:
        """By the user: these and no others. Those that stay keep their positions. Whether anything changed."""
        self._become(SubscriptionType.ASSIGNED)
        wanted = list(dict.fromkeys(partitions))
        if wanted == list(self._partitions):
            return False
        self._set_partitions(wanted)
        return self._change_topics(frozenset(partition.topic for partition in wanted)) or True

    def assign_from_group(
        self, partitions: Iterable[TopicPartition], awaiting_callback: Iterable[TopicPartition] = ()
    ) -> None:
        """By the group. Nothing is read of partitions that await the listener's callback."""
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
        """From now on nothing is read of them, until they are gone, or kept after all."""
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
        """What there is to fetch from where, paused partitions too."""
        return {
            partition: state.position
            for partition, state in self._partitions.items()
            if state.is_readable and state.position is not None
        }

    def is_paused(self, partition: TopicPartition) -> bool:
        state = self._partitions.get(partition)
        return state is not None and state.is_paused

    def seeks(self, partition: TopicPartition) -> int:
        """Another number whenever the position has become another than by reading on."""
        state = self._partitions.get(partition)
        return state.seeks if state is not None else 0

    # Positions

    def seek(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Where to read next, whatever was before; checked with the leader when it has an epoch."""
        state = self._state(partition)
        state.seek(position)
        state.validate(position)

    def consumed(self, partition: TopicPartition, position: FetchPosition) -> None:
        """Records up to `position` were handed out; passed over where somebody has moved it meanwhile."""
        state = self._partitions.get(partition)
        if state is not None and state.state is FetchState.FETCHING and state.position is not None:
            state.position = position._replace(current_leader=state.position.current_leader)

    def position(self, partition: TopicPartition) -> FetchPosition | None:
        """None while there is none that can be read from."""
        state = self._state(partition)
        return state.position if state.state is FetchState.FETCHING else None

    @property
    def has_all_positions(self) -> bool:
        return all(state.state is FetchState.FETCHING for state in self._partitions.values())

    @property
    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What there is to commit: everything that has a position."""
        return {
            partition: OffsetAndMetadata(state.position.offset, "", state.position.offset_epoch)
            for partition, state in self._partitions.items()
            if state.position is not None and state.state is FetchState.FETCHING
        }

    def initializing(self) -> list[TopicPartition]:
        """Partitions whose committed offset is to be looked up: not again before the application knows why in vain."""
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
        """Partitions that wait for it begin at the group's offset; those without one are reset.

        NoOffsetForPartition is the failure of those that have neither an offset nor a strategy.
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
        """What the position was of is no more: there is nothing to commit, and nothing to read before a `seek`."""
        state = self._partitions.get(partition)
        if state is not None:
            state.await_reset(None)

    # Failures

    def fail(self, partitions: Iterable[TopicPartition], failure: Exception) -> None:
        """What the application has to hear, if these are still where they are now when it asks."""
        for partition in partitions:
            state = self._partitions.get(partition)
            if state is not None:
                state.failure = failure
                self.has_failure = True

    def take_failure(self) -> Exception | None:
        """One failure, of all the partitions that have it; it is not told again."""
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
        """Whether the offset of a reset is yet to come."""
        state = self._partitions.get(partition)
        return state is not None and state.state is FetchState.AWAIT_RESET and state.reset is not None

    def needing_reset(self, now_ms: float) -> dict[TopicPartition, ResetStrategy]:
        return {
            partition: state.reset
            for partition, state in self._partitions.items()
            if state.state is FetchState.AWAIT_RESET and state.reset is not None and state.retry_ms <= now_ms
        }

    def finish_reset(self, partition: TopicPartition, strategy: ResetStrategy, position: FetchPosition) -> bool:
        """An answer to a reset; passed over when it is no longer that reset that is awaited."""
        state = self._partitions.get(partition)
        if state is None or state.state is not FetchState.AWAIT_RESET or state.reset != strategy:
            return False
        state.seek(position)
        return True

    def finish_reset_at_end(self, partition: TopicPartition, strategy: ResetStrategy) -> None:
        """Nothing is as young as the reset wanted it: the end of the log it is, then."""
        state = self._partitions.get(partition)
        if state is not None and state.state is FetchState.AWAIT_RESET and state.reset == strategy:
            state.await_reset(TO_LATEST)

    # Validation

    def note_leader(self, partition: TopicPartition, leader: LeaderAndEpoch, *, can_validate: bool = True) -> None:
        """The leader is another one, or has another epoch: the position has to be checked with it (KIP-320)."""
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
        """What the leader says of `asked`; passed over if the position is another by now."""
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
        """A reset or validation failed; it is tried again then."""
        for partition in partitions:
            state = self._partitions.get(partition)
            if state is not None:
                state.retry_ms = retry_ms

    def wake_ms(self, asked: Container[TopicPartition] = ()) -> float:
        """When a reset or validation is due that is not among those asked for already."""
        waiting = [state for p, state in self._partitions.items() if state.has_question and p not in asked]
        return min((state.retry_ms for state in waiting), default=NEVER_MS)
