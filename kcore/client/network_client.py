"""The connections of one client and what it knows of the cluster behind them.

Brokers are reached lazily, by node id; before any is known, the bootstrap servers are tried in turn. A broker that
cannot be reached fails the call at once when nothing else is left to try: waiting longer is the caller's decision,
taken with `retrying`, which repeats what is worth repeating until a deadline.
"""

from __future__ import annotations

import select
import time
from functools import partial

from kcore.client.cluster import NO_CLUSTER, Cluster, Node, TopicDescription, TopicPartition, cluster_from
from kcore.client.connection import Connection, now_ms
from kcore.client.errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    BrokerUnreachable,
    ClientError,
    InvalidSetting,
    UnknownPartition,
    UnknownTopic,
    broker_error,
)
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from kcore.client.connection import OnResponse
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    Result = TypeVar("Result")

DEFAULT_PORT = 9092
CONNECT_TIMEOUT_MS = 10_000
REQUEST_TIMEOUT_MS = 30_000
RETRY_BACKOFF_MS = 50
RETRY_BACKOFF_MAX_MS = 1_000
GROUP_KEY_TYPE = 0
# How many requests `request_each` has on the way, and how long it waits for an answer before it looks at deadlines.
PIPELINED = 64
POLL_MS = 1_000.0


def parse_servers(servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """`host:port,host:port` or a list of such; IPv6 addresses stand in brackets."""
    names = servers.split(",") if isinstance(servers, str) else list(servers)
    parsed = []
    for name in (name.strip() for name in names):
        host, colon, port = name.rpartition(":")
        if not colon or name.endswith("]"):
            host, port = name, str(DEFAULT_PORT)
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise InvalidSetting(f"{name!r}: a server is written HOST:PORT")
        parsed.append((host.strip("[]"), int(port)))
    return parsed


class NetworkClient:
    """Owned by one thread. `poll` does the reading; `send` and `request` write at once."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        client_id: str = "kcli",
        connect_timeout_ms: float = CONNECT_TIMEOUT_MS,
        request_timeout_ms: float = REQUEST_TIMEOUT_MS,
    ) -> None:
        self.bootstrap_servers = parse_servers(bootstrap_servers)
        self.client_id = client_id
        self.connect_timeout_ms = connect_timeout_ms
        self.request_timeout_ms = request_timeout_ms
        self.cluster = NO_CLUSTER
        self._connections: dict[tuple[str, int], Connection] = {}

    # Connections

    def connection_to(self, node: Node) -> Connection:
        return self._connect(node.host, node.port)

    def any_connection(self) -> Connection:
        """One that is open, or else the first broker or bootstrap server that answers."""
        for connection in self._connections.values():
            if connection.is_open:
                return connection
        candidates = [(node.host, node.port) for node in self.cluster.nodes.values()]
        candidates += [server for server in self.bootstrap_servers if server not in candidates]
        reasons = []
        for host, port in candidates:
            try:
                return self._connect(host, port)
            except ClientError as error:
                reasons.append(str(error))
        raise BrokerUnreachable("; ".join(reasons))

    def _connect(self, host: str, port: int) -> Connection:
        connection = self._connections.get((host, port))
        if connection is None or not connection.is_open:
            connection = Connection(host, port, self.client_id)
            connection.connect(self.connect_timeout_ms)
            self._connections[host, port] = connection
        return connection

    def in_flight(self, node: Node) -> int:
        """How many requests to a broker wait for their answers."""
        connection = self._connections.get((node.host, node.port))
        return len(connection.in_flight) if connection is not None else 0

    # Requests

    def send(self, node: Node, api: Api, fields: Mapping[str, Any], on_response: OnResponse | None) -> None:
        self.connection_to(node).send(api, fields, self.request_timeout_ms, on_response)

    def poll(self, timeout_ms: float) -> int:
        """Waits until something arrives, at most so long, and hands out what has; returns the answers handed out."""
        waiting = {c.fileno(): c for c in self._connections.values() if c.is_open and c.in_flight}
        if not waiting:
            return 0
        poller = select.poll()
        for descriptor in waiting:
            poller.register(descriptor, select.POLLIN)
        completed = 0
        for descriptor, _ in poller.poll(max(0.0, timeout_ms)):
            completed += waiting[descriptor].receive()
        now = now_ms()
        for connection in waiting.values():
            connection.expire(now)
        return completed

    def request(
        self, api: Api, fields: Mapping[str, Any], node: Node | None = None, timeout_ms: float | None = None
    ) -> Message:
        """Sends and waits for the answer; other answers that arrive meanwhile are handed out too."""
        connection = self.any_connection() if node is None else self.connection_to(node)
        outcome: list[tuple[Message | None, ClientError | None]] = []

        def on_response(response: Message | None, error: ClientError | None) -> None:
            outcome.append((response, error))

        limit_ms = self.request_timeout_ms if timeout_ms is None else timeout_ms
        connection.send(api, fields, limit_ms, on_response)
        while not outcome:
            self.poll(min(limit_ms, 1_000.0))
        response, error = outcome[0]
        if response is None:
            raise error or BrokerUnreachable(f"{connection}: the connection was closed")
        return response

    def request_each(self, requests: Iterable[tuple[Node, Api, Mapping[str, Any]]]) -> list[Message | ClientError]:
        """Sends many, up to PIPELINED of them unanswered at a time; each gets its answer, or what kept it from one."""
        outcomes: dict[int, Message | ClientError] = {}
        sent = 0

        def take(number: int, response: Message | None, error: ClientError | None) -> None:
            outcomes[number] = response if response is not None else error or BrokerUnreachable("no answer came")

        for number, (node, api, fields) in enumerate(requests):
            while sent - len(outcomes) >= PIPELINED:
                self.poll(POLL_MS)
            sent += 1
            try:
                self.send(node, api, fields, partial(take, number))
            except ClientError as error:
                outcomes[number] = error
        while len(outcomes) < sent:
            self.poll(POLL_MS)
        return [outcomes[number] for number in range(sent)]

    def retrying(self, attempt: Callable[[], Result], timeout_ms: float | None = None) -> Result:
        """Repeats an attempt that fails with a retriable error, with growing pauses, until its time is over."""
        deadline_ms = now_ms() + (self.request_timeout_ms if timeout_ms is None else timeout_ms)
        backoff_ms = float(RETRY_BACKOFF_MS)
        while True:
            try:
                return attempt()
            except KafkaError as error:
                if not error.retriable or now_ms() + backoff_ms >= deadline_ms:
                    raise
            time.sleep(backoff_ms / 1000.0)
            backoff_ms = min(backoff_ms * 2.0, RETRY_BACKOFF_MAX_MS)

    # What is asked of any broker

    def update_metadata(
        self, topics: Iterable[str] | None = None, *, allow_auto_topic_creation: bool = False
    ) -> Cluster:
        """Asks for the given topics, or for all of them, and remembers what it learns; errors stay in the answer."""
        fields = {
            "topics": None if topics is None else [{"name": topic} for topic in topics],
            "allow_auto_topic_creation": allow_auto_topic_creation,
        }
        newer = cluster_from(self.request(apis.METADATA, fields))
        self.cluster = self.cluster.merged_with(newer)
        return newer

    def partitions_of(self, topic: str, *, allow_auto_topic_creation: bool = False) -> list[int]:
        """The partitions of a topic; waits for one that is just being created."""
        known = self.cluster.topics.get(topic)
        if known is None or known.error_code:
            known = self._describe(topic, allow_auto_topic_creation)
        return [info.partition for info in known.partitions]

    def _describe(self, topic: str, allow_auto_topic_creation: bool) -> TopicDescription:
        def attempt() -> TopicDescription:
            newer = self.update_metadata([topic], allow_auto_topic_creation=allow_auto_topic_creation)
            description = newer.topics[topic]
            if description.error_code == UNKNOWN_TOPIC_OR_PARTITION and not allow_auto_topic_creation:
                raise UnknownTopic(topic)
            if description.error_code:
                raise broker_error(description.error_code, f"topic {topic}")
            return description

        return self.retrying(attempt)

    def leader_of(self, partition: TopicPartition) -> Node:
        """The broker that leads a partition, looked up when it is not known."""
        leader = self.cluster.leader_of(partition)
        if leader is not None:
            return leader

        def attempt() -> Node:
            description = self._describe(partition.topic, allow_auto_topic_creation=False)
            if all(info.partition != partition.partition for info in description.partitions):
                raise UnknownPartition(partition.topic, partition.partition, len(description.partitions))
            found = self.cluster.leader_of(partition)
            if found is None:
                raise broker_error(LEADER_NOT_AVAILABLE, f"partition {partition}")
            return found

        return self.retrying(attempt)

    def forget_leader(self, topic: str) -> None:
        """The next look-up asks the cluster: what is remembered of the topic has proved wrong."""
        topics = {name: known for name, known in self.cluster.topics.items() if name != topic}
        self.cluster = self.cluster._replace(topics=topics)

    def group_coordinator(self, group_id: str) -> Node:
        """The broker that coordinates a group."""

        def attempt() -> Node:
            response = self.request(apis.FIND_COORDINATOR, {"key": group_id, "key_type": GROUP_KEY_TYPE})
            if response.error_code:
                raise broker_error(response.error_code, f"group {group_id}", response.error_message)
            return Node(response.node_id, response.host, response.port)

        return self.retrying(attempt)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def __enter__(self) -> NetworkClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
