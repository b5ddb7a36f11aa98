"""Passes the assignment to the Fetcher: which partitions to read, from which offset and from which broker.

SubscriptionState decides, and the Fetcher knows the reader's progress. `pull` takes over its positions, `push` passes
changes to it, and `take_events` handles what it cannot decide. Called under the consumer's lock.
"""

from __future__ import annotations

from kcore.client.config.auto_offset_reset import NONE
from kcore.client.consumer import codes
from kcore.client.consumer.consumer_errors import LogTruncated, OffsetOutOfRange
from kcore.client.consumer.fetch_event import EventKind
from kcore.client.consumer.positions import NO_EPOCH, NO_LEADER, FetchPosition, LeaderAndEpoch, OffsetAndMetadata
from kcore.client.errors import broker_error
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import by_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.client.consumer.consumer_metadata import ConsumerMetadata
    from kcore.client.consumer.fetch_event import FetchEvent
    from kcore.client.consumer.fetcher import Fetcher
    from kcore.client.consumer.subscription_state import SubscriptionState
    from kcore.client.metadata.cluster import Node

NOBODY = -1


class Handed:
    """What the Fetcher has received for a partition."""

    __slots__ = ("is_paused", "leader", "seeks")

    def __init__(self, seeks: int) -> None:
        self.seeks = seeks
        self.is_paused = False
        self.leader: tuple[int, int] = (NOBODY, NO_EPOCH)


class FetchAssignment:
    """`error` is an error for the application."""

    def __init__(
        self,
        fetcher: Fetcher,
        subscriptions: SubscriptionState,
        metadata: ConsumerMetadata,
        slot_of: Callable[[Node], int],
        read_replica_lease_ms: float,
    ) -> None:
        self._fetcher = fetcher
        self._subscriptions = subscriptions
        self._metadata = metadata
        self._slot_of = slot_of
        self._lease_ms = read_replica_lease_ms
        self._handed: dict[TopicPartition, Handed] = {}
        self.error: Exception | None = None

    def pull(self) -> None:
        """Take over the reader's positions."""
        for (topic, number), (offset, epoch) in self._fetcher.positions().items():
            partition = TopicPartition(topic, number)
            handed = self._handed.get(partition)
            # If the position was moved in between, the Fetcher's is outdated.
            if handed is not None and handed.seeks == self._subscriptions.seeks(partition):
                self._subscriptions.consumed(partition, FetchPosition(offset, NO_EPOCH if epoch is None else epoch))

    def push(self) -> None:
        """Pass assignments, seeks, leaders and pauses to the Fetcher."""
        wanted = self._subscriptions.readable
        for partition in [partition for partition in self._handed if partition not in wanted]:
            del self._handed[partition]
            self._fetcher.unassign(partition)
        for partition, position in wanted.items():
            seeks = self._subscriptions.seeks(partition)
            handed = self._handed.get(partition)
            if handed is None:
                handed = self._handed[partition] = Handed(seeks)
                topic_id = self._metadata.topic_id(partition.topic)
                self._fetcher.assign(partition, topic_id, position.offset, position.offset_epoch)
            elif handed.seeks != seeks:
                handed.seeks = seeks
                self._fetcher.seek(partition, position.offset, position.offset_epoch)
            self._push_leader(partition, handed)
            is_paused = self._subscriptions.is_paused(partition)
            if is_paused != handed.is_paused:
                handed.is_paused = is_paused
                (self._fetcher.pause if is_paused else self._fetcher.resume)(partition)

    def _push_leader(self, partition: TopicPartition, handed: Handed) -> None:
        node = self._metadata.leader_node(partition)
        if node is None:
            self._metadata.request_update()
        leader = (NOBODY if node is None else self._slot_of(node), self._metadata.leader(partition).epoch)
        if leader != handed.leader:
            handed.leader = leader
            self._fetcher.set_leader(partition, *leader)

    def forget_topic_ids(self, topics: frozenset[str]) -> None:
        """Reset the partitions of re-created topics."""
        for partition in self._subscriptions.assigned:
            if partition.topic in topics:
                if partition in self._handed:
                    del self._handed[partition]
                    self._fetcher.unassign(partition)
                if self._subscriptions.default_reset.kind == NONE:
                    self._subscriptions.lose_position(partition)
                    self._subscriptions.fail([partition], OffsetOutOfRange({partition: 0}))
                else:
                    self._subscriptions.request_reset(partition)

    # Events

    def take_events(self) -> None:
        for event in self._fetcher.take_events():
            if event.partition is None:
                self._metadata.request_update()
            else:
                self._take_event(TopicPartition(*event.partition), event)

    def _take_event(self, partition: TopicPartition, event: FetchEvent) -> None:
        if partition not in self._handed:
            return
        has_strategy = self._subscriptions.default_reset.kind != NONE
        if event.kind is EventKind.OUT_OF_RANGE:
            if has_strategy:
                self._subscriptions.request_reset(partition)
            else:
                self._subscriptions.fail([partition], OffsetOutOfRange({partition: event.offset}))
        elif event.kind is EventKind.DIVERGED:
            self._diverged(partition, event, has_strategy)
        elif event.kind is EventKind.PREFERRED_REPLICA:
            node = self._metadata.metadata.cluster.nodes.get(event.preferred_read_replica)
            if node is not None:
                self._fetcher.set_read_replica(partition, self._slot_of(node), self._lease_ms)
        else:
            self._metadata.request_update()
            if event.leader_id != NO_LEADER:
                self._metadata.metadata.suggest_leader(*partition, event.leader_id, event.leader_epoch)
            is_final = event.kind is EventKind.FAILED and not by_code(event.error_code).retriable
            if is_final and event.error_code != codes.NONE:
                self.error = broker_error(event.error_code, f"partition {partition}")

    def _diverged(self, partition: TopicPartition, event: FetchEvent, has_strategy: bool) -> None:
        end = OffsetAndMetadata(event.diverging_end_offset, "", event.diverging_epoch)
        if has_strategy:
            leader = LeaderAndEpoch()
            self._subscriptions.seek(partition, FetchPosition(max(0, end.offset), end.leader_epoch, leader))
        else:
            self._subscriptions.fail([partition], LogTruncated({partition: event.offset}, {partition: end}))
