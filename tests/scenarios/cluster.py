"""The brokers that scenarios run before: ours, Apache Kafka 3.9 and Apache Kafka 4, behind one face.

What a broker cannot do by its version is a capability that it lacks (`SERVES`): a scenario that asks for one by
`@pytest.mark.serves(...)` does not exist for that broker. All are set up alike (PROPERTIES): short sessions and
heartbeats, no waiting for more members, three partitions for offsets and transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcore.testing import FaultProxy
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess

OURS, KAFKA_39, KAFKA_4 = "kcli", "apache-kafka-3.9", "apache-kafka-4"
NAMES = (OURS, KAFKA_39, KAFKA_4)
VERSIONS = {KAFKA_39: "3.9", KAFKA_4: "4"}
CONSUMER_PROTOCOL, TRANSACTIONS = "consumer-protocol", "transactions"
# The consumer protocol of 3.9 is early access, and off; our broker has no transactions yet (CHANGELOG.md).
SERVES = {
    OURS: frozenset({CONSUMER_PROTOCOL}),
    KAFKA_39: frozenset({TRANSACTIONS}),
    KAFKA_4: frozenset({CONSUMER_PROTOCOL, TRANSACTIONS}),
}
SESSION_MS = 3_000
# What a broker with defaults allows at least.
DEFAULT_SESSION_MS = 6_000
HEARTBEAT_MS = 300
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.consumer.min.session.timeout.ms": str(SESSION_MS),
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "offsets.topic.num.partitions": "3",
}
KAFKA_PROPERTIES = {
    **PROPERTIES,
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class Cluster:
    """One broker; `session_ms` is how long a dead member lives on. `restart` and `stopped` keep port and data."""

    def __init__(self, name: str, broker: BrokerProcess | ApacheKafka, session_ms: int = SESSION_MS) -> None:
        self.name = name
        self.session_ms = session_ms
        self._broker = broker

    @property
    def bootstrap_servers(self) -> str:
        return self._broker.bootstrap_server

    @property
    def serves(self) -> frozenset[str]:
        return SERVES[self.name]

    def restart(self, *, kill: bool) -> None:
        """Ends it in good order or by kill -9; returns when it serves again."""
        self._broker.restart(kill=kill)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self._broker.stop()
        try:
            yield
        finally:
            self._broker.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Alive for the kernel, silent for its clients (SIGSTOP)."""
        self._broker.pause()
        try:
            yield
        finally:
            self._broker.resume()

    def behind_a_proxy(self) -> FaultProxy:
        return FaultProxy(self.bootstrap_servers)


@contextmanager
def running(name: str, directory: Path) -> Iterator[Cluster]:
    """A broker of the scenarios' own."""
    if name == OURS:
        with BrokerProcess(directory / "data", PROPERTIES) as ours:
            yield Cluster(name, ours)
        return
    with ApacheKafka(VERSIONS[name], directory / "data", KAFKA_PROPERTIES) as kafka:
        yield Cluster(name, kafka)
