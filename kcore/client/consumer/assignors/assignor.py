"""What every assignor is, and what it is told of members and topics.

The facts are those of Kafka's ConsumerPartitionAssignor: members in the order of their `group.instance.id`, those
without one after them by member id; racks count only where replicas do not lie in all racks alike (KIP-881).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    # The racks that each partition of a topic has replicas in; as long as the topic has partitions.
    ReplicaRacks: TypeAlias = Sequence[frozenset[str]]
    Topics: TypeAlias = Mapping[str, ReplicaRacks]
    Assignment: TypeAlias = dict[str, list[TopicPartition]]

NO_GENERATION = -1
NO_RACKS: frozenset[str] = frozenset()


class Member(NamedTuple):
    """A member as its subscription describes it; `user_data` is whatever its assignor put there."""

    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    rack: str = ""
    instance_id: str | None = None
    user_data: bytes | None = None


class Assignor(ABC):
    """`is_cooperative` says that members keep what they own while they join (KIP-429), `is_sticky` that it matters who
    had what before.
    """

    name: str
    is_cooperative = False
    is_sticky = False

    @abstractmethod
    def assign(self, members: Mapping[str, Member], topics: Topics) -> Assignment:
        """Every member's partitions, by member id. Topics that are not in `topics` do not exist (yet)."""

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        """What a member puts into its subscription; `owned` is what it was given in its last `generation`."""
        return None


def without_racks(partition_counts: Mapping[str, int]) -> Topics:
    return {topic: (NO_RACKS,) * count for topic, count in partition_counts.items()}


def in_order(members: Mapping[str, Member]) -> list[str]:
    """Member ids, static members first: they keep their place when they come back under another member id."""

    def place(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return (True, member_id) if instance_id is None else (False, instance_id)

    return sorted(members, key=place)


def subscribers(members: Mapping[str, Member], topics: Topics) -> dict[str, list[str]]:
    """The members, in order, of every topic that has partitions."""
    ordered = in_order(members)
    return {topic: [m for m in ordered if topic in members[m].topics] for topic, racks in topics.items() if racks}


def racks_matter(member_racks: Iterable[str], replica_racks: Iterable[frozenset[str]]) -> bool:
    """Whether it makes a difference which member reads which partition: not when every rack has all of them."""
    wanted = {rack for rack in member_racks if rack}
    found = list(replica_racks)
    everywhere = NO_RACKS.union(*found)
    return not wanted.isdisjoint(everywhere) and any(racks != everywhere for racks in found)
