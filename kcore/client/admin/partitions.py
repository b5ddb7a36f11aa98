"""Partitions of topics: add partitions, elect leaders, reassign replicas.

CreatePartitions (KIP-195), ElectLeaders (KIP-183, KIP-460), AlterPartitionReassignments and
ListPartitionReassignments (KIP-455).
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import ADMIN_TIMEOUT_MS, AdminCalls
from kcore.client.admin.results import as_asked, failure_of, raise_failure
from kcore.client.metadata.cluster import TopicPartition
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.protocol.message import Message

# ElectionType: the preferred replica, or any live replica, even if records are lost.
PREFERRED, UNCLEAN = 0, 1


class NewPartitions(NamedTuple):
    """The total partition count of a topic, and the assignment of the added partitions."""

    name: str
    total_count: int
    replica_assignment: Sequence[Sequence[int]] | None = None


class Reassignment(NamedTuple):
    """A reassignment in progress. `replicas` are the current replicas, old and new ones together."""

    replicas: list[int]
    adding: list[int]
    removing: list[int]


class PartitionAdmin(AdminCalls):
    __slots__ = ()

    def create_partitions(
        self, additions: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, Failure | None]:
        """Add partitions to topics. `validate_only` only checks the request."""
        topics = []
        for new in additions:
            assignments = new.replica_assignment
            rows = None if assignments is None else [{"broker_ids": list(brokers)} for brokers in assignments]
            topics.append({"name": new.name, "count": new.total_count, "assignments": rows})
        fields = {"topics": topics, "timeout_ms": ADMIN_TIMEOUT_MS, "validate_only": validate_only}
        response = self._ask_controller(
            apis.CREATE_PARTITIONS, fields, lambda answer: (topic.error_code for topic in answer.results)
        )
        outcomes = {
            result.name: failure_of(result.error_code, f"topic {result.name}", result.error_message)
            for result in response.results
        }
        return as_asked((new.name for new in additions), outcomes)

    def elect_leaders(
        self, election_type: int = PREFERRED, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Failure | None]:
        """Elect leaders of these partitions. Default: all partitions.

        Returns the failure of each partition, or None. By default only partitions are returned whose leader has changed
        or could not be elected.
        """
        wanted = None if partitions is None else list(partitions)
        rows = None
        if wanted is not None:
            rows = [{"topic": topic, "partitions": numbers} for topic, numbers in _numbers(wanted).items()]
        fields = {"election_type": election_type, "topic_partitions": rows, "timeout_ms": ADMIN_TIMEOUT_MS}
        response = self._ask_controller(apis.ELECT_LEADERS, fields, lambda answer: (answer.error_code,))
        raise_failure(response.error_code, "leader election")
        outcomes = {
            (place := TopicPartition(topic.topic, part.partition_id)): failure_of(
                part.error_code, f"partition {place}", part.error_message
            )
            for topic in response.replica_election_results
            for part in topic.partition_result
        }
        return as_asked(outcomes if wanted is None else wanted, outcomes)

    def alter_partition_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, Failure | None]:
        """Move partitions to other brokers. The first one is the preferred leader. None cancels a reassignment."""
        topics: dict[str, list[dict[str, Any]]] = {}
        for partition, replicas in targets.items():
            row = {
                "partition_index": partition.partition,
                "replicas": None if replicas is None else list(replicas),
            }
            topics.setdefault(partition.topic, []).append(row)
        fields = {
            "timeout_ms": ADMIN_TIMEOUT_MS,
            "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
        }
        response = self._ask_controller(apis.ALTER_PARTITION_REASSIGNMENTS, fields, lambda answer: (answer.error_code,))
        raise_failure(response.error_code, "partition reassignments", response.error_message)
        outcomes = {
            (place := TopicPartition(topic.name, part.partition_index)): failure_of(
                part.error_code, f"partition {place}", part.error_message
            )
            for topic in response.responses
            for part in topic.partitions
        }
        return as_asked(targets, outcomes)

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """Return the reassignments in progress. Default: of all partitions."""
        rows = None
        if partitions is not None:
            rows = [{"name": name, "partition_indexes": found} for name, found in _numbers(partitions).items()]
        fields = {"timeout_ms": ADMIN_TIMEOUT_MS, "topics": rows}
        response = self._ask_controller(apis.LIST_PARTITION_REASSIGNMENTS, fields, lambda answer: (answer.error_code,))
        raise_failure(response.error_code, "partition reassignments", response.error_message)
        return {
            TopicPartition(topic.name, part.partition_index): _reassignment(part)
            for topic in response.topics
            for part in topic.partitions
        }


def _reassignment(part: Message) -> Reassignment:
    return Reassignment(list(part.replicas), list(part.adding_replicas), list(part.removing_replicas))


def _numbers(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    numbers: dict[str, list[int]] = {}
    for topic, partition in partitions:
        numbers.setdefault(topic, []).append(partition)
    return numbers
