"""Topics and configurations: CreateTopics, DeleteTopics, DescribeConfigs, Metadata and DescribeCluster.

Answers for several topics are given one by one: what failed is in the result beside what did not.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.errors import broker_error
from kcore.client.network_client import NetworkClient
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.cluster import Cluster, TopicDescription

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
# ConfigSource of DescribeConfigs: set on the topic itself.
DYNAMIC_TOPIC_CONFIG = 1
ADMIN_TIMEOUT_MS = 30_000


class NewTopic(NamedTuple):
    """-1 leaves a number to the broker's default."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = {}
    replica_assignment: Sequence[Sequence[int]] = ()


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    source: int
    is_sensitive: bool
    is_read_only: bool


class Admin:
    def __init__(self, client: NetworkClient) -> None:
        self.client = client

    def describe_cluster(self) -> Cluster:
        """Brokers and controller, and every topic."""
        return self.client.update_metadata(None)

    def list_topics(self) -> list[TopicDescription]:
        return sorted(self.client.update_metadata(None).topics.values(), key=lambda topic: topic.name)

    def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        """One description a name, in that order; `error_code` tells of those that are not there."""
        wanted = list(names)
        found = self.client.update_metadata(wanted).topics
        return [found[name] for name in wanted]

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> dict[str, KafkaError | None]:
        fields = {
            "topics": [self._creatable(topic) for topic in topics],
            "timeout_ms": ADMIN_TIMEOUT_MS,
            "validate_only": validate_only,
        }
        response = self.client.request(apis.CREATE_TOPICS, fields)
        return {result.name: _outcome(result) for result in response.topics}

    def _creatable(self, topic: NewTopic) -> dict[str, Any]:
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

    def delete_topics(self, names: Sequence[str]) -> dict[str, KafkaError | None]:
        response = self.client.request(apis.DELETE_TOPICS, {"topic_names": list(names), "timeout_ms": ADMIN_TIMEOUT_MS})
        return {result.name: _outcome(result) for result in response.responses}

    def describe_configs(self, resource_type: int, names: Sequence[str]) -> dict[str, list[ConfigEntry]]:
        """Every configuration of each named topic or broker; the first error is raised."""
        resources = [
            {"resource_type": resource_type, "resource_name": name, "configuration_keys": None} for name in names
        ]
        response = self.client.request(apis.DESCRIBE_CONFIGS, {"resources": resources})
        described = {}
        for result in response.results:
            if result.error_code:
                raise broker_error(result.error_code, result.resource_name, result.error_message)
            described[result.resource_name] = [
                ConfigEntry(c.name, c.value, c.config_source, c.is_sensitive, c.read_only) for c in result.configs
            ]
        return described


def _outcome(result: Any) -> KafkaError | None:
    if not result.error_code:
        return None
    return broker_error(result.error_code, f"topic {result.name}", result.error_message)
