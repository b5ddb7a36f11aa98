"""A streaming query's offset as stored in its checkpoint: the next offset of each partition.

    {"orders": {"0": 42, "1": 17}, "@topic-ids": {"orders": "AAAAAAAAAAAAAAAAAAAAAQ"}}

This is the format of Spark's own Kafka source plus the topic ids, which identify a topic that was deleted and
re-created. `@` cannot occur in a topic name. Spark compares offsets as JSON text, so topics and partitions are sorted.
"""

from __future__ import annotations

from kcore import uuid
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

TOPIC_IDS = "@topic-ids"


class StreamOffset:
    """`offsets` are the next offsets to read. `topic_ids` has no entry for a topic if the broker has no topic ids."""

    def __init__(self, offsets: Mapping[TopicPartition, int], topic_ids: Mapping[str, bytes]) -> None:
        self.offsets = dict(offsets)
        self.topic_ids = {topic: topic_id for topic, topic_id in topic_ids.items() if topic_id != uuid.ZERO}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> StreamOffset:
        """Parse a stored offset. Raises ValueError if this source did not write it."""
        try:
            offsets = {
                TopicPartition(topic, int(number)): int(offset)
                for topic, partitions in document.items()
                if topic != TOPIC_IDS
                for number, offset in partitions.items()
            }
            ids = {topic: uuid.from_text(text) for topic, text in document.get(TOPIC_IDS, {}).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"the checkpoint has an invalid offset ({error}): {document}. Did another source write it?"
            ) from error
        return cls(offsets, ids)

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for partition in sorted(self.offsets):
            found.setdefault(partition.topic, {})[str(partition.partition)] = self.offsets[partition]
        if self.topic_ids:
            found[TOPIC_IDS] = {topic: uuid.to_text(self.topic_ids[topic]) for topic in sorted(self.topic_ids)}
        return found
