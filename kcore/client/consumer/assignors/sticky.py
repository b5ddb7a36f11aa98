"""Balanced assignments that move few partitions (Kafka's StickyAssignor and CooperativeStickyAssignor).

Members report the partitions that they own. If all subscribe to the same topics, `equal_subscriptions` computes the
assignment, otherwise `unequal_subscriptions`. A partition that several members claim belongs to the one with the
highest generation, or to none if several have it.

Cooperative (KIP-429): a partition is assigned to a new owner only in the generation after the old one has revoked it.
So a partition that another member still claims is not assigned in this generation.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.consumer.assignors import user_data
from kcore.client.consumer.assignors.assignor import NO_GENERATION, Assignor
from kcore.client.consumer.assignors.equal_subscriptions import assign_equally
from kcore.client.consumer.assignors.racks import Racks
from kcore.client.consumer.assignors.unequal_subscriptions import assign_unequally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.client.consumer.assignors.assignor import Assignment, Member, Topics
    from kcore.client.metadata.cluster import TopicPartition


class Claim(NamedTuple):
    """The partitions that one member claims to own, and the generation in which it got them."""

    partitions: tuple[TopicPartition, ...]
    generation: int


class Claims:
    """Previous owners: `owned` by member, without contested and deleted partitions; `claimants` of every partition."""

    def __init__(self, claims: Mapping[str, Claim], topics: Topics) -> None:
        self.claimants: dict[TopicPartition, list[str]] = {}
        for member in sorted(claims):
            for partition in dict.fromkeys(claims[member].partitions):
                if partition.partition < len(topics.get(partition.topic, ())):
                    self.claimants.setdefault(partition, []).append(member)
        self.owned: dict[str, list[TopicPartition]] = {member: [] for member in sorted(claims)}
        self.owner: dict[TopicPartition, str] = {}
        newest = max((claim.generation for claim in claims.values()), default=NO_GENERATION)
        # The owner in the latest older generation: a candidate to move the partition back to.
        self.former_owner: dict[TopicPartition, str] = {}
        for partition, members in self.claimants.items():
            by_generation = sorted((claims[member].generation, member) for member in members)
            highest = by_generation[-1][0]
            if len(by_generation) == 1 or by_generation[-2][0] < highest:
                self.owner[partition] = by_generation[-1][1]
                self.owned[by_generation[-1][1]].append(partition)
            older = [(generation, member) for generation, member in by_generation if generation < newest]
            if older:
                last = older[-1][0]
                self.former_owner[partition] = min(member for generation, member in older if generation == last)


class StickyAssignor(Assignor):
    name = "sticky"
    is_sticky = True

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        """Return the last assignment; None before the first. An eager member owns nothing while it joins."""
        return None if generation == NO_GENERATION else user_data.encode_owned(owned, generation)

    def claim(self, member: Member) -> Claim:
        return Claim(*user_data.decode_owned(member.user_data))

    def assign(self, members: Mapping[str, Member], topics: Topics) -> Assignment:
        return self._assign(members, topics)[0]

    def _assign(self, members: Mapping[str, Member], topics: Topics) -> tuple[Assignment, Claims]:
        wishes = {name: member.topics for name, member in members.items()}
        wanted = frozenset[str]().union(*wishes.values())
        subscribed = {topic: racks for topic, racks in topics.items() if racks and topic in wanted}
        claims = Claims({name: self.claim(member) for name, member in members.items()}, subscribed)
        racks = Racks(members, subscribed)
        if all(wish == wanted for wish in wishes.values()):
            return assign_equally(claims.owned, subscribed, racks), claims
        return assign_unequally(wishes, claims.owned, claims.former_owner, subscribed, racks), claims


class CooperativeStickyAssignor(StickyAssignor):
    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        return user_data.encode_generation(generation)

    def claim(self, member: Member) -> Claim:
        """Return what a member claims. Before KIP-792 the generation was in the user data, now it is a field."""
        generation = member.generation
        if generation == NO_GENERATION:
            generation = user_data.decode_generation(member.user_data)
        return Claim(member.owned, generation)

    def assign(self, members: Mapping[str, Member], topics: Topics) -> Assignment:
        assignment, claims = self._assign(members, topics)
        for member, partitions in assignment.items():
            assignment[member] = [
                partition
                for partition in partitions
                if claims.owner.get(partition) == member
                or all(claimant == member for claimant in claims.claimants.get(partition, ()))
            ]
        return assignment
