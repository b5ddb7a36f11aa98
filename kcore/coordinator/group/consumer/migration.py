"""Online upgrade and downgrade of a group (KIP-848, `group.consumer.migration.policy`).

Upgrade: the first member with the consumer protocol turns a classic group into a consumer group. The generation becomes
the epoch, and the last assignment becomes the target and the members' present assignment. The members stay as classic
members. Downgrade: after the last member with the consumer protocol has left, the group becomes a classic group again
and rebalances, so that its members get a leader. One batch deletes the old group's records and writes the new ones.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.embedded_protocol import encoded_assignment
from kcore.coordinator.group.consumer.group import PROTOCOL_TYPE, ConsumerGroup
from kcore.coordinator.group.consumer.member import ClassicMember, ConsumerMember
from kcore.coordinator.group.consumer.subscription import metadata_hash
from kcore.coordinator.group.records import GroupMetadata, MemberMetadata
from kcore.protocol.protocol_errors import ProtocolError
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kcore.coordinator.group.consumer.decision import Moment
    from kcore.coordinator.group.consumer.member import OwnedPartitions
    from kcore.coordinator.group.consumer.records import Record
    from kcore.coordinator.group.consumer.settings import Settings
    from kcore.coordinator.group.member import Member
    from kcore.coordinator.group.state import Group
    from kcore.metadata.image import MetadataImage


# --- upgrade --------------------------------------------------------------------------------------------------------


def upgrade(group: Group, moment: Moment) -> tuple[ConsumerGroup, list[Record]]:
    """The consumer group that replaces a classic one, and the records. Raises GroupIdNotFoundError."""
    _check_upgrade(group, moment.settings)
    try:
        members = _consumer_members(group, moment.image)
    except ProtocolError:
        raise _refusal(group, "the embedded consumer protocol is malformed.") from None
    group_id, epoch = group.group_id, group.generation_id
    names = frozenset[str]().union(*(member.subscribed_topic_names for member in members))
    written = [
        *(records.member(group_id, member) for member in members),
        records.group_epoch(group_id, epoch, metadata_hash(names, moment.image)),
        *(records.target(group_id, member.member_id, _numbers(member.assigned)) for member in members),
        records.target_epoch(group_id, epoch, moment.wall_ms),
        *(records.current(group_id, member) for member in members),
    ]
    upgraded = ConsumerGroup(group_id)
    for key, value in written:
        upgraded.apply(*records.decode(key, value))
    return upgraded, [*group.tombstones(), *written]


def _refusal(group: Group, reason: str) -> errors.KafkaError:
    return errors.GroupIdNotFoundError(
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}"
    )


def _check_upgrade(group: Group, settings: Settings) -> None:
    if not settings.may_upgrade:
        raise _refusal(group, "online upgrade is disabled.")
    if group.protocol_type != PROTOCOL_TYPE:
        raise _refusal(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > settings.max_size:
        raise _refusal(group, "the group size exceeds the consumer group maximum size.")


def _consumer_members(group: Group, image: MetadataImage) -> list[ConsumerMember]:
    taken: set[tuple[bytes, int]] = set()
    return [_consumer_member(group, member, image, taken) for member in group.members.values()]


def _consumer_member(
    group: Group, member: Member, image: MetadataImage, taken: set[tuple[bytes, int]]
) -> ConsumerMember:
    """A classic member as a member of the consumer group. Partitions in `taken` have another owner already."""
    profile = member.profile
    metadata = profile.metadata_of(group.protocol_name) or profile.protocols[0][1]
    _, subscription = CONSUMER_PROTOCOL_SUBSCRIPTION.decode(metadata)
    assigned: dict[bytes, dict[int, int]] = {}
    if member.assignment:
        _, assignment = CONSUMER_PROTOCOL_ASSIGNMENT.decode(member.assignment)
        if assignment.user_data:
            raise _refusal(
                group,
                "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
                "assignor before re-attempting the upgrade.",
            )
        for row in assignment.assigned_partitions:
            topic = image.topics.get(row.topic)
            for partition in row.partitions if topic is not None else ():
                place = (topic.topic_id, partition)  # type: ignore[union-attr]
                if place not in taken:
                    taken.add(place)
                    assigned.setdefault(place[0], {})[partition] = group.generation_id
    return ConsumerMember(
        member.member_id,
        instance_id=member.group_instance_id,
        rack_id=subscription.rack_id or None,
        client_id=profile.client_id,
        client_host=profile.client_host,
        rebalance_timeout_ms=profile.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        classic=ClassicMember(profile.session_timeout_ms, tuple(profile.protocols)),
        member_epoch=group.generation_id,
        previous_member_epoch=group.generation_id,
        assigned=assigned,
    )


def _numbers(owned: OwnedPartitions) -> dict[bytes, frozenset[int]]:
    return {topic: frozenset(held) for topic, held in owned.items()}


# --- downgrade ------------------------------------------------------------------------------------------------------


def becomes_classic(leaving: Collection[ConsumerMember], staying: Sequence[ConsumerMember], settings: Settings) -> bool:
    """Whether the group is downgraded: the last members of the consumer protocol leave, and classic ones stay."""
    return (
        settings.may_downgrade
        and 0 < len(staying) <= settings.classic_max_size
        and all(member.uses_classic_protocol for member in staying)
        and any(not member.uses_classic_protocol for member in leaving)
        # Members that joined were checked. Stored members may not fit.
        and bool(_common_protocols(staying))
    )


def downgrade(group: ConsumerGroup, epoch: int, staying: Sequence[ConsumerMember], moment: Moment) -> GroupMetadata:
    """The stored form of a classic group of these members, with their first common protocol."""
    name = _common_protocols(staying)[0]
    members = []
    for member in staying:
        metadata = dict(_protocols(member))[name]
        classic = member.classic
        assert classic is not None
        members.append(
            MemberMetadata(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                classic.session_timeout_ms,
                metadata,
                encoded_assignment(member.assigned, metadata, moment.image),
            )
        )
    return GroupMetadata(PROTOCOL_TYPE, epoch, name, staying[0].member_id, moment.wall_ms, members)


def _common_protocols(members: Sequence[ConsumerMember]) -> list[str]:
    return [name for name, _ in _protocols(members[0]) if all(name in dict(_protocols(each)) for each in members)]


def _protocols(member: ConsumerMember) -> tuple[tuple[str, bytes], ...]:
    return member.classic.protocols if member.classic is not None else ()
