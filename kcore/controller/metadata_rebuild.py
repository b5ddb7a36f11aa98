"""Rebuilds the metadata of one broker from its log directories, after the metadata store was lost.

Pure. The input is the names and `partition.metadata` of the directories. The output is the topics, and remarks for the
operator about everything that could not be recovered.

The number of partitions of a topic is that of its highest directory. Its id comes from `partition.metadata`. If only
some of its directories have one, the others are assumed to belong to the same topic. Two ids for one name are refused:
one of them is of an older topic, and only the operator can decide which.

The configurations of topics were only in the store. A recovered topic keeps all records (`retention.ms=-1`,
`retention.bytes=-1`) until it is configured, since the broker's default retention might delete records that its old
configuration kept. Internal topics get their usual configuration. Leader epochs and producer ids are not planned here:
they are known once the logs are loaded.
"""

from __future__ import annotations

from kcore import uuid
from kcore.controller.internal_topics import internal_topic
from kcore.controller.metadata_store import MetadataStoreError
from kcore.controller.topic_name import CLUSTER_METADATA_TOPIC, validate_topic_name
from kcore.errors import InvalidTopicError
from kcore.metadata.image import TOPIC_RESOURCE, MetadataImage, PartitionState, TopicImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.config.broker import BrokerConfig
    from kcore.storage.log_dir_scan import FoundPartition

# The largest number of missing partitions. Beyond it, the directory with the highest number is probably not a broker's.
LARGEST_GAP = 10_000
# Producers may have ids above the highest one in the logs and not have written yet. There are 2**63 ids.
SPARED_PRODUCER_IDS = 1_000_000
KEEP_EVERYTHING = {"retention.ms": "-1", "retention.bytes": "-1"}
NOT_RECOVERED = (
    "Not recovered, because only the lost metadata store had them: configurations of topics, configurations of brokers "
    "that were set at run time, client quotas, finalized features. Recovered topics keep all records (retention.ms=-1, "
    "retention.bytes=-1) until they are configured again, with kcli configs alter. A topic whose deletion was under "
    "way may be back"
)


class RebuiltMetadata:
    """The rebuilt topics by name, their overrides, and remarks for the operator."""

    __slots__ = ("overrides", "remarks", "topics")

    def __init__(
        self, topics: Mapping[str, TopicImage], overrides: Mapping[str, Mapping[str, str]], remarks: Iterable[str]
    ) -> None:
        self.topics = dict(topics)
        self.overrides = {name: dict(own) for name, own in overrides.items()}
        self.remarks = tuple(remarks)

    def image(self, cluster_id: str) -> MetadataImage:
        """The image for loading the logs, without leader epochs."""
        configs = {(TOPIC_RESOURCE, name): own for name, own in self.overrides.items()}
        return MetadataImage(cluster_id, topics=self.topics, configs=configs)

    def with_leader_epoch(self, epoch: int) -> dict[str, TopicImage]:
        """The topics with this leader epoch for every partition."""
        return {
            name: TopicImage(name, topic.topic_id, (state.replace(leader_epoch=epoch) for state in topic.partitions))
            for name, topic in self.topics.items()
        }


def rebuild_metadata(found: Iterable[FoundPartition], broker_id: int, config: BrokerConfig) -> RebuiltMetadata:
    """Plans the topics. Raises MetadataStoreError if the directories conflict."""
    remarks: list[str] = []
    by_topic: dict[str, list[FoundPartition]] = {}
    for partition in found:
        if _is_a_topics(partition, remarks):
            by_topic.setdefault(partition.topic, []).append(partition)
    topics: dict[str, TopicImage] = {}
    overrides: dict[str, Mapping[str, str]] = {}
    for name, partitions in sorted(by_topic.items()):
        topics[name] = _topic(name, partitions, broker_id, remarks)
        internal = internal_topic(name, config)
        own = internal.configs if internal is not None else KEEP_EVERYTHING
        overrides[name] = {key: value for key, value in own.items() if value is not None}
    _check_ids(topics)
    return RebuiltMetadata(topics, overrides, remarks)


def _is_a_topics(found: FoundPartition, remarks: list[str]) -> bool:
    if found.topic == CLUSTER_METADATA_TOPIC:
        remarks.append(f"{found.path} is the metadata log of an Apache Kafka cluster: it is not a topic's")
        return False
    try:
        validate_topic_name(found.topic)
    except InvalidTopicError as error:
        remarks.append(f"{found.path} was left out: {error}")
        return False
    return True


def _topic(name: str, found: list[FoundPartition], broker_id: int, remarks: list[str]) -> TopicImage:
    count = max(partition.partition for partition in found) + 1
    if count - len(found) > LARGEST_GAP:
        (last,) = (partition.path for partition in found if partition.partition == count - 1)
        raise MetadataStoreError(
            f"cannot rebuild topic {name}: with {last} it would have {count} partitions, but only {len(found)} have a "
            f"directory. Move {last} away if it does not belong to the topic"
        )
    held = {partition.partition for partition in found}
    missing = [str(index) for index in range(count) if index not in held]
    if missing:
        remarks.append(f"Partitions {', '.join(missing)} of topic {name} have no directory. They start empty")
    topic_id = _topic_id(name, found, remarks)
    states = (PartitionState(name, index, (broker_id,), (broker_id,), broker_id) for index in range(count))
    return TopicImage(name, topic_id, states)


def _topic_id(name: str, found: list[FoundPartition], remarks: list[str]) -> bytes:
    known = {partition.topic_id: partition.path for partition in found if partition.topic_id is not None}
    if len(known) > 1:
        (first, first_path), (second, second_path) = list(known.items())[:2]
        raise MetadataStoreError(
            f"cannot rebuild topic {name}: {first_path} has topic id {uuid.to_text(first)}, and {second_path} has "
            f"{uuid.to_text(second)}. Move the directories of one of them away"
        )
    unnamed = [partition.path for partition in found if partition.topic_id is None]
    if not known:
        topic_id = uuid.random_uuid()
        remarks.append(f"Topic {name} has the new id {uuid.to_text(topic_id)}: no directory contains its old id")
        return topic_id
    if unnamed:
        remarks.append(
            f"Assigned to topic {name} by name, because they have no partition.metadata: {', '.join(unnamed)}"
        )
    return next(iter(known))


def _check_ids(topics: Mapping[str, TopicImage]) -> None:
    names: dict[bytes, str] = {}
    for name, topic in topics.items():
        other = names.setdefault(topic.topic_id, name)
        if other != name:
            raise MetadataStoreError(
                f"cannot rebuild topics {other} and {name}: their directories have the same topic id "
                f"{uuid.to_text(topic.topic_id)}. Move the copy away"
            )
