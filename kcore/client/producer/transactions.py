"""Transactions: the requests of a transactional producer to its coordinators.

The application's thread sends requests and waits at most `max.block.ms` (`init`, `commit`, `abort`, `send_offsets`).
The background thread adds partitions to the transaction; their batches wait for that. TransactionManager decides what
each state allows. Source: TransactionManager's handlers in Apache Kafka; KIP-98, KIP-360, KIP-447.
"""

from __future__ import annotations

import threading
import time

from kcore.client.clock import now_ms
from kcore.client.errors import BrokerUnreachable, ClientError, ClientTimeout, broker_error
from kcore.client.metadata.cluster import Node, TopicPartition, by_topic
from kcore.client.producer.transaction_manager import (
    IN_TRANSACTION,
    InvalidTransactionState,
    TransactionManager,
    is_fatal_code,
    is_fatal_error,
)
from kcore.errors import KafkaError, by_code
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from kcore.client.config.client_config import ProducerConfig
    from kcore.client.network.requester import Requester
    from kcore.client.producer.sender_control import SenderControl
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

GROUP_KEY, TRANSACTION_KEY = 0, 1
NOT_COORDINATOR_CODES = frozenset({15, 16})
CONCURRENT_TRANSACTIONS = 51
UNKNOWN_TOPIC_OR_PARTITION = 3
# Pause while the markers of the previous transaction are still being written.
CONCURRENT_PAUSE_MS = 20.0
OPERATION_NOT_ATTEMPTED = 55


class Transactions:
    """The transactions of one producer. `manager` has their state."""

    def __init__(
        self, control: SenderControl, flush: Callable[[], None], requester: Requester, config: ProducerConfig
    ) -> None:
        transactional_id = config["transactional.id"]
        self.manager = TransactionManager(transactional_id)
        self._id: str = transactional_id
        self._control = control
        self._flush = flush
        self._requester = requester
        self._timeout_ms: int = config["transaction.timeout.ms"]
        self._max_block_ms: float = config["max.block.ms"]
        self._backoff_ms: float = config["retry.backoff.ms"]
        self._coordinators: dict[tuple[int, str], Node] = {}
        self._adding: set[tuple[str, int]] = set()
        self._adds_at_ms = 0.0
        # Held while a batch's error is taken and passed to the manager, so that other threads see both or neither.
        self._noting = threading.Lock()

    def check_sending(self) -> None:
        """Raise an error if sending is not allowed. Checks batch errors first: the background thread may be late."""
        self._note_batch_error()
        self.manager.check_sending()

    # The application's thread

    def init(self, *, raises_epoch: bool = False) -> None:
        """InitProducerId: fences earlier producers of the id, and the coordinator ends their transaction."""
        self.manager.begin_initializing()
        fields: dict[str, Any] = {"transactional_id": self._id, "transaction_timeout_ms": self._timeout_ms}
        if raises_epoch:
            fields |= {"producer_id": self.manager.producer_id, "producer_epoch": self.manager.producer_epoch}
        answer = self._ask(TRANSACTION_KEY, self._id, apis.INIT_PRODUCER_ID, fields, lambda answer: answer.error_code)
        self.manager.initialized(answer.producer_id, answer.producer_epoch)
        self._control.set_producer_id(answer.producer_id, answer.producer_epoch)

    def begin(self) -> None:
        self._control.take_transaction_error()
        self.manager.begin()

    def commit(self) -> None:
        """Commit after all sent records are acknowledged."""
        self.manager.begin_committing()
        self._flush()
        self._note_batch_error()
        if self.manager.error is not None:
            raise self.manager.error
        self._end(is_committed=True)

    def abort(self) -> None:
        """Drop unsent records, wait for sent ones, then let the coordinator abort the transaction."""
        self.manager.begin_aborting()
        self._control.abort_undrained()
        self._flush()
        self._control.take_transaction_error()
        self._end(is_committed=False)

    def _end(self, *, is_committed: bool) -> None:
        if self.manager.is_started:
            fields = {**self._identity(), "committed": is_committed}
            self._ask(TRANSACTION_KEY, self._id, apis.END_TXN, fields, lambda answer: answer.error_code)
        self._control.leave_transaction()
        if self.manager.needs_next_epoch:
            self.init(raises_epoch=True)
        else:
            self.manager.ended()

    def send_offsets(self, offsets: Mapping[TopicPartition, Any], group: Any) -> None:
        """Add a consumer's offsets to the transaction. `group` is its metadata, or the group id."""
        self.check_sending()
        if not offsets:
            return
        group_id = group if isinstance(group, str) else group.group_id
        fields = {**self._identity(), "group_id": group_id}
        self._ask(TRANSACTION_KEY, self._id, apis.ADD_OFFSETS_TO_TXN, fields, lambda answer: answer.error_code)
        self.manager.offsets_added()
        places = {TopicPartition(*partition): where for partition, where in offsets.items()}
        rows = by_topic(places, lambda partition: _offset_fields(places[partition]))
        member = {
            "group_id": group_id,
            "generation_id": getattr(group, "generation_id", -1),
            "member_id": getattr(group, "member_id", ""),
            "group_instance_id": getattr(group, "group_instance_id", None),
            "topics": rows,
        }
        self._ask(GROUP_KEY, group_id, apis.TXN_OFFSET_COMMIT, {**self._identity(), **member}, _first_partition_error)

    def _identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self._id,
            "producer_id": self.manager.producer_id,
            "producer_epoch": self.manager.producer_epoch,
        }

    def _ask(
        self, kind: int, key: str, api: Api, fields: Mapping[str, Any], error_of: Callable[[Message], int]
    ) -> Message:
        """Send a request to a coordinator, with retries up to max.block.ms. Other errors end the transaction."""
        deadline_ms = now_ms() + self._max_block_ms
        subject = f"TransactionalId {self._id}: {api.name}"
        while True:
            reason: Exception
            pause_ms = self._backoff_ms
            try:
                answer = self._requester.request(api, fields, self._coordinator(kind, key, deadline_ms))
                code = error_of(answer)
                if code == 0:
                    return answer
                if code in NOT_COORDINATOR_CODES:
                    self._coordinators.pop((kind, key), None)
                if code == CONCURRENT_TRANSACTIONS:
                    pause_ms = CONCURRENT_PAUSE_MS
                elif not by_code(code).retriable or is_fatal_code(code):
                    raise self.manager.failed_with(code, subject)
                reason = broker_error(code, subject)
            except ClientError as error:
                if not error.retriable:
                    self.manager.failed(error)
                    raise
                self._coordinators.pop((kind, key), None)
                reason = error
            if now_ms() + pause_ms >= deadline_ms:
                raise ClientTimeout(
                    f"{subject}: not completed within max.block.ms ({self._max_block_ms:.0f}): {reason}"
                )
            time.sleep(pause_ms / 1000.0)

    def _coordinator(self, kind: int, key: str, deadline_ms: float) -> Node:
        found = self._coordinators.get((kind, key))
        if found is not None:
            return found
        answer = self._requester.request(apis.FIND_COORDINATOR, {"key": key, "key_type": kind})
        subject = f"{'TransactionalId' if kind == TRANSACTION_KEY else 'group'} {key}"
        if answer.error_code:
            if by_code(answer.error_code).retriable:
                raise BrokerUnreachable(f"{subject}: {broker_error(answer.error_code, 'no coordinator')}")
            raise self.manager.failed_with(answer.error_code, subject, answer.error_message)
        found = self._coordinators[kind, key] = Node(answer.node_id, answer.host, answer.port)
        return found

    # Batches

    def _note_batch_error(self) -> None:
        with self._noting:
            code = self._control.take_transaction_error()
            if code:
                self.manager.failed_with(code, f"TransactionalId {self._id}: a record was not written")

    def on_batch_error(self) -> None:
        """Background thread: handle a failed batch."""
        self._note_batch_error()

    def turn(self) -> None:
        """Background thread: add the partitions that batches wait for."""
        if self._adding or now_ms() < self._adds_at_ms:
            return
        partitions = self.manager.new_partitions(self._control.partitions_to_add())
        coordinator = self._coordinators.get((TRANSACTION_KEY, self._id))
        if not partitions:
            return
        if coordinator is None:
            self._find_for_adding()
            return
        self._adding = set(partitions)
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        fields = {
            "v3_and_below_transactional_id": self._id,
            "v3_and_below_producer_id": self.manager.producer_id,
            "v3_and_below_producer_epoch": self.manager.producer_epoch,
            "v3_and_below_topics": [{"name": topic, "partitions": numbers} for topic, numbers in topics.items()],
        }
        self._requester.send(coordinator, apis.ADD_PARTITIONS_TO_TXN, fields, self._take_added)

    def wait_ms(self) -> float:
        left_ms = self._adds_at_ms - now_ms()
        return left_ms if left_ms > 0 else float("inf")

    def _find_for_adding(self) -> None:
        def on_response(answer: Message | None, error: ClientError | None) -> None:
            self._adding.clear()
            if answer is not None and answer.error_code == 0:
                found = Node(answer.node_id, answer.host, answer.port)
                self._coordinators[TRANSACTION_KEY, self._id] = found
                self.turn()
            else:
                self._adds_at_ms = now_ms() + self._backoff_ms

        self._adding = {("", -1)}
        fields = {"key": self._id, "key_type": TRANSACTION_KEY}
        self._requester.send(None, apis.FIND_COORDINATOR, fields, on_response)

    def _take_added(self, answer: Message | None, error: ClientError | None) -> None:
        asked, self._adding = self._adding, set()
        if answer is None:
            self._coordinators.pop((TRANSACTION_KEY, self._id), None)
            self._adds_at_ms = now_ms() + self._backoff_ms
            return
        codes = {
            (topic.name, result.partition_index): result.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }
        added = [partition for partition in asked if codes.get(partition) == 0]
        if added:
            self.manager.added(added)
            self._control.add_to_transaction(added)
        for partition, code in codes.items():
            if code == 0 or code == OPERATION_NOT_ATTEMPTED:
                continue
            if code in NOT_COORDINATOR_CODES:
                self._coordinators.pop((TRANSACTION_KEY, self._id), None)
            if code == CONCURRENT_TRANSACTIONS:
                self._adds_at_ms = now_ms() + CONCURRENT_PAUSE_MS
            elif by_code(code).retriable and not is_fatal_code(code):
                self._adds_at_ms = now_ms() + self._backoff_ms
            else:
                self.manager.failed_with(code, f"TransactionalId {self._id}: partition {partition[0]}-{partition[1]}")
                self._control.fail(code, is_fatal_code(code))
        if len(added) == len(asked):
            self.turn()

    def close(self) -> None:
        """Abort an open transaction."""
        if self.manager.state == IN_TRANSACTION or self.manager.error is not None:
            try:
                self.abort()
            except (ClientError, KafkaError, InvalidTransactionState) as error:
                if not (is_fatal_error(error) or isinstance(error, (ClientError, InvalidTransactionState))):
                    raise


def _offset_fields(given: Any) -> dict[str, Any]:
    if isinstance(given, int):
        return {"committed_offset": given, "committed_metadata": ""}
    epoch = getattr(given, "leader_epoch", None)
    return {
        "committed_offset": given.offset,
        "committed_metadata": getattr(given, "metadata", "") or "",
        "committed_leader_epoch": -1 if epoch is None else epoch,
    }


def _first_partition_error(answer: Message) -> int:
    codes = [partition.error_code for topic in answer.topics for partition in topic.partitions]
    return next((code for code in codes if code), 0)
