"""Topics: list, describe, create, delete.

Metadata, DescribeTopicPartitions (KIP-966), CreateTopics, DeleteTopics.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import ADMIN_TIMEOUT_MS, AdminCalls
from kcore.client.admin.results import as_asked, failure_of
from kcore.client.errors import (
    UNKNOWN_TOPIC_OR_PARTITION,
    ClientError,
    InvalidSetting,
    UnknownTopic,
    UnsupportedByBroker,
    broker_error,
)
from kcore.client.metadata.cluster import topic_from
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.client.metadata.cluster import TopicDescription
    from kcore.errors import KafkaError
    from kcore.protocol.message import Message

PAGE_PARTITIONS = 2_000
UNKNOWN_TOPIC_ID = 100


class NewTopic(NamedTuple):
    """A topic to create. -1 means the broker's default."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = {}
    replica_assignment: Sequence[Sequence[int]] = ()


class CreatedTopic(NamedTuple):
    """A created topic. Numbers are -1 and the id is zeros if the broker is too old (KIP-525)."""

    topic_id: bytes
    partitions: int
    replication_factor: int
    configs: dict[str, str | None]


class TopicAdmin(AdminCalls):
    __slots__ = ()

    def list_topics(self, *, include_internal: bool = True) -> list[TopicDescription]:
        """Return all topics, sorted by name."""
        found = self._describe_cluster(None).topics.values()
        return sorted((topic for topic in found if include_internal or not topic.is_internal), key=lambda t: t.name)

    def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | Failure]:
        """Return each topic, using DescribeTopicPartitions, or Metadata if the broker is too old for that."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        try:
            found = {topic.name: topic for topic in self.describe_topics_by_page(wanted)}
        except UnsupportedByBroker:
            found = self._describe_cluster(wanted).topics
        return {name: _description(name, found.get(name)) for name in wanted}

    def describe_topics_by_id(self, topic_ids: Iterable[bytes]) -> dict[bytes, TopicDescription | Failure]:
        """Return each topic by its id of 16 bytes (KIP-516)."""
        wanted = list(dict.fromkeys(topic_ids))
        if not wanted:
            return {}
        fields = {
            "topics": [{"topic_id": topic_id, "name": None} for topic_id in wanted],
            "allow_auto_topic_creation": False,
        }
        try:
            answered = self._request(apis.METADATA, fields).topics
        except InvalidSetting as error:
            raise UnsupportedByBroker(f"the broker is too old for topic ids: {error}") from None
        found = {bytes(topic.topic_id): topic_from(topic) for topic in answered if not topic.error_code}
        return {
            topic_id: found.get(topic_id) or broker_error(UNKNOWN_TOPIC_ID, f"topic id {topic_id.hex()}")
            for topic_id in wanted
        }

    def describe_topics_by_page(self, names: Sequence[str], page_size: int = PAGE_PARTITIONS) -> list[TopicDescription]:
        """Return topics using DescribeTopicPartitions, with at most `page_size` partitions per response, by name."""
        topics: dict[str, TopicDescription] = {}
        cursor: dict[str, Any] | None = None
        while True:
            fields = {
                "topics": [{"name": name} for name in names if cursor is None or name >= cursor["topic_name"]],
                "response_partition_limit": page_size,
                "cursor": cursor,
            }
            response = self._request(apis.DESCRIBE_TOPIC_PARTITIONS, fields)
            for page in map(topic_from, response.topics):
                known = topics.get(page.name)
                topics[page.name] = page._replace(partitions=known.partitions + page.partitions) if known else page
            if response.next_cursor is None:
                return sorted(topics.values())
            following = {
                "topic_name": response.next_cursor.topic_name,
                "partition_index": response.next_cursor.partition_index,
            }
            if cursor is not None and tuple(following.values()) <= tuple(cursor.values()):
                raise ClientError(
                    f"DescribeTopicPartitions: the broker returned cursor {following} after {cursor}, not a later one"
                )
            cursor = following

    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> dict[str, CreatedTopic | Failure]:
        """Create topics. `validate_only` only checks the request."""
        fields = {
            "topics": [_creatable(topic) for topic in topics],
            "timeout_ms": ADMIN_TIMEOUT_MS,
            "validate_only": validate_only,
        }
        response = self._ask_controller(
            apis.CREATE_TOPICS, fields, lambda answer: (topic.error_code for topic in answer.topics)
        )
        results = {result.name: _outcome(result) or _created(result) for result in response.topics}
        return as_asked((topic.name for topic in topics), results)

    def delete_topics(self, names: Sequence[str]) -> dict[str, Failure | None]:
        """Delete topics with all records."""
        fields = {"topic_names": list(names), "timeout_ms": ADMIN_TIMEOUT_MS}
        response = self._ask_controller(
            apis.DELETE_TOPICS, fields, lambda answer: (topic.error_code for topic in answer.responses)
        )
        return as_asked(names, {result.name: _outcome(result) for result in response.responses})


def _description(name: str, topic: TopicDescription | None) -> TopicDescription | Failure:
    if topic is None or topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return UnknownTopic(name)
    return failure_of(topic.error_code, f"topic {name}") or topic


def _creatable(topic: NewTopic) -> dict[str, Any]:
    assignments = [
        {"partition_index": index, "broker_ids": list(replicas)}
        for index, replicas in enumerate(topic.replica_assignment)
    ]
    return {
        "name": topic.name,
        "num_partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "assignments": assignments,
        "configs": [{"name": name, "value": value} for name, value in topic.configs.items()],
    }


def _created(result: Message) -> CreatedTopic:
    configs = {config.name: config.value for config in result.configs or ()}
    return CreatedTopic(bytes(result.topic_id), result.num_partitions, result.replication_factor, configs)


def _outcome(result: Message) -> KafkaError | None:
    return failure_of(result.error_code, f"topic {result.name}", result.error_message)
