"""The response of ConsumerGroupDescribe for a group (KIP-848, KIP-1099)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer.member import ConsumerMember
    from kcore.metadata.image import MetadataImage

CLASSIC_MEMBER, CONSUMER_MEMBER = 0, 1


def describe(group: ConsumerGroup, default_assignor: str, image: MetadataImage) -> dict[str, Any]:
    """The fields of a described group."""
    return {
        "group_id": group.group_id,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor_name": group.preferred_assignor(group.members.values(), default_assignor),
        "members": [_member(group, member, image) for member in group.members.values()],
    }


def _member(group: ConsumerGroup, member: ConsumerMember, image: MetadataImage) -> dict[str, Any]:
    held: dict[bytes, set[int]] = {}
    for owned in (member.assigned, member.pending_revocation):
        for topic, partitions in owned.items():
            held.setdefault(topic, set()).update(partitions)
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.member_epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": sorted(member.subscribed_topic_names),
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "assignment": {"topic_partitions": _rows(held, image)},
        "target_assignment": {"topic_partitions": _rows(group.targets.get(member.member_id, {}), image)},
        "member_type": CLASSIC_MEMBER if member.uses_classic_protocol else CONSUMER_MEMBER,
    }


def _rows(partitions: Mapping[bytes, Iterable[int]], image: MetadataImage) -> list[dict[str, Any]]:
    """Partitions of existing topics, as response fields."""
    return [
        {"topic_id": topic, "topic_name": image.topics_by_id[topic].name, "partitions": sorted(held)}
        for topic, held in partitions.items()
        if topic in image.topics_by_id
    ]
