"""Three brokers of Apache Kafka in KRaft mode, each in a rack of its own, the first one the controller too.

Its brokers are small, and soon taken for dead, so that leaders move within seconds. Followers serve consumers of their
rack (KIP-392). The controller, node 1, is never ended: a scenario ends the others.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from kcore.client.admin.admin import Admin
from kcore.client.metadata.cluster import TopicPartition
from kcore.testing import FaultProxy
from tests.apache_kafka import ApacheKafka, reserved_ports
from tests.scenarios.scene import Scene

NODES = (1, 2, 3)
JAVA_OPTIONS = ("-Xmx256M", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+UseSerialGC")
PROPERTIES = {
    "controller.quorum.append.linger.ms": "0",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "auto.leader.rebalance.enable": "false",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "1",
}


class ClusterNode(ApacheKafka):
    """One of them; the controller's port is known before any is started."""

    def __init__(self, version: str, directory: Path, node_id: int, controller_port: int) -> None:
        roles = "broker,controller" if node_id == NODES[0] else "broker"
        own = {"node.id": str(node_id), "process.roles": roles, "broker.rack": f"rack-{node_id}"}
        super().__init__(version, directory, {**PROPERTIES, **own}, java_options=JAVA_OPTIONS)
        self.node_id = node_id
        self._reservation, (self.port,) = reserved_ports(1)
        self.controller_port = controller_port

    def _own_properties(self) -> dict[str, str]:
        listeners = f"PLAINTEXT://127.0.0.1:{self.port}"
        if self.node_id == NODES[0]:
            listeners += f",CONTROLLER://127.0.0.1:{self.controller_port}"
        return {
            **super()._own_properties(),
            "controller.quorum.voters": f"{NODES[0]}@127.0.0.1:{self.controller_port}",
            "listeners": listeners,
        }


class ThreeBrokers:
    """`nodes` by id. What a test asks of a Cluster that Scene uses, for the cluster as a whole."""

    session_ms = 6_000
    serves: frozenset[str] = frozenset()

    def __init__(self, name: str, version: str, directory: Path) -> None:
        self.name = name
        self._reservation, (controller_port,) = reserved_ports(1)
        self.nodes = {node: ClusterNode(version, directory / f"node-{node}", node, controller_port) for node in NODES}

    def __enter__(self) -> Self:
        try:
            # One after another, from this thread: each ends with the thread that has started it.
            for node in self.nodes.values():
                node.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for node in self.nodes.values():
            node.close()
        self._reservation.close()

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(node.bootstrap_server for node in self.nodes.values())

    def behind_a_proxy(self) -> FaultProxy:
        return FaultProxy(self.bootstrap_servers)

    # Leaders

    def leader(self, admin: Admin, place: TopicPartition) -> int:
        """-1 while there is none."""
        described = admin.describe_topics([place.topic])[place.topic]
        if isinstance(described, Exception):
            return -1
        return next((info.leader for info in described.partitions if info.partition == place.partition), -1)

    def move(self, admin: Admin, place: TopicPartition, node: int) -> None:
        """Makes a replica the preferred one, and has it elected; returns when it leads."""
        replicas = [node, *(other for other in NODES if other != node)]
        Scene.done(admin.alter_partition_reassignments({place: replicas}))
        Scene.until(lambda: not admin.list_partition_reassignments([place]), f"the new order of {place}'s replicas")

        def is_elected() -> bool:
            admin.elect_leaders(partitions=[place])
            return self.leader(admin, place) == node

        Scene.until(is_elected, f"node {node} as the leader of {place}")

    def await_replicas(self, admin: Admin, place: TopicPartition, count: int) -> None:
        """Returns when so many replicas are in sync."""

        def are_in_sync() -> bool:
            described = admin.describe_topics([place.topic])[place.topic]
            if isinstance(described, Exception):
                return False
            return len(described.partitions[place.partition].in_sync_replicas) == count

        Scene.until(are_in_sync, f"{count} replicas of {place} in sync")
