"""The racks of members and partitions, for the sticky assignors (KIP-881)."""

from __future__ import annotations

from kcore.client.consumer.assignors.assignor import NO_RACKS, racks_matter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.client.consumer.assignors.assignor import Member, Topics
    from kcore.client.metadata.cluster import TopicPartition


class Racks:
    """Which members have a replica of which partitions in their rack. False if racks do not matter."""

    def __init__(self, members: Mapping[str, Member], topics: Topics) -> None:
        replica_racks = [racks for partitions in topics.values() for racks in partitions]
        self._matter = racks_matter((member.rack for member in members.values()), replica_racks)
        self._of_member = {name: about.rack for name, about in members.items() if about.rack} if self._matter else {}
        self._topics = topics
        self._members_in: dict[str, int] = {}
        for rack in self._of_member.values():
            self._members_in[rack] = self._members_in.get(rack, 0) + 1

    def __bool__(self) -> bool:
        return self._matter

    def of(self, partition: TopicPartition) -> frozenset[str]:
        return self._topics[partition.topic][partition.partition] if self._matter else NO_RACKS

    def is_far(self, member: str, partition: TopicPartition) -> bool:
        """Return whether the member has a rack without a replica of the partition."""
        rack = self._of_member.get(member)
        return rack is not None and rack not in self.of(partition)

    def is_near(self, member: str, partition: TopicPartition) -> bool:
        """Return whether the member has a rack with a replica of the partition."""
        rack = self._of_member.get(member)
        return rack is not None and rack in self.of(partition)

    def members_near(self, partition: TopicPartition) -> int:
        return sum(self._members_in.get(rack, 0) for rack in self.of(partition))
