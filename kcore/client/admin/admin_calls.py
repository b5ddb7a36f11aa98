"""AdminCalls: sends admin requests to the brokers that can answer them.

    any broker         most requests: brokers forward those for the controller (KIP-590)
    the controller     if a broker answers NOT_CONTROLLER, because the cluster is too old to forward
    the leaders        offsets and records: one request for each broker, with the partitions that it leads
    each broker        its log directories, its groups, its own configuration
    the coordinator    a group's or a transaction's: see `coordinator_calls.py`

If a broker does not lead a partition any more, the request is repeated to the new leader: LEADER_ATTEMPTS in total.
Concurrency: one thread at a time.
"""

from __future__ import annotations

import time

from kcore.client.admin.results import failure_of
from kcore.client.errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    ClientError,
    UnknownPartition,
    UnknownTopic,
    broker_error,
)
from kcore.client.metadata.cluster import Node, TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Self

    from kcore.client.admin.results import Failure
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.metadata.cluster import Cluster
    from kcore.client.network.exchange import Fields
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    PartitionFields = Callable[[Sequence[TopicPartition]], dict[str, Any]]

# Timeout for changes that involve other brokers.
ADMIN_TIMEOUT_MS = 30_000
NOT_CONTROLLER = 41
# Outdated metadata: not the leader any more, or another epoch.
MOVED_CODES = frozenset({6, 74, 75})
LEADER_ATTEMPTS = 5
LEADER_BACKOFF_MS = 100


class AdminCalls:
    """Base class of all subjects: one client, and the routes to its brokers."""

    __slots__ = ("_api_timeout_ms", "_coordinators", "client")

    def __init__(self, client: ClusterClient, api_timeout_ms: float | None = None) -> None:
        """`api_timeout_ms` limits a call with all its retries. Default: the client's request timeout."""
        self.client = client
        self._api_timeout_ms = api_timeout_ms
        # The coordinators that `coordinator_calls.py` found, by key type and key.
        self._coordinators: dict[tuple[int, str], Node] = {}

    @classmethod
    def over(cls, client: ClusterClient) -> Self:
        """Use a client that the caller closes."""
        made = cls.__new__(cls)
        AdminCalls.__init__(made, client)
        return made

    # Any broker

    def _request(self, api: Api, fields: Fields, node: Node | None = None) -> Message:
        return self.client.request(api, fields, node)

    def _ask_controller(
        self, api: Api, fields: Mapping[str, Any], codes: Callable[[Message], Iterable[int]]
    ) -> Message:
        """Return the controller's response. `codes` returns the error codes of a response."""
        response = self._request(api, fields)
        if NOT_CONTROLLER not in codes(response):
            return response
        cluster = self._describe_cluster(())
        return self._request(api, fields, cluster.nodes.get(cluster.controller_id))

    def _describe_cluster(self, topics: Iterable[str] | None) -> Cluster:
        """Return brokers, controller, and the named topics or all (Metadata). Does not create topics."""
        return self.client.update_metadata(topics)

    def brokers(self) -> list[Node]:
        """Return every broker, sorted by id."""
        return sorted(self._describe_cluster(()).nodes.values())

    def broker(self, broker_id: int) -> Node:
        """Return a broker by id. Raises ClientError if it is not in the cluster."""
        nodes = self._describe_cluster(()).nodes
        if broker_id not in nodes:
            known = ", ".join(map(str, sorted(nodes)))
            raise ClientError(f"broker {broker_id} is not in the cluster. Its brokers: {known}")
        return nodes[broker_id]

    # Leaders

    def _ask_leaders(
        self, api: Api, partitions: Iterable[TopicPartition], fields: PartitionFields
    ) -> dict[TopicPartition, Message | Failure]:
        """Return the leaders' results for each partition, or its failure.

        A partition without a leader fails at once. Responses have `topics` of `partitions`, each with an index and an
        error code, which becomes the failure.
        """
        wanted = list(dict.fromkeys(partitions))
        outcomes: dict[TopicPartition, Message | Failure] = {}
        pending = wanted
        for attempt in range(LEADER_ATTEMPTS):
            if attempt:
                time.sleep(LEADER_BACKOFF_MS / 1000.0)
            by_leader = self._by_leader(pending, outcomes)
            requests = [(leader, api, fields(led)) for leader, led in by_leader.items()]
            moved = []
            answers = self.client.request_each(requests)
            for led, answer in zip(by_leader.values(), answers, strict=True):
                moved += self._take_parts(led, answer, outcomes)
            if not moved:
                break
            pending = moved
        return {partition: outcomes[partition] for partition in wanted}

    def _by_leader(
        self, partitions: Sequence[TopicPartition], outcomes: dict[TopicPartition, Message | Failure]
    ) -> dict[Node, list[TopicPartition]]:
        """Return the partitions by leader. Partitions without a leader get their failure in `outcomes`."""
        by_leader: dict[Node, list[TopicPartition]] = {}
        if not partitions:
            return by_leader
        cluster = self._describe_cluster(dict.fromkeys(partition.topic for partition in partitions))
        leaders = {
            TopicPartition(topic.name, info.partition): cluster.nodes.get(info.leader)
            for topic in cluster.topics.values()
            for info in topic.partitions
        }
        for partition in partitions:
            leader = leaders.get(partition)
            if leader is None:
                outcomes[partition] = _why_no_leader(cluster, partition)
            else:
                by_leader.setdefault(leader, []).append(partition)
        return by_leader

    @staticmethod
    def _take_parts(
        led: Sequence[TopicPartition],
        answer: Message | ClientError,
        outcomes: dict[TopicPartition, Message | Failure],
    ) -> list[TopicPartition]:
        """Add a leader's response to `outcomes`. Returns the partitions that it does not lead any more."""
        if isinstance(answer, ClientError):
            outcomes.update(dict.fromkeys(led, answer))
            return []
        for partition in led:
            outcomes[partition] = ClientError(f"partition {partition}: the broker's response does not contain it")
        moved = []
        for topic in answer.topics:
            for part in topic.partitions:
                place = TopicPartition(topic.name, part.partition_index)
                detail = getattr(part, "error_message", None)
                outcomes[place] = failure_of(part.error_code, f"partition {place}", detail) or part
                if part.error_code in MOVED_CODES:
                    moved.append(place)
        return moved

    # Each broker

    def _ask_brokers(
        self, api: Api, fields: Mapping[str, Any], brokers: Iterable[Node]
    ) -> dict[int, Message | ClientError]:
        """Return the responses of all brokers to the same request, by broker id."""
        asked = list(brokers)
        answers = self.client.request_each((broker, api, fields) for broker in asked)
        return {broker.id: answer for broker, answer in zip(asked, answers, strict=True)}


def _why_no_leader(cluster: Cluster, partition: TopicPartition) -> Failure:
    topic = cluster.topics.get(partition.topic)
    if topic is None or topic.error_code == UNKNOWN_TOPIC_OR_PARTITION:
        return UnknownTopic(partition.topic)
    if topic.error_code:
        return broker_error(topic.error_code, f"topic {partition.topic}")
    if all(info.partition != partition.partition for info in topic.partitions):
        return UnknownPartition(*partition, len(topic.partitions))
    return broker_error(LEADER_NOT_AVAILABLE, f"partition {partition}")
