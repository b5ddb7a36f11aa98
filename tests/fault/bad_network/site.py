"""What the rounds of one process share: a broker in a process of its own, a proxy before it, and a way past that."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from kcore.client.admin.results import raise_first
from kcore.client.admin.topics import NewTopic, TopicAdmin
from kcore.client.cluster_client import ClusterClient
from kcore.testing import EmbeddedBroker, FaultProxy
from tests.fault.bad_network.log_records import values_in

if TYPE_CHECKING:
    from kcore.testing.fault_proxy.proxy import OnFrame

PROPERTIES = {
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "group.consumer.min.session.timeout.ms": 100,
    "group.consumer.session.timeout.ms": 2_000,
    "group.consumer.min.heartbeat.interval.ms": 10,
    "group.consumer.heartbeat.interval.ms": 50,
    "log.segment.delete.delay.ms": 0,
    "auto.create.topics.enable": "false",
}


class Site:
    """`servers` lead through the proxy."""

    def __init__(self, on_frame: OnFrame | None = None) -> None:
        self.broker = EmbeddedBroker(PROPERTIES)
        self._on_frame = on_frame

    def __enter__(self) -> Self:
        self.broker.start()
        self.proxy = FaultProxy(self.broker.bootstrap_servers, on_frame=self._on_frame).start()
        self._client = ClusterClient(self.broker.bootstrap_servers)
        self._topics = TopicAdmin(self._client)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()
        self.proxy.close()
        self.broker.close()

    @property
    def servers(self) -> str:
        return self.proxy.bootstrap_servers

    def create(self, topic: str, partitions: int) -> None:
        raise_first(self._topics.create_topics([NewTopic(topic, partitions)]))

    def delete(self, topic: str) -> None:
        raise_first(self._topics.delete_topics([topic]))

    def log(self, topic: str, partition: int) -> list[bytes | None]:
        """The values that the broker has, read from its files."""
        return values_in(self.broker.data_dir / f"{topic}-{partition}")
