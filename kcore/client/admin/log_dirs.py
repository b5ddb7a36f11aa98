"""Log directories of brokers and their replicas: DescribeLogDirs, AlterReplicaLogDirs (KIP-113, KIP-827).

Requests go to each broker.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import as_asked, failure_of
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.client.metadata.cluster import Node
    from kcore.protocol.message import Message


class BrokerReplica(NamedTuple):
    broker: int
    partition: TopicPartition


class LogDirReplica(NamedTuple):
    """A replica in a directory. `is_future`: it is being moved there.

    `offset_lag` is the lag behind the high watermark; for a future replica, behind the current replica.
    """

    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """A log directory of a broker. Volume sizes in bytes; -1: unknown."""

    broker: int
    path: str
    error: KafkaError | None
    total_bytes: int
    usable_bytes: int
    replicas: list[LogDirReplica]


class LogDirAdmin(AdminCalls):
    __slots__ = ()

    def describe_log_dirs(
        self, brokers: Iterable[Node] | None = None, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[int, list[LogDirDescription] | Failure]:
        """Return the log directories of brokers with their replicas. Default: all brokers, all partitions."""
        wanted = None
        if partitions is not None:
            indexes: dict[str, list[int]] = {}
            for topic, index in partitions:
                indexes.setdefault(topic, []).append(index)
            wanted = [{"topic": topic, "partitions": of_topic} for topic, of_topic in indexes.items()]
        asked = self.brokers() if brokers is None else brokers
        answers = self._ask_brokers(apis.DESCRIBE_LOG_DIRS, {"topics": wanted}, asked)
        return {
            broker: answer
            if isinstance(answer, ClientError)
            else failure_of(answer.error_code, f"broker {broker}")
            or [_log_dir(broker, result) for result in answer.results]
            for broker, answer in answers.items()
        }

    def alter_replica_log_dirs(self, directories: Mapping[BrokerReplica, str]) -> dict[BrokerReplica, Failure | None]:
        """Move each replica to a directory of its broker. A replica that does not exist yet will be created there."""
        nodes = {node.id: node for node in self.brokers()}
        outcomes: dict[BrokerReplica, Failure | None] = {}
        asked: dict[int, dict[str, dict[str, list[int]]]] = {}
        for replica, path in directories.items():
            if replica.broker not in nodes:
                outcomes[replica] = ClientError(f"broker {replica.broker} is not in the cluster")
                continue
            topic, number = replica.partition
            asked.setdefault(replica.broker, {}).setdefault(path, {}).setdefault(topic, []).append(number)
        requests = [(nodes[broker], apis.ALTER_REPLICA_LOG_DIRS, _moves(paths)) for broker, paths in asked.items()]
        for broker, answer in zip(asked, self.client.request_each(requests), strict=True):
            if isinstance(answer, ClientError):
                outcomes |= {replica: answer for replica in directories if replica.broker == broker}
                continue
            for topic in answer.results:
                for part in topic.partitions:
                    place = TopicPartition(topic.topic_name, part.partition_index)
                    failure = failure_of(part.error_code, f"partition {place} of broker {broker}")
                    outcomes[BrokerReplica(broker, place)] = failure
        return as_asked(directories, outcomes)


def _moves(paths: Mapping[str, Mapping[str, list[int]]]) -> dict[str, Any]:
    return {
        "dirs": [
            {"path": path, "topics": [{"name": name, "partitions": found} for name, found in topics.items()]}
            for path, topics in paths.items()
        ]
    }


def _log_dir(broker: int, result: Message) -> LogDirDescription:
    replicas = [
        LogDirReplica(TopicPartition(topic.name, p.partition_index), p.partition_size, p.offset_lag, p.is_future_key)
        for topic in result.topics
        for p in topic.partitions
    ]
    error = failure_of(result.error_code, f"log directory {result.log_dir} of broker {broker}")
    return LogDirDescription(broker, result.log_dir, error, result.total_bytes, result.usable_bytes, sorted(replicas))
