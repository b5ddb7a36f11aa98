"""Assignor, the base class of assignors, and Member, the description of a group member.

As in Kafka's ConsumerPartitionAssignor, static members are ordered by `group.instance.id`, followed by other members by
member id. Racks matter only if not every rack has replicas of all partitions (KIP-881).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    # The racks of each partition's replicas, one entry per partition of a topic.
    ReplicaRacks: TypeAlias = Sequence[frozenset[str]]
    Topics: TypeAlias = Mapping[str, ReplicaRacks]
    Assignment: TypeAlias = dict[str, list[TopicPartition]]

NO_GENERATION = -1
NO_RACKS: frozenset[str] = frozenset()


class Member(NamedTuple):
    """A member as described by its subscription. `user_data` is specific to the assignor."""

    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str = ""
    instance_id: str | None = None
    user_data: bytes | None = None


class Assignor(ABC):
    """Base class of assignors.

    `is_cooperative`: members keep their partitions while they join (KIP-429). `is_sticky`: the result depends on the
    previous owners.
    """

    name: str
    is_cooperative = False
    is_sticky = False

    @abstractmethod
    def assign(self, members: Mapping[str, Member], topics: Topics) -> Assignment:
        """Return every member's partitions, by member id. Topics that are not in `topics` do not exist (yet)."""

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        """Return the user data of a member's subscription. `owned` was assigned to it in its last `generation`."""
        return None


def without_racks(partition_counts: Mapping[str, int]) -> Topics:
    return {topic: (NO_RACKS,) * count for topic, count in partition_counts.items()}


def in_order(members: Mapping[str, Member]) -> list[str]:
    """Return the member ids, static members first. These keep their place when they rejoin with another member id."""

    def place(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return (True, member_id) if instance_id is None else (False, instance_id)

    return sorted(members, key=place)


def subscribers(members: Mapping[str, Member], topics: Topics) -> dict[str, list[str]]:
    """Return the subscribed members of every topic that has partitions, in order."""
    ordered = in_order(members)
    return {topic: [m for m in ordered if topic in members[m].topics] for topic, racks in topics.items() if racks}


def racks_matter(member_racks: Iterable[str], replica_racks: Iterable[frozenset[str]]) -> bool:
    """Return whether it matters which member reads which partition. It does not if every rack has all partitions."""
    wanted = {rack for rack in member_racks if rack}
    found = list(replica_racks)
    everywhere = NO_RACKS.union(*found)
    return not wanted.isdisjoint(everywhere) and any(racks != everywhere for racks in found)
