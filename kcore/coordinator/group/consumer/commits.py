"""Permission to commit offsets to a consumer group: only members, in their epoch (KIP-848, KIP-1251).

A member that uses the consumer protocol may commit in an earlier epoch for partitions that it has owned since that
epoch: the commit was in flight when the epoch changed, and no other member has owned the partition. If one partition
does not qualify, the whole commit is refused, as in Apache Kafka 4.3.
"""

from __future__ import annotations

from kcore.coordinator.group import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from kcore.coordinator.group.committer import Committer
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.consumer.member import ConsumerMember
    from kcore.coordinator.group.offsets import TopicPartition
    from kcore.metadata.image import MetadataImage

NO_EPOCH = -1


def commit_errors(
    group: ConsumerGroup, committer: Committer, places: Collection[TopicPartition], image: MetadataImage
) -> dict[TopicPartition, int]:
    """An error code for each partition that the committer may not commit; empty if it may commit all."""
    epoch = committer.generation_id
    if epoch < 0 and not group.members:
        return {}
    if committer.is_transactional and epoch == NO_EPOCH and not committer.member_id:
        # A transactional producer may commit without a member id.
        return {}
    member = group.members.get(committer.member_id)
    if member is None:
        return dict.fromkeys(places, codes.UNKNOWN_MEMBER_ID)
    if member.uses_classic_protocol:
        return {} if epoch == member.member_epoch else dict.fromkeys(places, codes.ILLEGAL_GENERATION)
    if not committer.is_transactional and not committer.knows_epochs:
        return dict.fromkeys(places, codes.UNSUPPORTED_VERSION)
    if epoch == member.member_epoch:
        return {}
    if epoch < member.member_epoch and all(_has_had(member, place, epoch, image) for place in places):
        return {}
    return dict.fromkeys(places, codes.STALE_MEMBER_EPOCH)


def _has_had(member: ConsumerMember, place: TopicPartition, epoch: int, image: MetadataImage) -> bool:
    topic = image.topics.get(place[0])
    if topic is None:
        return False
    for owned in (member.assigned, member.pending_revocation):
        since = owned.get(topic.topic_id, {}).get(place[1])
        if since is not None and since <= epoch:
            return True
    return False
