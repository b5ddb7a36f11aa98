"""Assigns consecutive partitions of each topic to the members in order (Kafka's RangeAssignor, rack-aware: KIP-881).

Topics with the same number of partitions and the same members are assigned alike, so one member reads partition n of
all of them. If racks matter, members first get partitions with a replica in their rack, up to the number that they
would get anyway, and co-partitioned topics stay together. The remaining partitions are assigned as ranges.
"""

from __future__ import annotations

from kcore.client.consumer.assignors.assignor import Assignor, racks_matter, subscribers
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcore.client.consumer.assignors.assignor import Assignment, Member, ReplicaRacks, Topics


class TopicShare:
    """The unassigned partitions of one topic, and what each member may still get."""

    def __init__(self, topic: str, racks: ReplicaRacks, members: Sequence[str], rack_of: Mapping[str, str]) -> None:
        self.topic = topic
        self.racks = racks
        self.members = members
        self.rack_of = rack_of
        self.unassigned = dict.fromkeys(range(len(racks)))
        self.taken = dict.fromkeys(members, 0)
        self.share, self.extras = divmod(len(racks), len(members))
        self.has_racks = any(rack_of[member] for member in members)
        self.racks_matter = racks_matter((rack_of[member] for member in members), racks)

    def room(self, member: str) -> int:
        """Return how many more partitions a member may get. The first members take the remainder, one each."""
        return max(0, self.share + (self.extras > 0) - self.taken[member])

    def is_near(self, member: str, number: int) -> bool:
        rack = self.rack_of[member]
        return not rack or rack in self.racks[number]

    def give(self, member: str, numbers: Sequence[int], assignment: Assignment) -> None:
        assignment[member] += [TopicPartition(self.topic, number) for number in numbers]
        self.taken[member] += len(numbers)
        if self.taken[member] > self.share:
            self.extras -= 1
        for number in numbers:
            del self.unassigned[number]

    def give_ranges(self, assignment: Assignment, only_near: bool) -> None:
        for member in self.members:
            room = self.room(member)
            numbers = [number for number in self.unassigned if not only_near or self.is_near(member, number)][:room]
            if numbers:
                self.give(member, numbers, assignment)


def _give_together(shares: Sequence[TopicShare], assignment: Assignment) -> None:
    """Assign partition n of all these topics to one member that has replicas of all of them in its rack, if any."""
    remaining = list(shares[0].members)
    for number in range(len(shares[0].racks)):
        for member in remaining:
            if all(share.room(member) and share.is_near(member, number) for share in shares):
                break
        else:
            continue
        for share in shares:
            share.give(member, [number], assignment)
        if not any(share.room(member) for share in shares):
            remaining.remove(member)


def _give_near(shares: Sequence[TopicShare], assignment: Assignment) -> None:
    alike: dict[tuple[object, ...], list[TopicShare]] = {}
    for share in shares:
        size = len(share.racks) if share.has_racks else 0
        alike.setdefault((size, *share.members), []).append(share)
    for together in alike.values():
        if len(together) > 1:
            # Without racks there is nothing to match, and ranges give the same result.
            if together[0].has_racks:
                _give_together(together, assignment)
        elif together[0].racks_matter:
            together[0].give_ranges(assignment, only_near=True)


class RangeAssignor(Assignor):
    name = "range"

    def assign(self, members: Mapping[str, Member], topics: Topics) -> Assignment:
        assignment: Assignment = {member: [] for member in members}
        rack_of = {member: about.rack for member, about in members.items()}
        shares = [
            TopicShare(topic, topics[topic], interested, rack_of)
            for topic, interested in sorted(subscribers(members, topics).items())
            if interested
        ]
        is_rack_aware = any(share.racks_matter for share in shares)
        if is_rack_aware:
            _give_near(shares, assignment)
        for share in shares:
            share.give_ranges(assignment, only_near=False)
        if is_rack_aware:
            for partitions in assignment.values():
                partitions.sort()
        return assignment
