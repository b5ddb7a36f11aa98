"""What administrators ask of a cluster: topics, configurations, records, log directories, offsets and features.

Answers for several topics or partitions are given one by one: what failed is in the result beside what did not. What
only the leader of a partition can answer is asked of the leaders, one request each.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.cluster import Node, TopicPartition, by_topic, topic_from
from kcore.client.errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    ClientError,
    UnknownPartition,
    UnknownTopic,
    broker_error,
)
from kcore.client.network_client import NetworkClient
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.cluster import Cluster, TopicDescription
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
# ConfigSource of DescribeConfigs: set on the topic itself.
DYNAMIC_TOPIC_CONFIG = 1
ADMIN_TIMEOUT_MS = 30_000
# Kinds of change of UpdateFeatures: the last may lose what a lower level cannot express.
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


# What kept a part of a request from being done: a broker's answer, or that none could be asked.
Failure = KafkaError | ClientError


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


class NewPartitions(NamedTuple):
    """How many partitions a topic is to have altogether; the assignment is of those that are added."""

    name: str
    total_count: int
    replica_assignment: Sequence[Sequence[int]] | None = None


class ListedOffset(NamedTuple):
    """An offset that belongs to a time; -1 and an `error` of None when there is no such record."""

    offset: int
    timestamp: int
    leader_epoch: int
    error: Failure | None = None


class DeletedRecords(NamedTuple):
    """Where a partition starts now."""

    low_watermark: int
    error: Failure | None = None


class ClientQuotas(NamedTuple):
    """`entity` says for whom, by type: user, client-id, ip; a name of None is the default of its type."""

    entity: Mapping[str, str | None]
    quotas: Mapping[str, float]


class LogDirReplica(NamedTuple):
    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """A log directory of a broker; sizes of the volume are -1 where the broker does not tell."""

    broker: int
    path: str
    error: KafkaError | None
    total_bytes: int
    usable_bytes: int
    replicas: list[LogDirReplica]


class Features(NamedTuple):
    """Supported ranges and finalized levels by name; the epoch is -1 where the broker does not tell."""

    supported: dict[str, tuple[int, int]]
    finalized: dict[str, int]
    epoch: int


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

    def describe_topics_by_page(self, names: Sequence[str], page_size: int) -> list[TopicDescription]:
        """The same by DescribeTopicPartitions, with so many partitions in one answer at most; sorted by name."""
        topics: dict[str, TopicDescription] = {}
        cursor: dict[str, Any] | None = None
        while True:
            fields = {
                "topics": [{"name": name} for name in names if cursor is None or name >= cursor["topic_name"]],
                "response_partition_limit": page_size,
                "cursor": cursor,
            }
            response = self.client.request(apis.DESCRIBE_TOPIC_PARTITIONS, fields)
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
                raise ClientError(f"DescribeTopicPartitions: the broker goes on with {following} after {cursor}")
            cursor = following

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

    def create_partitions(
        self, additions: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Gives topics more partitions."""
        topics = []
        for new in additions:
            assignments = new.replica_assignment
            rows = None if assignments is None else [{"broker_ids": list(brokers)} for brokers in assignments]
            topics.append({"name": new.name, "count": new.total_count, "assignments": rows})
        fields = {"topics": topics, "timeout_ms": ADMIN_TIMEOUT_MS, "validate_only": validate_only}
        response = self.client.request(apis.CREATE_PARTITIONS, fields)
        return {result.name: _outcome(result) for result in response.results}

    # Records

    def list_offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """The offset that belongs to a time in ms, or to one of ListOffsets' special times, for each partition."""

        def fields(partitions: Sequence[TopicPartition]) -> dict[str, Any]:
            asked = by_topic(partitions, lambda partition: {"timestamp": times[partition]})
            return {"replica_id": -1, "isolation_level": 0, "topics": asked, "timeout_ms": ADMIN_TIMEOUT_MS}

        answers, failures = self._ask_leaders(apis.LIST_OFFSETS, times, fields)
        found = {partition: ListedOffset(-1, -1, -1, error) for partition, error in failures.items()}
        for partition, part in answers.items():
            error = _error(part.error_code, f"partition {partition}")
            found[partition] = ListedOffset(part.offset, part.timestamp, part.leader_epoch, error)
        return found

    def delete_records(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, DeletedRecords]:
        """Deletes what lies before an offset, -1 for the high watermark, in each partition."""

        def fields(partitions: Sequence[TopicPartition]) -> dict[str, Any]:
            topics = by_topic(partitions, lambda partition: {"offset": offsets[partition]})
            return {"topics": topics, "timeout_ms": ADMIN_TIMEOUT_MS}

        answers, failures = self._ask_leaders(apis.DELETE_RECORDS, offsets, fields)
        results = {partition: DeletedRecords(-1, error) for partition, error in failures.items()}
        for partition, part in answers.items():
            error = _error(part.error_code, f"partition {partition}")
            results[partition] = DeletedRecords(part.low_watermark, error)
        return results

    def _ask_leaders(
        self,
        api: Api,
        partitions: Iterable[TopicPartition],
        fields: Callable[[Sequence[TopicPartition]], dict[str, Any]],
    ) -> tuple[dict[TopicPartition, Message], dict[TopicPartition, Failure]]:
        """What the leaders say of each partition; and why a partition could not be asked about.

        Nothing is waited for: a partition without a leader is a failure.
        """
        wanted = list(partitions)
        if not wanted:
            return {}, {}
        cluster = self.client.update_metadata(dict.fromkeys(partition.topic for partition in wanted))
        leaders = {
            TopicPartition(topic.name, info.partition): cluster.nodes.get(info.leader)
            for topic in cluster.topics.values()
            for info in topic.partitions
        }
        by_leader: dict[Node, list[TopicPartition]] = {}
        failures: dict[TopicPartition, Failure] = {}
        for partition in wanted:
            leader = leaders.get(partition)
            if leader is None:
                failures[partition] = _why_no_leader(cluster, partition)
            else:
                by_leader.setdefault(leader, []).append(partition)
        answers = {
            TopicPartition(topic.name, part.partition_index): part
            for leader, led in by_leader.items()
            for topic in self.client.request(api, fields(led), leader).topics
            for part in topic.partitions
        }
        return answers, failures

    # Brokers

    def brokers(self) -> list[Node]:
        """Every broker, by id."""
        return sorted(self.client.update_metadata(()).nodes.values())

    def describe_log_dirs(
        self, brokers: Iterable[Node], partitions: Iterable[TopicPartition] | None = None
    ) -> list[LogDirDescription]:
        """The log directories of brokers with the replicas of some partitions, or of all."""
        wanted = None
        if partitions is not None:
            indexes: dict[str, list[int]] = {}
            for topic, index in partitions:
                indexes.setdefault(topic, []).append(index)
            wanted = [{"topic": topic, "partitions": of_topic} for topic, of_topic in indexes.items()]
        described = []
        for broker in brokers:
            response = self.client.request(apis.DESCRIBE_LOG_DIRS, {"topics": wanted}, broker)
            if response.error_code:
                raise broker_error(response.error_code, f"broker {broker.id}")
            described += [_log_dir(broker.id, result) for result in response.results]
        return described

    def api_versions(self, broker: Node) -> dict[int, tuple[int, int]]:
        """Lowest and highest version of each API that a broker serves, by key."""
        return dict(self.client.connection_to(broker).versions)

    # Features

    def describe_features(self) -> Features:
        """What one broker says of features; all brokers of a cluster agree on what is finalized."""
        from kcore import __version__

        software = {"client_software_name": self.client.client_id, "client_software_version": __version__}
        response = self.client.request(apis.API_VERSIONS, software)
        return Features(
            {row.name: (row.min_version, row.max_version) for row in response.supported_features},
            {row.name: row.max_version_level for row in response.finalized_features},
            response.finalized_features_epoch,
        )

    def update_features(
        self, levels: Mapping[str, int], upgrade_type: int, *, validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Finalizes features at other levels; `upgrade_type` is one of UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE."""
        rows = [
            {"feature": name, "max_version_level": level, "upgrade_type": upgrade_type}
            for name, level in levels.items()
        ]
        fields = {"feature_updates": rows, "timeout_ms": ADMIN_TIMEOUT_MS, "validate_only": validate_only}
        response = self.client.request(apis.UPDATE_FEATURES, fields)
        if response.error_code:
            raise broker_error(response.error_code, "features", response.error_message)
        return {
            result.feature: _error(result.error_code, f"feature {result.feature}", result.error_message)
            for result in response.results
        }

    # Quotas

    def describe_client_quotas(
        self, components: Iterable[tuple[str, int, str | None]] = (), *, strict: bool = False
    ) -> list[ClientQuotas]:
        """Quotas of the entities that every (type, kind of match, name) fits; strict: that have no other types."""
        rows = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
        response = self.client.request(apis.DESCRIBE_CLIENT_QUOTAS, {"components": rows, "strict": strict})
        if response.error_code:
            raise broker_error(response.error_code, "client quotas", response.error_message)
        return [
            ClientQuotas(
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]

    def alter_client_quotas(
        self, entity: Mapping[str, str | None], quotas: Mapping[str, float | None], *, validate_only: bool = False
    ) -> KafkaError | None:
        """Sets quotas of one entity, or removes those of None; the error is why nothing was done."""
        entry = {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
            "ops": [
                {"key": key, "value": 0.0 if value is None else value, "remove": value is None}
                for key, value in quotas.items()
            ],
        }
        response = self.client.request(apis.ALTER_CLIENT_QUOTAS, {"entries": [entry], "validate_only": validate_only})
        result = response.entries[0]
        return _error(result.error_code, "client quotas", result.error_message)

    # Configurations

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
    return _error(result.error_code, f"topic {result.name}", result.error_message)


def _error(code: int, subject: str, detail: str | None = None) -> KafkaError | None:
    return broker_error(code, subject, detail) if code else None


def _why_no_leader(cluster: Cluster, partition: TopicPartition) -> Failure:
    topic = cluster.topics[partition.topic]
    if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return UnknownTopic(partition.topic)
    if topic.error_code:
        return broker_error(topic.error_code, f"topic {partition.topic}")
    if all(info.partition != partition.partition for info in topic.partitions):
        return UnknownPartition(*partition, len(topic.partitions))
    return broker_error(LEADER_NOT_AVAILABLE, f"partition {partition}")


def _log_dir(broker: int, result: Message) -> LogDirDescription:
    replicas = [
        LogDirReplica(TopicPartition(topic.name, p.partition_index), p.partition_size, p.offset_lag, p.is_future_key)
        for topic in result.topics
        for p in topic.partitions
    ]
    error = _error(result.error_code, f"log directory {result.log_dir} of broker {broker}")
    return LogDirDescription(broker, result.log_dir, error, result.total_bytes, result.usable_bytes, sorted(replicas))
