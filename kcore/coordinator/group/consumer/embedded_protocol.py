"""Subscriptions and assignments of classic members, which a classic coordinator passes on as opaque bytes.

A consumer group with classic members has no leader: it reads their subscriptions and writes their assignments itself.
"""

from __future__ import annotations

from kcore import errors
from kcore.protocol.protocol_errors import ProtocolError
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.consumer.member import OwnedPartitions
    from kcore.coordinator.group.consumer.reconciliation import ReportedPartitions
    from kcore.metadata.image import MetadataImage
    from kcore.protocol.message import Message


def decoded_subscription(metadata: bytes) -> Message:
    """The decoded subscription of a member. Raises InconsistentGroupProtocolError for unreadable bytes."""
    try:
        return CONSUMER_PROTOCOL_SUBSCRIPTION.decode(metadata)[1]
    except ProtocolError as error:
        raise errors.InconsistentGroupProtocolError(f"The subscription cannot be read: {error}") from None


def reported_partitions(subscription: Message, image: MetadataImage) -> ReportedPartitions:
    """The partitions that a subscription claims to own, of existing topics."""
    found: dict[bytes, list[int]] = {}
    for row in subscription.owned_partitions:
        topic = image.topics.get(row.topic)
        if topic is not None:
            found.setdefault(topic.topic_id, []).extend(row.partitions)
    return found


def encoded_assignment(owned: OwnedPartitions, metadata: bytes, image: MetadataImage) -> bytes:
    """The encoded assignment of a member, in the version of its `metadata`."""
    rows = [
        {"topic": image.topics_by_id[topic].name, "partitions": sorted(held)}
        for topic, held in owned.items()
        if topic in image.topics_by_id
    ]
    return CONSUMER_PROTOCOL_ASSIGNMENT.encode(assignment_version(metadata), {"assigned_partitions": rows})


def assignment_version(metadata: bytes) -> int:
    """The newest version that both sides support; 0 if the stored bytes have none."""
    try:
        version = version_of(metadata)
    except ProtocolError:
        version = 0
    return min(max(version, 0), CONSUMER_PROTOCOL_ASSIGNMENT.latest_version)
