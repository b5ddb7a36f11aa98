"""Callbacks of a rebalance, which the application runs on its own thread within `poll`.

The state machines of both protocols return them one at a time, in order, and continue after each. The listener of
`subscribe` is called for all kinds except PREPARE.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import TopicPartition


class CallbackKind(Enum):
    # Commit the positions if commits are automatic, because other members may continue from there.
    PREPARE = "prepare"
    REVOKED = "revoked"
    # Others own the partitions already, so nothing can be committed for them.
    LOST = "lost"
    ASSIGNED = "assigned"


class RebalanceCallback(NamedTuple):
    """`partitions` are added or removed. `assignment` is the whole assignment after an addition."""

    kind: CallbackKind
    partitions: tuple[TopicPartition, ...] = ()
    assignment: tuple[TopicPartition, ...] = ()


class CallbackQueue:
    """Callbacks in order, with their effects on the assignment before and after each runs."""

    def __init__(self, subscriptions: SubscriptionState) -> None:
        self._subscriptions = subscriptions
        self._waiting: deque[RebalanceCallback] = deque()
        self.running: RebalanceCallback | None = None

    def __bool__(self) -> bool:
        """Whether a callback waits or runs."""
        return bool(self._waiting) or self.running is not None

    def prepare(self) -> None:
        self._waiting.append(RebalanceCallback(CallbackKind.PREPARE))

    def revoke(self, partitions: Iterable[TopicPartition], *, are_lost: bool = False) -> None:
        """Queue a revocation. Nothing is read from these partitions from now on."""
        gone = tuple(partitions)
        self._subscriptions.await_revocation(gone)
        self._waiting.append(RebalanceCallback(CallbackKind.LOST if are_lost else CallbackKind.REVOKED, gone))

    def assign(self, added: Iterable[TopicPartition], assignment: Iterable[TopicPartition]) -> None:
        self._waiting.append(RebalanceCallback(CallbackKind.ASSIGNED, tuple(added), tuple(assignment)))

    def clear(self) -> None:
        """Drop the waiting callbacks, because the member left its generation. A running one still finishes."""
        self._waiting.clear()

    def next(self) -> RebalanceCallback | None:
        """Return the next callback for the application, which must report its end with `done`."""
        if self.running is not None or not self._waiting:
            return None
        callback = self.running = self._waiting.popleft()
        if callback.kind is CallbackKind.ASSIGNED:
            self._subscriptions.assign_from_group(callback.assignment, callback.partitions)
        return callback

    def done(self, callback: RebalanceCallback) -> None:
        """Finish a callback. Its partitions are revoked even if the member has left its generation meanwhile."""
        self.running = None
        if callback.kind in (CallbackKind.REVOKED, CallbackKind.LOST) and self._subscriptions.is_auto_assigned:
            gone = set(callback.partitions)
            self._subscriptions.assign_from_group([p for p in self._subscriptions.assigned if p not in gone])
        elif callback.kind is CallbackKind.ASSIGNED:
            self._subscriptions.callback_done(callback.partitions)


class RebalanceListener:
    """Called when partitions are assigned and revoked. Override what you need (Kafka's ConsumerRebalanceListener).

    The methods run on the thread that calls `poll`, `unsubscribe` or `close`. They may use positions and commit.
    """

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """Called after every rebalance with the partitions that are newly assigned, possibly none."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """Called before partitions are given to other members. This is the last chance to commit their offsets."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """Called for partitions that other members may own already. Default: on_partitions_revoked."""
        self.on_partitions_revoked(partitions)
