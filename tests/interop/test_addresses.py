"""Listeners as clients find them: several ports, IPv4 and IPv6, and the addresses that a broker tells of itself.

Whatever address a client dials, it is told one that it can reach: its bootstrap connection is never the one that it
produces and consumes by.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from kcore.testing.port_reservation import PortReservation
from tests.raw_client import RawClient

TIMEOUT_S = 60

Exchange = Callable[[str, str], None]


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")


class Listening:
    """A broker with given listeners, on ports of the system's choice."""

    def __init__(self, directory: Path, listeners: str, **properties: str) -> None:
        settings = {
            "listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT",
            "log.dirs": str(directory),
            "num.io.threads": "2",
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        self.broker = Broker(BrokerConfig(settings))

    def __enter__(self) -> Listening:
        self.broker.startup()
        self.ports = {listener.name: listener.port for listener in self.broker.bound_listeners}
        return self

    def __exit__(self, *unused: object) -> None:
        self.broker.shutdown()


def told(port: int, host: str) -> set[tuple[str, int]]:
    """The broker's address by Metadata, FindCoordinator and DescribeCluster."""
    with RawClient(port, host) as client:
        metadata = client.request(apis.METADATA, 12, {"topics": []})
        found = client.request(apis.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": ["g"]})
        cluster = client.request(apis.DESCRIBE_CLUSTER, 0, {})
    rows = [*metadata.brokers, *found.coordinators, *cluster.brokers]
    assert len(rows) == 3
    return {(row.host, row.port) for row in rows}


def exchange_by_librdkafka(server: str, topic: str) -> None:
    """Produces and consumes in a group: by the addresses of Metadata and of FindCoordinator."""
    producer = Producer({"bootstrap.servers": server})
    producer.produce(topic, b"value")
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer({"bootstrap.servers": server, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    assert (message.error(), message.value()) == (None, b"value")
    consumer.close()


def exchange_by_kafka_python(server: str, topic: str) -> None:
    with KafkaProducer(bootstrap_servers=server) as producer:
        producer.send(topic, b"value").get(TIMEOUT_S)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=server,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=TIMEOUT_S * 1000,
    )
    assert next(consumer).value == b"value"
    consumer.close()


CLIENTS = [exchange_by_librdkafka, exchange_by_kafka_python]


@needs_ipv6
@pytest.mark.parametrize("exchange", CLIENTS)
@pytest.mark.parametrize(
    ("listener", "dialled"),
    [
        ("PLAINTEXT://[::1]:0", "::1"),
        ("PLAINTEXT://[::]:0", "::1"),
        ("PLAINTEXT://[::]:0", "127.0.0.1"),
        ("PLAINTEXT://:0", "127.0.0.1"),
        ("PLAINTEXT://0.0.0.0:0", "127.0.0.1"),
        ("PLAINTEXT://127.0.0.1:0", "127.0.0.1"),
    ],
)
def test_a_client_is_told_the_address_it_dialled(
    tmp_path: Path, listener: str, dialled: str, exchange: Exchange
) -> None:
    with Listening(tmp_path / "data", listener) as listening:
        port = listening.ports["PLAINTEXT"]
        assert told(port, dialled) == {(dialled, port)}
        exchange(f"[{dialled}]:{port}" if ":" in dialled else f"{dialled}:{port}", "t")


@needs_ipv6
@pytest.mark.parametrize("exchange", CLIENTS)
def test_listeners_on_several_ports_and_families(tmp_path: Path, exchange: Exchange) -> None:
    listeners = "INTERNAL://127.0.0.1:0,EXTERNAL://[::1]:0,PLAINTEXT://127.0.0.2:0"
    with Listening(tmp_path / "data", listeners, inter_broker_listener_name="INTERNAL") as listening:
        for name, host in (("INTERNAL", "127.0.0.1"), ("EXTERNAL", "::1"), ("PLAINTEXT", "127.0.0.2")):
            port = listening.ports[name]
            assert told(port, host) == {(host, port)}
            exchange(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", f"by-{name.lower()}")


@needs_ipv6
def test_advertised_addresses_of_both_families(tmp_path: Path) -> None:
    """What is advertised is told as it stands, by the listener that was dialled; an IPv6 address without brackets."""
    reservation = PortReservation("INTERNAL://127.0.0.1:0,EXTERNAL://[::1]:0")
    ports = [int(listener.rpartition(":")[2]) for listener in reservation.listeners.split(",")]
    settings = {
        "advertised_listeners": f"INTERNAL://localhost:{ports[0]},EXTERNAL://[::1]:{ports[1]}",
        "inter_broker_listener_name": "INTERNAL",
    }
    with closing(reservation), Listening(tmp_path / "data", reservation.listeners, **settings):
        assert told(ports[0], "127.0.0.1") == {("localhost", ports[0])}
        assert told(ports[1], "::1") == {("::1", ports[1])}
        exchange_by_librdkafka(f"[::1]:{ports[1]}", "t")
        brokers = AdminClient({"bootstrap.servers": f"[::1]:{ports[1]}"}).list_topics(timeout=TIMEOUT_S).brokers
        assert [(broker.host, broker.port) for broker in brokers.values()] == [("::1", ports[1])]
