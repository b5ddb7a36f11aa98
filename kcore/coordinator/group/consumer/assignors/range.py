"""The range assignor: each subscriber gets one range of partitions of each topic (Kafka's `RangeAssignor`).

The order of members is the same for all topics: static members first, by instance id. So topics with equal partition
counts are divided alike, as joins of streams need, and a static member keeps its place under another member id.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment, Subscriber


def assign(members: Mapping[str, Subscriber], topics: Mapping[bytes, int]) -> dict[str, Assignment]:
    """Partitions by topic for each member. `topics` has the partition count of each subscribed topic."""
    order = sorted(members, key=lambda member_id: _place(member_id, members[member_id].instance_id))
    assigned: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in members}
    for topic, count in topics.items():
        subscribers = [member_id for member_id in order if topic in members[member_id].topics]
        start = 0
        for index, member_id in enumerate(subscribers):
            size = count // len(subscribers) + (index < count % len(subscribers))
            if size:
                assigned[member_id][topic] = frozenset(range(start, start + size))
            start += size
    return dict(assigned)


def _place(member_id: str, instance_id: str | None) -> tuple[bool, str]:
    return (True, member_id) if instance_id is None else (False, instance_id)
