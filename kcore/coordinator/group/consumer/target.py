"""Computes a new target assignment of a group with its assignor (Kafka's `TargetAssignmentBuilder`)."""

from __future__ import annotations

from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.assignors import assignor_named
from kcore.coordinator.group.consumer.assignors.subscriber import Subscriber
from kcore.coordinator.group.consumer.subscription import topic_ids, topic_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment
    from kcore.coordinator.group.consumer.decision import Moment
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer.member import ConsumerMember
    from kcore.coordinator.group.consumer.records import Record


def new_target(
    group: ConsumerGroup,
    epoch: int,
    members: Mapping[str, ConsumerMember],
    targets: Mapping[str, Assignment],
    moment: Moment,
) -> tuple[list[Record], dict[str, Assignment]]:
    """The records of changed targets, then the epoch's record; and the whole target.

    `members` and `targets` are the group's after the request.
    """
    image = moment.image
    subscribers = {}
    for member_id, member in members.items():
        topics = topic_ids(topic_names(member, group.resolved_regexes), image)
        subscribers[member_id] = Subscriber(topics, targets.get(member_id, {}), member.instance_id)
    wanted: set[bytes] = set().union(*(subscriber.topics for subscriber in subscribers.values()))
    # Ordered by name, so that a target does not depend on random topic ids.
    by_name = sorted((image.topics_by_id[topic_id] for topic_id in wanted), key=lambda topic: topic.name)
    counts = {topic.topic_id: len(topic.partitions) for topic in by_name}
    name = group.preferred_assignor(members.values(), moment.settings.assignors[0])
    assigned = assignor_named(name)(subscribers, counts)
    changed = [
        records.target(group.group_id, member_id, assignment)
        for member_id, assignment in assigned.items()
        if group.targets.get(member_id) != assignment
    ]
    return [*changed, records.target_epoch(group.group_id, epoch, moment.wall_ms)], assigned
