"""Sticky assignment if all members subscribe to the same topics. Partition counts of members differ by at most one.

With P partitions and M members, `P % M` members get `P // M + 1` partitions and the others `P // M`. Members keep their
partitions up to that number. The remaining ones are assigned in turn, first to members in the same rack, then to any
(Kafka's AbstractStickyAssignor, constrained case).
"""

from __future__ import annotations

from collections import deque

from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcore.client.consumer.assignors.assignor import Assignment, Topics
    from kcore.client.consumer.assignors.racks import Racks


def assign_equally(owned: Mapping[str, Sequence[TopicPartition]], topics: Topics, racks: Racks) -> Assignment:
    """Assign all partitions. `owned` has every member with its previous partitions that it may keep."""
    shares = Shares(owned, topics, racks)
    shares.keep_owned()
    unassigned = shares.unassigned()
    if racks:
        unassigned.sort(key=racks.members_near)
        unassigned = shares.give_near(unassigned)
    shares.give_in_turn(unassigned)
    return shares.assignment


class Shares:
    def __init__(self, owned: Mapping[str, Sequence[TopicPartition]], topics: Topics, racks: Racks) -> None:
        self.owned = owned
        self.topics = topics
        self.racks = racks
        total = sum(len(partitions) for partitions in topics.values())
        self.least, extras = divmod(total, max(1, len(owned)))
        # How many more members may get one partition more than `least`.
        self.extras = extras
        self.assignment: Assignment = {member: [] for member in owned}
        # Members below `least`, and members at `least` that may get one more, each in turn order.
        self.below: list[str] = []
        self.at_least: deque[str] = deque()

    def keep_owned(self) -> None:
        for member in sorted(self.owned):
            kept = [
                partition
                for partition in self.owned[member]
                if partition.topic in self.topics and not self.racks.is_far(member, partition)
            ]
            kept.sort(key=lambda partition: (partition.partition, partition.topic))
            if len(kept) > self.least and self.extras:
                self.extras -= 1
                self.assignment[member] = kept[: self.least + 1]
                continue
            self.assignment[member] = kept[: self.least]
            if len(kept) < self.least:
                self.below.append(member)
            else:
                self.at_least.append(member)
        self._close_if_full()

    def _close_if_full(self) -> None:
        if not self.extras:
            self.at_least.clear()

    def unassigned(self) -> list[TopicPartition]:
        taken = {partition for partitions in self.assignment.values() for partition in partitions}
        everything = (
            TopicPartition(topic, number) for topic in sorted(self.topics) for number in range(len(self.topics[topic]))
        )
        return [partition for partition in everything if partition not in taken]

    def give_near(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Assign partitions to members in the same rack where possible. Returns the remaining ones."""
        left = []
        turn = 0
        for partition in partitions:
            index = self._next_near(partition, self.below, turn)
            if index is not None:
                member = self.below[index]
                self.assignment[member].append(partition)
                if len(self.assignment[member]) == self.least:
                    del self.below[index]
                    if self.extras:
                        self.at_least.append(member)
                else:
                    index += 1
                turn = index % len(self.below) if self.below else 0
                continue
            index = self._next_near(partition, self.at_least, 0)
            if index is None:
                left.append(partition)
                continue
            member = self.at_least[index]
            self.assignment[member].append(partition)
            del self.at_least[index]
            self.extras -= 1
            self._close_if_full()
        return left

    def _next_near(self, partition: TopicPartition, members: Sequence[str], first: int) -> int | None:
        for step in range(len(members)):
            index = (first + step) % len(members)
            if self.racks.is_near(members[index], partition):
                return index
        return None

    def give_in_turn(self, partitions: Sequence[TopicPartition]) -> None:
        turns = deque(self.below)
        for partition in partitions:
            if not turns:
                self.assignment[self.at_least.popleft()].append(partition)
                continue
            member = turns.popleft()
            self.assignment[member].append(partition)
            if len(self.assignment[member]) < self.least:
                turns.append(member)
            else:
                self.at_least.append(member)
