"""ClusterClient: a Requester for tools, with lookups of leaders and coordinators.

Concurrency: one thread owns it and polls the network while it waits. If no broker can be reached, a call fails at once;
`retrying` repeats calls only after retriable errors of brokers.
"""

from __future__ import annotations

from kcore.client.config.connection_settings import connection_settings
from kcore.client.errors import (
    LEADER_NOT_AVAILABLE,
    UNKNOWN_TOPIC_OR_PARTITION,
    UnknownPartition,
    UnknownTopic,
    broker_error,
)
from kcore.client.metadata.cluster import NO_CLUSTER, Cluster, Node, TopicDescription, TopicPartition, cluster_from
from kcore.client.network.addresses import USE_ALL_DNS_IPS, bootstrap_addresses
from kcore.client.network.connection_state import connection_states
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.requester import REQUEST_TIMEOUT_MS, Requester
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Self

    from kcore.client.config.client_config import ClientConfig
    from kcore.client.network.connection_state import ConnectionState

GROUP_KEY_TYPE = 0


class ClusterClient(Requester):
    """A client of the cluster with these bootstrap servers. `settings` are those of NetworkClient."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        client_id: str = "kcli",
        request_timeout_ms: float = REQUEST_TIMEOUT_MS,
        client_dns_lookup: str = USE_ALL_DNS_IPS,
        **settings: Any,
    ) -> None:
        servers = bootstrap_addresses(bootstrap_servers, client_dns_lookup)
        network = NetworkClient(servers, client_id=client_id, **settings)
        super().__init__(network, client_id=client_id, request_timeout_ms=request_timeout_ms)
        self.cluster = NO_CLUSTER

    @classmethod
    def configured(cls, config: ClientConfig) -> Self:
        """Return a client with a configuration's settings for connections, requests and retries."""
        client = cls(
            config.texts("bootstrap.servers"),
            client_id=config["client.id"],
            request_timeout_ms=config.number("request.timeout.ms"),
            client_dns_lookup=config["client.dns.lookup"],
            **connection_settings(config),
        )
        client.retries = config.number("retries")
        client.retry_backoff_ms = config.number("retry.backoff.ms")
        client.retry_backoff_max_ms = config.number("retry.backoff.max.ms")
        return client

    def update_metadata(
        self, topics: Iterable[str] | None = None, *, allow_auto_topic_creation: bool = False
    ) -> Cluster:
        """Request the metadata of topics, or of all, and cache it. Errors of topics are in the result."""
        fields = {
            "topics": None if topics is None else [{"name": topic} for topic in topics],
            "allow_auto_topic_creation": allow_auto_topic_creation,
        }
        response = self.request(apis.METADATA, fields)
        if response.error_code:
            raise broker_error(response.error_code, "metadata")
        newer = cluster_from(response)
        self.cluster = self.cluster.merged_with(newer)
        return newer

    def connection_states(self) -> list[ConnectionState]:
        """Return the state of each connection. Only the owning thread may call this."""
        return connection_states(self.network)

    def partitions_of(self, topic: str, *, allow_auto_topic_creation: bool = False) -> list[int]:
        """Return the partitions of a topic. Waits for a topic that is being created."""
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
        """Return the leader of a partition, from the cache if possible."""
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

    def group_coordinator(self, group_id: str) -> Node:
        """Return the coordinator of a group."""

        def attempt() -> Node:
            response = self.request(apis.FIND_COORDINATOR, {"key": group_id, "key_type": GROUP_KEY_TYPE})
            if response.error_code:
                raise broker_error(response.error_code, f"group {group_id}", response.error_message)
            return Node(response.node_id, response.host, response.port)

        return self.retrying(attempt)

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
