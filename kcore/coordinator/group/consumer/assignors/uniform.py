"""The uniform assignor: balances partitions and moves as few as possible (Kafka's `UniformAssignor`).

With equal subscriptions, the members' partition counts differ by at most one, and only the moves that this needs are
made. With different subscriptions, members keep the partitions they may keep, free partitions go to the subscriber with
the fewest, and then partitions move between members whose counts differ by at least two until no such move is left.
"""

from __future__ import annotations

from heapq import heapify, heapreplace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment, Subscriber

    Partition: TypeAlias = tuple[bytes, int]


def assign(members: Mapping[str, Subscriber], topics: Mapping[bytes, int]) -> dict[str, Assignment]:
    """Partitions by topic for each member. `topics` has the partition count of each subscribed topic."""
    if not members:
        return {}
    kept = _still_allowed(members, topics)
    subscriptions = {member.topics for member in members.values()}
    if len(subscriptions) == 1:
        _even_out(kept, topics)
    else:
        _give_to_the_least_laden(members, kept, topics)
        _balance(members, kept, topics)
    return {member_id: by_topic(partitions) for member_id, partitions in kept.items()}


def by_topic(partitions: Iterable[Partition]) -> Assignment:
    """(topic, partition) pairs as partitions by topic."""
    grouped: dict[bytes, set[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, set()).add(partition)
    return {topic: frozenset(numbers) for topic, numbers in grouped.items()}


def _still_allowed(members: Mapping[str, Subscriber], topics: Mapping[bytes, int]) -> dict[str, list[Partition]]:
    """Each member's target less partitions that it cannot keep: unsubscribed, deleted, or kept by another member."""
    taken: set[Partition] = set()
    kept: dict[str, list[Partition]] = {}
    for member_id, member in members.items():
        own = [
            (topic, partition)
            for topic, partitions in member.target.items()
            if topic in member.topics
            for partition in sorted(partitions)
            if partition < topics.get(topic, 0) and (topic, partition) not in taken
        ]
        taken.update(own)
        kept[member_id] = own
    return kept


def _unassigned(kept: Mapping[str, list[Partition]], topics: Mapping[bytes, int]) -> list[Partition]:
    taken = {place for own in kept.values() for place in own}
    return [
        (topic, partition)
        for topic, count in topics.items()
        for partition in range(count)
        if (topic, partition) not in taken
    ]


def _even_out(kept: dict[str, list[Partition]], topics: Mapping[bytes, int]) -> None:
    """Equal subscriptions: each member gets the quota, and members that have more already share the rest."""
    quota, extra = divmod(sum(topics.values()), len(kept))
    limits = dict.fromkeys(kept, quota)
    by_need = sorted(kept, key=lambda member_id: len(kept[member_id]) <= quota)
    for member_id in by_need[:extra]:
        limits[member_id] += 1
    for member_id, limit in limits.items():
        del kept[member_id][limit:]
    free = iter(_unassigned(kept, topics))
    for member_id, limit in limits.items():
        own = kept[member_id]
        while len(own) < limit:
            own.append(next(free))


def _subscribers(members: Mapping[str, Subscriber], topics: Mapping[bytes, int]) -> dict[bytes, list[str]]:
    """The subscribers of each topic; topics with few subscribers first, since they leave fewer choices."""
    found: dict[bytes, list[str]] = {topic: [] for topic in topics}
    for member_id, member in members.items():
        for topic in member.topics:
            if topic in found:
                found[topic].append(member_id)
    return dict(sorted(found.items(), key=lambda item: len(item[1])))


def _give_to_the_least_laden(
    members: Mapping[str, Subscriber], kept: dict[str, list[Partition]], topics: Mapping[bytes, int]
) -> None:
    free: dict[bytes, list[Partition]] = {}
    for place in _unassigned(kept, topics):
        free.setdefault(place[0], []).append(place)
    for topic, subscribers in _subscribers(members, topics).items():
        heap = [(len(kept[member_id]), index) for index, member_id in enumerate(subscribers)]
        heapify(heap)
        for place in free.get(topic, ()) if heap else ():
            load, index = heap[0]
            kept[subscribers[index]].append(place)
            heapreplace(heap, (load + 1, index))


def _balance(members: Mapping[str, Subscriber], kept: dict[str, list[Partition]], topics: Mapping[bytes, int]) -> None:
    """Terminates: every move reduces the sum of squares of the members' partition counts."""
    subscribers = _subscribers(members, topics)
    has_moved = True
    while has_moved:
        has_moved = False
        for topic, member_ids in subscribers.items():
            while _move_one(topic, member_ids, kept):
                has_moved = True


def _move_one(topic: bytes, member_ids: list[str], kept: dict[str, list[Partition]]) -> bool:
    """Moves partitions of a topic from the owner with the most partitions to the subscriber with the fewest."""
    if len(member_ids) < 2:
        return False
    by_load = sorted(member_ids, key=lambda member_id: len(kept[member_id]))
    least = by_load[0]
    for most in reversed(by_load):
        surplus = (len(kept[most]) - len(kept[least])) // 2
        if surplus < 1:
            return False
        movable = [place for place in kept[most] if place[0] == topic][-surplus:]
        if movable:
            gone = set(movable)
            kept[most] = [place for place in kept[most] if place not in gone]
            kept[least] += movable
            return True
    return False
