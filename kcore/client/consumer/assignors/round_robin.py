"""Assigns all partitions, in the order of topics, to the members in turn (Kafka's RoundRobinAssignor)."""

from __future__ import annotations

from kcore.client.consumer.assignors.assignor import Assignor, in_order, subscribers
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.client.consumer.assignors.assignor import Assignment, Member, Topics


class RoundRobinAssignor(Assignor):
    name = "roundrobin"

    def assign(self, members: Mapping[str, Member], topics: Topics) -> Assignment:
        assignment: Assignment = {member: [] for member in members}
        turns = in_order(members)
        turn = 0
        interested = subscribers(members, topics)
        for topic in sorted(interested):
            if not interested[topic]:
                continue
            for number in range(len(topics[topic])):
                while topic not in members[turns[turn]].topics:
                    turn = (turn + 1) % len(turns)
                assignment[turns[turn]].append(TopicPartition(topic, number))
                turn = (turn + 1) % len(turns)
        return assignment
