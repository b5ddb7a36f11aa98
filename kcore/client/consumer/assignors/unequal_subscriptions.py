"""Sticky assignment if members subscribe to different topics: as balanced as single moves can make it.

Members keep the partitions that they own and may still have. An unassigned partition goes to the subscriber with the
fewest partitions. Then partitions move, one at a time, from a member with at least two more than another subscriber.
The moves are undone unless they made the whole more balanced (Kafka's AbstractStickyAssignor, general case).

A partition that must move returns to its owner of an older generation if that helps. If another partition of the topic
has moved in the opposite direction, that one returns instead, so that the two are not exchanged.
"""

from __future__ import annotations

from heapq import heapify, heappush, heapreplace

from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcore.client.consumer.assignors.assignor import Assignment, Topics
    from kcore.client.consumer.assignors.racks import Racks


def assign_unequally(
    wishes: Mapping[str, frozenset[str]],
    owned: Mapping[str, Sequence[TopicPartition]],
    former_owner: Mapping[TopicPartition, str],
    topics: Topics,
    racks: Racks,
) -> Assignment:
    """Assign all partitions.

    `wishes` has the topics of every member, `owned` its previous partitions, and `former_owner` the owners before that.
    """
    holdings = Holdings(wishes, topics)
    gave_up = False
    for member in sorted(owned):
        for partition in owned[member]:
            if partition.topic in wishes[member] and not racks.is_far(member, partition):
                holdings.give(partition, member)
            else:
                gave_up = True
    is_first = not holdings.owner
    unassigned = [partition for partition in holdings.in_order() if partition not in holdings.owner]
    _give_unassigned(holdings, unassigned, racks)
    before = dict(holdings.owner)
    score = holdings.imbalance()
    balance = Balancing(holdings, former_owner, racks)
    # Move new partitions before old ones, unless old ones had to move anyway.
    if not gave_up:
        balance.move(unassigned)
    moved = balance.move(holdings.in_order())
    if moved and not is_first and holdings.imbalance() >= score:
        holdings.restore(before)
    return holdings.assignment()


def _give_unassigned(holdings: Holdings, unassigned: Sequence[TopicPartition], racks: Racks) -> None:
    far = []
    for partition in unassigned:
        member = holdings.fewest_near(partition, racks) if racks else None
        if member is not None:
            holdings.give(partition, member)
        else:
            far.append(partition)
    for partition in far:
        member = holdings.fewest(partition.topic)
        if member is not None:
            holdings.give(partition, member)


class Holdings:
    """The owner of each partition, and the subscriber of each topic with the fewest partitions."""

    def __init__(self, wishes: Mapping[str, frozenset[str]], topics: Topics) -> None:
        self.topics = topics
        self.interested = {topic: [member for member in sorted(wishes) if topic in wishes[member]] for topic in topics}
        self.count = dict.fromkeys(wishes, 0)
        self.owner: dict[TopicPartition, str] = {}
        # A heap of (count, member) for each set of subscribers. An entry whose count has grown is corrected when it is
        # at the top. For a count that has shrunk, another entry is added.
        self._heaps: dict[tuple[str, ...], list[tuple[int, str]]] = {}
        for members in self.interested.values():
            self._heaps.setdefault(tuple(members), [(0, member) for member in members])
        self._heaps_of: dict[str, list[list[tuple[int, str]]]] = {member: [] for member in wishes}
        for sharers, heap in self._heaps.items():
            heapify(heap)
            for member in sharers:
                self._heaps_of[member].append(heap)
        self._heap_of_topic = {topic: self._heaps[tuple(members)] for topic, members in self.interested.items()}

    def in_order(self) -> list[TopicPartition]:
        """Return all partitions, those with the fewest subscribers first."""
        ordered = sorted(self.topics, key=lambda topic: (len(self.interested[topic]), topic))
        return [TopicPartition(topic, number) for topic in ordered for number in range(len(self.topics[topic]))]

    def give(self, partition: TopicPartition, member: str) -> None:
        before = self.owner.get(partition)
        if before is not None:
            self.count[before] -= 1
            for heap in self._heaps_of[before]:
                heappush(heap, (self.count[before], before))
        self.owner[partition] = member
        self.count[member] += 1

    def fewest(self, topic: str) -> str | None:
        """Return the subscriber of a topic with the fewest partitions; among equals, the first by name."""
        heap = self._heap_of_topic[topic]
        while heap:
            count, member = heap[0]
            if count == self.count[member]:
                return member
            heapreplace(heap, (self.count[member], member))
        return None

    def fewest_near(self, partition: TopicPartition, racks: Racks) -> str | None:
        """Like `fewest`, among the subscribers that are not far from the partition."""
        near = [member for member in self.interested[partition.topic] if not racks.is_far(member, partition)]
        return min(near, key=lambda member: (self.count[member], member), default=None)

    def imbalance(self) -> int:
        """Return the sum of differences between the counts of all pairs of members that share topics."""
        shared = {member for members in self.interested.values() if len(members) > 1 for member in members}
        counts = sorted(self.count[member] for member in shared)
        return sum(count * (2 * place - len(counts) + 1) for place, count in enumerate(counts))

    def restore(self, owner: Mapping[TopicPartition, str]) -> None:
        for partition, member in owner.items():
            self.give(partition, member)

    def assignment(self) -> Assignment:
        found: Assignment = {member: [] for member in self.count}
        for partition, member in self.owner.items():
            found[member].append(partition)
        return found


class Movements:
    """Tracks moved partitions: their original owner and the current one."""

    def __init__(self) -> None:
        self._way: dict[TopicPartition, tuple[str, str]] = {}
        self._on_way: dict[tuple[str, str, str], set[TopicPartition]] = {}

    def origin(self, partition: TopicPartition, now_at: str) -> str:
        return self._way[partition][0] if partition in self._way else now_at

    def moved(self, topic: str, origin: str, now_at: str) -> TopicPartition | None:
        return min(self._on_way.get((topic, origin, now_at), ()), default=None)

    def note(self, partition: TopicPartition, from_member: str, to_member: str) -> None:
        origin = self.origin(partition, from_member)
        if partition in self._way:
            self._on_way[(partition.topic, *self._way.pop(partition))].discard(partition)
        if origin != to_member:
            self._way[partition] = (origin, to_member)
            self._on_way.setdefault((partition.topic, origin, to_member), set()).add(partition)


class Balancing:
    def __init__(self, holdings: Holdings, former_owner: Mapping[TopicPartition, str], racks: Racks) -> None:
        self.holdings = holdings
        self.former_owner = former_owner
        self.racks = racks
        self.movements = Movements()

    def move(self, partitions: Iterable[TopicPartition]) -> bool:
        """Move partitions until no move helps. This ends, because each move brings two counts closer together."""
        movable = [p for p in partitions if len(self.holdings.interested[p.topic]) > 1]
        moved = False
        while True:
            helped = False
            for partition in movable:
                better = self._better_member(partition)
                if better is not None:
                    self._move(partition, better)
                    helped = True
            if not helped:
                return moved
            moved = True

    def _better_member(self, partition: TopicPartition) -> str | None:
        holdings = self.holdings
        limit = holdings.count[holdings.owner[partition]] - 1
        former = self.former_owner.get(partition)
        if former in holdings.interested[partition.topic] and holdings.count[former] < limit:
            return former
        fewest = holdings.fewest(partition.topic)
        return fewest if fewest is not None and holdings.count[fewest] < limit else None

    def _move(self, partition: TopicPartition, to_member: str) -> None:
        """Move a partition, or return another one of its topic that moved the opposite way. Counts end up the same."""
        now_at = self.holdings.owner[partition]
        origin = self.movements.origin(partition, now_at)
        opposite = self.movements.moved(partition.topic, to_member, origin)
        if opposite is None:
            self._relocate(partition, to_member)
            return
        self._relocate(opposite, to_member)
        if origin != now_at:
            self._relocate(partition, origin)

    def _relocate(self, partition: TopicPartition, to_member: str) -> None:
        self.movements.note(partition, self.holdings.owner[partition], to_member)
        self.holdings.give(partition, to_member)
