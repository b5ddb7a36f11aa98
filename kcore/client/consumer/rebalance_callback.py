"""What a rebalance has the application do, on its own thread, from within `poll`.

The state machines of both protocols hand these out one at a time, in order, and go on once one is done. The listener
of `subscribe` is called for those that have partitions.
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
    # Commit what was read, where that is automatic: somebody else may be about to go on from there.
    PREPARE = "prepare"
    REVOKED = "revoked"
    # They are another's already: nothing can be committed for them any more.
    LOST = "lost"
    ASSIGNED = "assigned"


class RebalanceCallback(NamedTuple):
    """`partitions` come or go; `assignment` is all that there is once those have come."""

    kind: CallbackKind
    partitions: tuple[TopicPartition, ...] = ()
    assignment: tuple[TopicPartition, ...] = ()


class CallbackQueue:
    """Callbacks in their order, and what each does to the assignment: before it runs, and after."""

    def __init__(self, subscriptions: SubscriptionState) -> None:
        self._subscriptions = subscriptions
        self._waiting: deque[RebalanceCallback] = deque()
        self.running: RebalanceCallback | None = None

    def __bool__(self) -> bool:
        """Whether there is one that waits or runs."""
        return bool(self._waiting) or self.running is not None

    def prepare(self) -> None:
        self._waiting.append(RebalanceCallback(CallbackKind.PREPARE))

    def revoke(self, partitions: Iterable[TopicPartition], *, are_lost: bool = False) -> None:
        """From now on nothing is read of them."""
        gone = tuple(partitions)
        self._subscriptions.await_revocation(gone)
        self._waiting.append(RebalanceCallback(CallbackKind.LOST if are_lost else CallbackKind.REVOKED, gone))

    def assign(self, added: Iterable[TopicPartition], assignment: Iterable[TopicPartition]) -> None:
        self._waiting.append(RebalanceCallback(CallbackKind.ASSIGNED, tuple(added), tuple(assignment)))

    def clear(self) -> None:
        """The group went on without this member. What runs is carried to its end."""
        self._waiting.clear()

    def next(self) -> RebalanceCallback | None:
        """What the application has to do next; it says so with `done`."""
        if self.running is not None or not self._waiting:
            return None
        callback = self.running = self._waiting.popleft()
        if callback.kind is CallbackKind.ASSIGNED:
            self._subscriptions.assign_from_group(callback.assignment, callback.partitions)
        return callback

    def done(self, callback: RebalanceCallback) -> None:
        """Counts even if the group went on without this member meanwhile: what was given up stays so."""
        self.running = None
        if callback.kind in (CallbackKind.REVOKED, CallbackKind.LOST) and self._subscriptions.is_auto_assigned:
            gone = set(callback.partitions)
            self._subscriptions.assign_from_group([p for p in self._subscriptions.assigned if p not in gone])
        elif callback.kind is CallbackKind.ASSIGNED:
            self._subscriptions.callback_done(callback.partitions)


class RebalanceListener:
    """What to do as partitions come and go; override what matters (Kafka's ConsumerRebalanceListener).

    Called by `poll`, `unsubscribe` and `close`, on the thread that calls these; positions and commits may be used.
    """

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """Partitions that are read from now on: those that were not before. After every rebalance, even if none."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """Partitions that go to others once this returns: the last moment to commit their offsets."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """Partitions that others may have already; as revoked ones, unless overridden."""
        self.on_partitions_revoked(partitions)
