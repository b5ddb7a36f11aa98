"""Background: the producer's background thread, for rare work that needs Python.

    metadata        by age, for new topics, and after a request to a former leader
    producer ids    InitProducerId, for idempotence (KIP-98) and transactions
    callbacks       of completed batches, in order

It waits for responses and for the sender's events at once: both wake the requester's reply queue. The network thread
sends its requests. Concurrency: `_condition` guards the metadata, and other threads wait on it for new topics.
"""

from __future__ import annotations

import random
import threading

from kcore.client.clock import now_ms
from kcore.client.errors import ClientError, ClientTimeout, UnknownPartition
from kcore.client.metadata.cluster import cluster_from
from kcore.client.metadata.metadata import Metadata, MetadataChange, MetadataSettings
from kcore.client.network.requester import Requester
from kcore.client.producer.delivery_errors import ProducerClosed
from kcore.client.producer.producer_id import ProducerIdRequest
from kcore.client.producer.transactions import Transactions
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.client.config.client_config import ProducerConfig
    from kcore.client.metadata.cluster import Cluster
    from kcore.client.metadata.metadata import MetadataQuery
    from kcore.client.network.network_client import NetworkClient
    from kcore.client.producer.sender_control import SenderControl
    from kcore.protocol.message import Message

# SenderEvent of kcore/client/producer/sender.pxd.
EVENT_DONE, EVENT_METADATA, EVENT_PRODUCER_ID, EVENT_ERROR, EVENT_LEADERS = 1, 2, 4, 8, 64
NO_LEADER = (-1, -1)
LONGEST_WAIT_MS = 60_000.0


class Background:
    """Background thread of one producer. It controls the sender through `control`. `flush` is the producer's."""

    def __init__(
        self, control: SenderControl, flush: Callable[[], None], network: NetworkClient, config: ProducerConfig
    ) -> None:
        self._control = control
        self._network = network
        self._requester = Requester(
            network,
            client_id=config["client.id"],
            request_timeout_ms=config["request.timeout.ms"],
            threaded=True,
        )
        self.replies = self._requester.replies
        # The random module's own generator belongs to the application, which may seed it.
        self._metadata = Metadata(MetadataSettings.of(config), random.Random().random)
        self.transactions: Transactions | None = None
        self._producer_id: ProducerIdRequest | None = None
        if config["transactional.id"] is not None:
            self.transactions = Transactions(control, flush, self._requester, config)
        elif config["enable.idempotence"]:
            self._producer_id = ProducerIdRequest(self._requester, config)
        self._condition = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name=f"{config['client.id']}-background", daemon=True)

    def start(self) -> None:
        self._thread.start()

    # Other threads

    def await_topic(self, topic: str, partition: int, timeout_ms: float) -> None:
        """Wait until the topic has a partition of that number. Raises its error, or ClientTimeout."""
        deadline_ms = now_ms() + timeout_ms
        with self._condition:
            is_known = self._metadata.want(topic, now_ms())
            if is_known:
                self._metadata.request_update()
            self.replies.wake()
            while self._partition_count(topic) <= partition:
                self._raise_for_topic(topic)
                left_ms = deadline_ms - now_ms()
                if left_ms <= 0:
                    raise self._late(topic, partition, timeout_ms)
                self._condition.wait(min(left_ms, LONGEST_WAIT_MS) / 1000.0)

    def _partition_count(self, topic: str) -> int:
        known = self._metadata.cluster.topics.get(topic)
        return 0 if known is None else len(known.partitions)

    def _raise_for_topic(self, topic: str) -> None:
        """Raise errors that are not retriable. A missing topic may still be created."""
        if self._is_closing:
            raise ProducerClosed("the producer is closed. Create a new one")
        error = self._metadata.errors.get(topic)
        if error is not None and not error.retriable:
            # A new object for each call: a shared exception would keep the frames of all calls.
            raise type(error)(*error.args)

    def _late(self, topic: str, partition: int, timeout_ms: float) -> ClientError:
        count = self._partition_count(topic)
        if count:
            return UnknownPartition(topic, partition, count)
        reason = self._metadata.errors.get(topic) or self._last_failure
        return ClientTimeout(
            f"Topic {topic} not present in metadata after {timeout_ms:.0f} ms (max.block.ms)"
            + (f": {reason}" if reason else "")
        )

    def refuse_in_callback(self, method: str) -> None:
        """Raise RuntimeError if a method that waits for callbacks is called from one."""
        if threading.get_ident() == self._thread.ident:
            raise RuntimeError(
                f"cannot call Producer.{method} in a delivery callback: it would wait for itself. Call it elsewhere"
            )

    def begin_closing(self) -> None:
        """Abort an open transaction, before the last flush."""
        if self.transactions is not None:
            self.transactions.close()

    def close(self) -> None:
        """End the thread and the waits of other threads."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
        self.replies.wake()
        if self._thread.ident is not None:
            self._thread.join()

    def take_leavings(self) -> None:
        """Release the requests that were in flight when the network was closed."""
        self._requester.take_leavings()

    # The thread

    _last_failure: Exception | None = None

    def _run(self) -> None:
        while not self._is_closing:
            try:
                self._turn()
            except Exception:
                # A defect must not silently end deliveries: report it and continue.
                import sys

                sys.excepthook(*sys.exc_info())
                self._requester.turn(1_000.0)

    def _turn(self) -> None:
        self._requester.turn(self._wait_ms())
        events, _ = self._control.take_events()
        if events & EVENT_DONE:
            self._control.deliver()
        if events & EVENT_METADATA:
            self._note_stale()
        if events & EVENT_LEADERS:
            self._take_named_leaders()
        if events & EVENT_PRODUCER_ID and self._producer_id is not None:
            self._producer_id.want()
        self._ask_metadata()
        if self._producer_id is not None:
            self._producer_id.turn(self._control)
        if self.transactions is not None:
            if events & EVENT_ERROR:
                self.transactions.on_batch_error()
            self.transactions.turn()

    def _wait_ms(self) -> float:
        with self._condition:
            wait_ms = self._metadata.next_query_in(now_ms())
        if self._producer_id is not None:
            wait_ms = min(wait_ms, self._producer_id.wait_ms())
        if self.transactions is not None:
            wait_ms = min(wait_ms, self.transactions.wait_ms())
        return min(wait_ms, LONGEST_WAIT_MS)

    # Metadata

    def _note_stale(self) -> None:
        with self._condition:
            for topic in self._control.used_topics():
                self._metadata.want(topic, now_ms())
            self._metadata.request_update()

    def _take_named_leaders(self) -> None:
        """Use newer leaders from produce responses before metadata has them (KIP-951)."""
        with self._condition:
            moved = {
                topic
                for topic, partition, node, epoch in self._control.take_named_leaders()
                if self._metadata.suggest_leader(topic, partition, node, epoch)
            }
            self._apply(self._metadata.cluster, MetadataChange(frozenset(moved)))

    def _ask_metadata(self) -> None:
        with self._condition:
            now = now_ms()
            if self._metadata.next_query_in(now) > 0:
                return
            for topic in self._control.used_topics():
                self._metadata.want(topic, now)
            query = self._metadata.next_query(now)
            if query is None:
                return

        def on_response(response: Message | None, error: ClientError | None) -> None:
            self._take_metadata(query, response, error)

        self._requester.send(None, apis.METADATA, query.fields, on_response)

    def _take_metadata(self, query: MetadataQuery, response: Message | None, error: ClientError | None) -> None:
        with self._condition:
            now = now_ms()
            if response is None:
                self._last_failure = error
                self._metadata.on_failure(query, now)
                if self._metadata.must_rebootstrap(now):
                    self._metadata.rebootstrap(now)
                return
            self._last_failure = None
            error_code = getattr(response, "error_code", 0)
            change = self._metadata.on_answer(query, cluster_from(response), now, error_code)
            self._apply(self._metadata.cluster, change)
            self._condition.notify_all()

    def _apply(self, cluster: Cluster, change: MetadataChange) -> None:
        """Pass the brokers to the network and the leaders to the sender."""
        slots = {node.id: self._network.set_node(node.id, node.host, node.port) for node in cluster.nodes.values()}
        for name in cluster.topics if change.has_other_nodes else change.topics:
            topic = cluster.topics.get(name)
            if topic is None or not topic.partitions:
                continue
            leaders = [NO_LEADER] * (max(info.partition for info in topic.partitions) + 1)
            for info in topic.partitions:
                leaders[info.partition] = (slots.get(info.leader, -1), info.leader_epoch)
            self._control.set_leaders(name, topic.topic_id, leaders)
