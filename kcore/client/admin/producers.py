"""Producers that write to partitions, and aborting their transactions: DescribeProducers, WriteTxnMarkers (KIP-664).

Requests go to each partition's leader.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import failure_of, mapped
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.protocol.message import Message


class ProducerState(NamedTuple):
    """State of an idempotent producer on a partition's leader. -1: none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int


class TransactionToAbort(NamedTuple):
    """A transaction in one partition, with the fields of its `ProducerState`. Coordinator epoch -1: unknown."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class ProducerAdmin(AdminCalls):
    __slots__ = ()

    def describe_producers(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerState] | Failure]:
        """Return the active producers of each partition."""

        def fields(led: Sequence[TopicPartition]) -> dict[str, Any]:
            return {"topics": _topics(led)}

        answers = self._ask_leaders(apis.DESCRIBE_PRODUCERS, partitions, fields)
        return mapped(answers, lambda part: [_state(producer) for producer in part.active_producers])

    def abort_transaction(self, transaction: TransactionToAbort) -> None:
        """Abort a hanging transaction in one partition by writing the marker that its coordinator did not write."""
        place = transaction.partition
        outcomes: dict[TopicPartition, Message | Failure] = {}
        for leader in self._by_leader([place], outcomes):
            marker = {
                "producer_id": transaction.producer_id,
                "producer_epoch": transaction.producer_epoch,
                "coordinator_epoch": max(transaction.coordinator_epoch, 0),
                "transaction_result": False,
                "topics": _topics([place]),
            }
            response = self._request(apis.WRITE_TXN_MARKERS, {"markers": [marker]}, leader)
            [part] = [part for row in response.markers for topic in row.topics for part in topic.partitions]
            failure = failure_of(part.error_code, f"partition {place}")
            if failure is not None:
                raise failure
        for outcome in outcomes.values():
            if isinstance(outcome, (KafkaError, ClientError)):
                raise outcome


def _topics(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    numbers: dict[str, list[int]] = {}
    for topic, partition in partitions:
        numbers.setdefault(topic, []).append(partition)
    return [{"name": name, "partition_indexes": found} for name, found in numbers.items()]


def _state(producer: Message) -> ProducerState:
    return ProducerState(
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        producer.coordinator_epoch,
        producer.current_txn_start_offset,
    )
