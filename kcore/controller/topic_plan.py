"""Plans topics and partitions: from a request to their initial metadata, or to the error that Kafka would return.

Pure: nothing is written. The rules and messages are those of Kafka's `ReplicationControlManager`.
"""

from __future__ import annotations

from kcore import errors, uuid
from kcore.controller.new_topic import USE_DEFAULT
from kcore.controller.replica_assignment import assign_replicas, check_manual_assignment
from kcore.metadata.image import NO_LEADER, PartitionState, TopicImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcore.config.broker import BrokerConfig
    from kcore.controller.new_topic import NewPartitions, NewTopic
    from kcore.metadata.image import MetadataImage


# Limits how long one request occupies the controller (Kafka's MAX_PARTITIONS_PER_BATCH).
MAX_PARTITIONS_PER_REQUEST = 10_000
EXCESSIVE_PARTITIONS = "Excessively large number of partitions per request."


def plan_topic(new: NewTopic, image: MetadataImage, config: BrokerConfig) -> TopicImage:
    """The new topic with a random id. The caller has checked its name."""
    replicas = _manual_replicas(new, image) if new.assignments else _automatic_replicas(new, image, config)
    states = (_first_state(new.name, partition, brokers, image) for partition, brokers in enumerate(replicas))
    return TopicImage(new.name, uuid.random_uuid(), states)


def planned_partitions(new: NewTopic, config: BrokerConfig) -> int:
    """The number of partitions of a new topic, if it can be created."""
    if new.assignments:
        return len(new.assignments)
    return config.number("num.partitions") if new.num_partitions == USE_DEFAULT else max(0, new.num_partitions)


def _manual_replicas(new: NewTopic, image: MetadataImage) -> list[tuple[int, ...]]:
    if new.replication_factor != USE_DEFAULT:
        raise errors.InvalidRequestError(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if new.num_partitions != USE_DEFAULT:
        raise errors.InvalidRequestError(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    return check_manual_assignment(new.assignments, image.brokers)


def _automatic_replicas(new: NewTopic, image: MetadataImage, config: BrokerConfig) -> list[tuple[int, ...]]:
    partitions, replication_factor = new.num_partitions, new.replication_factor
    if partitions == USE_DEFAULT:
        partitions = config.number("num.partitions")
    if replication_factor == USE_DEFAULT:
        replication_factor = config.number("default.replication.factor")
    return assign_replicas(image.brokers, partitions, replication_factor)


def _first_state(topic: str, partition: int, replicas: tuple[int, ...], image: MetadataImage) -> PartitionState:
    """The initial state: all live replicas are in sync, since there are no records, and the first of them leads."""
    isr = tuple(broker for broker in replicas if broker in image.brokers)
    return PartitionState(topic, partition, replicas, isr, isr[0] if isr else NO_LEADER)


def plan_partitions(new: NewPartitions, image: MetadataImage, limit: int) -> list[PartitionState]:
    """The partitions to add, at most `limit`. Raises KafkaError, and above the limit before anything is allocated."""
    topic = image.topics.get(new.name)
    if topic is None:
        raise errors.UnknownTopicOrPartitionError()
    present = len(topic.partitions)
    if new.total_count == present:
        raise errors.InvalidPartitionsError(f"Topic already has {present} partition(s).")
    if new.total_count < present:
        raise errors.InvalidPartitionsError(
            f"The topic {new.name} currently has {present} partition(s); {new.total_count} would not be an increase."
        )
    additional = new.total_count - present
    if additional > limit:
        raise errors.PolicyViolationError(EXCESSIVE_PARTITIONS)
    if new.assignments is None:
        replicas = assign_replicas(image.brokers, additional, topic.replication_factor, first_partition=present)
    else:
        replicas = _additional_replicas(new.assignments, additional, topic, image)
    return [_first_state(new.name, present + index, brokers, image) for index, brokers in enumerate(replicas)]


def _additional_replicas(
    assignments: Sequence[Sequence[int]], additional: int, topic: TopicImage, image: MetadataImage
) -> list[tuple[int, ...]]:
    if len(assignments) != additional:
        raise errors.InvalidReplicaAssignmentError(
            f"Attempted to add {additional} additional partition(s), but only {len(assignments)} assignment(s) were "
            "specified."
        )
    present = len(topic.partitions)
    return check_manual_assignment(
        enumerate(assignments, present),
        image.brokers,
        first_partition=present,
        replication_factor=topic.replication_factor,
    )
