"""The cluster: its id, controller, brokers and metadata quorum.

DescribeCluster (KIP-700), or Metadata for older brokers; UnregisterBroker (KIP-631), DescribeQuorum (KIP-595).
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.admin.admin_calls import AdminCalls
from kcore.client.admin.results import raise_failure
from kcore.client.errors import UnsupportedByBroker
from kcore.client.metadata.cluster import Node
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.protocol.message import Message

# The bits of `authorized_operations` (AclOperation).
OPERATIONS = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
NOT_TOLD = -(2**31)
METADATA_TOPIC = "__cluster_metadata"


class ClusterDescription(NamedTuple):
    """`authorized_operations` is None unless requested. Controller -1: none is known."""

    cluster_id: str | None
    controller_id: int
    brokers: list[Node]
    authorized_operations: frozenset[str] | None = None


class QuorumReplica(NamedTuple):
    """A controller or an observer. Times are -1 if unknown, or if the broker is too old."""

    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


class Quorum(NamedTuple):
    """The leader of the metadata log, and the progress of voters and observers."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]


class ClusterAdmin(AdminCalls):
    __slots__ = ()

    def describe_cluster(self, *, include_authorized_operations: bool = False) -> ClusterDescription:
        """Return the cluster's id, controller and brokers."""
        fields = {"include_cluster_authorized_operations": include_authorized_operations}
        try:
            response = self._request(apis.DESCRIBE_CLUSTER, fields)
        except UnsupportedByBroker:
            cluster = self._describe_cluster(())
            return ClusterDescription(cluster.cluster_id, cluster.controller_id, sorted(cluster.nodes.values()))
        raise_failure(response.error_code, "cluster", response.error_message)
        brokers = sorted(Node(row.broker_id, row.host, row.port, row.rack) for row in response.brokers)
        operations = authorized_operations(response.cluster_authorized_operations)
        return ClusterDescription(response.cluster_id, response.controller_id, brokers, operations)

    def unregister_broker(self, broker_id: int) -> None:
        """Remove a stopped broker from the cluster."""
        response = self._ask_controller(
            apis.UNREGISTER_BROKER, {"broker_id": broker_id}, lambda answer: (answer.error_code,)
        )
        raise_failure(response.error_code, f"broker {broker_id}", response.error_message)

    def describe_quorum(self) -> Quorum:
        """Return the KRaft quorum."""
        topics = [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]
        response = self._request(apis.DESCRIBE_QUORUM, {"topics": topics})
        raise_failure(response.error_code, "quorum", response.error_message)
        [part] = [part for topic in response.topics for part in topic.partitions]
        raise_failure(part.error_code, "quorum", part.error_message)
        voters, observers = (sorted(map(_replica, found)) for found in (part.current_voters, part.observers))
        return Quorum(part.leader_id, part.leader_epoch, part.high_watermark, voters, observers)


def _replica(state: Message) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id, state.log_end_offset, state.last_fetch_timestamp, state.last_caught_up_timestamp
    )


def authorized_operations(bits: int) -> frozenset[str] | None:
    """Return the names of the permitted operations; None if they were not requested."""
    if bits == NOT_TOLD:
        return None
    return frozenset(name for bit, name in OPERATIONS.items() if bits >> bit & 1)
