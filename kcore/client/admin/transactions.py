"""Transactions: list, describe, and fence producers by their transactional ids.

list_transactions   asks every broker for the transactions that it coordinates (ListTransactions, KIP-664, KIP-994)
the others          ask each transactional id's coordinator (DescribeTransactions; InitProducerId, KIP-360)
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.coordinator_calls import TRANSACTION_KEY, CoordinatorCalls
from kcore.client.admin.results import failure_of
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import Node, TopicPartition
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kcore.client.admin.results import Failure
    from kcore.protocol.message import Message

# The minimum that brokers accept. No transaction is begun.
TRANSACTION_TIMEOUT_MS = 1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


class FencedProducer(NamedTuple):
    """The producer id of a transactional id. Producers with a lower epoch are fenced."""

    producer_id: int
    producer_epoch: int


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """A transaction. `started_ms` is None if none is open. `partitions` are those that it has written to."""

    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    coordinator: Node
    partitions: list[TopicPartition]


class TransactionAdmin(CoordinatorCalls):
    __slots__ = ()

    def list_transactions(
        self, states: Sequence[str] = (), producer_ids: Sequence[int] = (), *, open_for_ms: int | None = None
    ) -> tuple[list[TransactionListing], list[Failure]]:
        """Return transactions by transactional id, and the failures of brokers. Default: all transactions.

        Filters: states, producer ids, and open for at least `open_for_ms`, which needs KIP-994.
        """
        fields: dict[str, Any] = {"state_filters": list(states), "producer_id_filters": list(producer_ids)}
        if open_for_ms is not None:
            fields["duration_filter"] = open_for_ms
        listed: list[TransactionListing] = []
        failures: list[Failure] = []
        for broker, answer in self._ask_brokers(apis.LIST_TRANSACTIONS, fields, self.brokers()).items():
            if isinstance(answer, ClientError):
                failures.append(answer)
                continue
            failure = failure_of(answer.error_code, f"the transactions of broker {broker}")
            if failure is not None:
                failures.append(failure)
            listed += [
                TransactionListing(state.transactional_id, state.producer_id, state.transaction_state)
                for state in answer.transaction_states
            ]
        return sorted(listed), failures

    def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription | Failure]:
        """Return the state of each transactional id's transaction."""

        def describe(node: Node, ids: list[str]) -> dict[str, TransactionDescription | Failure]:
            response = self._request(apis.DESCRIBE_TRANSACTIONS, {"transactional_ids": ids}, node)
            return {
                state.transactional_id: failure_of(state.error_code, f"transactional id {state.transactional_id}")
                or _description(state, node)
                for state in response.transaction_states
            }

        return self._ask_coordinators(TRANSACTION_KEY, transactional_ids, describe)

    def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, FencedProducer | Failure]:
        """Fence the current producers of these transactional ids and abort their open transactions."""

        def fence(node: Node, ids: list[str]) -> dict[str, FencedProducer | Failure]:
            requests = [
                (
                    node,
                    apis.INIT_PRODUCER_ID,
                    {
                        "transactional_id": transactional_id,
                        "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
                        "producer_id": NO_PRODUCER_ID,
                        "producer_epoch": NO_PRODUCER_EPOCH,
                    },
                )
                for transactional_id in ids
            ]
            fenced: dict[str, FencedProducer | Failure] = {}
            for transactional_id, answer in zip(ids, self.client.request_each(requests), strict=True):
                if isinstance(answer, ClientError):
                    fenced[transactional_id] = answer
                    continue
                failure = failure_of(answer.error_code, f"transactional id {transactional_id}")
                fenced[transactional_id] = failure or FencedProducer(answer.producer_id, answer.producer_epoch)
            return fenced

        return self._ask_coordinators(TRANSACTION_KEY, transactional_ids, fence)


def _description(state: Message, coordinator: Node) -> TransactionDescription:
    return TransactionDescription(
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None,
        coordinator,
        sorted(TopicPartition(topic.topic, number) for topic in state.topics for number in topic.partitions),
    )
