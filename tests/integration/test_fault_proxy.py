"""FaultProxy before our broker and before Apache Kafka: no client gets past it, and connections fare as asked."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer

from kcore.protocol import apis, headers
from kcore.testing import EmbeddedBroker, FaultProxy
from tests.leftovers import own_ports


@pytest.fixture(scope="module", params=["kcli", pytest.param("kafka", marks=pytest.mark.needs("java", "mvn"))])
def cluster(request: pytest.FixtureRequest) -> Iterator[str]:
    """Bootstrap servers of our broker, and of Apache Kafka 3.9."""
    if request.param == "kcli":
        with EmbeddedBroker() as broker:
            yield broker.bootstrap_servers
    else:
        yield request.getfixturevalue("apache_kafka_39").bootstrap_server


@pytest.fixture
def proxy(cluster: str) -> Iterator[FaultProxy]:
    with FaultProxy(cluster) as proxy:
        yield proxy


@pytest.fixture
def topic(cluster: str) -> str:
    name = f"topic-{os.urandom(4).hex()}"
    admin = AdminClient({"bootstrap.servers": cluster})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(60)
    return name


def consumed(servers: str, topic: str, count: int) -> list[bytes | None]:
    settings = {"bootstrap.servers": servers, "group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    messages = consumer.consume(count, 60)
    consumer.close()
    return [message.value() for message in messages]


def exchange(connection: socket.socket, api: apis.Api, version: int, fields: dict[str, object]) -> object:
    frame = headers.encode_request(api, version, 7, "raw", fields)
    connection.sendall(struct.pack(">i", len(frame)) + frame)
    size = connection.recv(4, socket.MSG_WAITALL)
    answer = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    correlation_id, message = headers.decode_response(api, version, answer)
    assert correlation_id == 7
    return message


def opened(proxy: FaultProxy) -> socket.socket:
    host, _, port = proxy.bootstrap_servers.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_no_version_of_an_answer_leads_past_it(proxy: FaultProxy) -> None:
    """Metadata, FindCoordinator and DescribeCluster, in every version that the broker behind it serves."""
    with opened(proxy) as connection:
        served = {
            entry.api_key: (entry.min_version, entry.max_version)
            for entry in exchange(
                connection, apis.API_VERSIONS, 3, {"client_software_name": "raw", "client_software_version": "1"}
            ).api_keys  # type: ignore[attr-defined]
        }
        seen = set()
        for api in (apis.METADATA, apis.FIND_COORDINATOR, apis.DESCRIBE_CLUSTER):
            low, high = served[api.key]
            assert high <= api.latest_version
            for version in range(max(low, api.min_version), high + 1):
                fields: dict[str, object] = {}
                if api is apis.FIND_COORDINATOR:
                    fields = {"key": "group"} if version < 4 else {"coordinator_keys": ["group"]}
                elif api is apis.METADATA:
                    fields = {"topics": []}
                message = exchange(connection, api, version, fields)
                if api is apis.FIND_COORDINATOR:
                    entries = [message] if version < 4 else message.coordinators  # type: ignore[attr-defined]
                else:
                    entries = message.brokers  # type: ignore[attr-defined]
                seen |= {(entry.host, entry.port) for entry in entries if entry.host}
    assert seen == {("127.0.0.1", port) for port in proxy.ports.values()}


def test_clients_that_others_wrote_work_through_it(proxy: FaultProxy, topic: str, cluster: str) -> None:
    servers = proxy.bootstrap_servers
    metadata = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=30)
    assert f"127.0.0.1:{next(node.port for node in metadata.brokers.values())}" != cluster
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"confluent-kafka")
    assert producer.flush(30) == 0
    other = KafkaProducer(bootstrap_servers=servers)
    other.send(topic, b"kafka-python").get(30)
    other.close()

    async def third() -> bytes:
        async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
            await producer.send_and_wait(topic, b"aiokafka")
        async with AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
            return [(await consumer.getone()).value for _ in range(3)][-1]

    assert asyncio.run(third()) == b"aiokafka"
    expected = [b"confluent-kafka", b"kafka-python", b"aiokafka"]
    assert consumed(servers, topic, 3) == expected
    reader = KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", consumer_timeout_ms=30_000)
    assert [next(reader).value for _ in range(3)] == expected
    reader.close()


def test_large_answers_pass_whole(proxy: FaultProxy, topic: str) -> None:
    producer = Producer({"bootstrap.servers": proxy.bootstrap_servers, "linger.ms": 50})
    values = [os.urandom(100_000) for _ in range(100)]
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0
    assert consumed(proxy.bootstrap_servers, topic, 100) == values


def test_a_producer_loses_and_doubles_nothing_on_bad_lines(proxy: FaultProxy, topic: str, cluster: str) -> None:
    proxy.faults.delay(1, jitter_ms=10, seed=1)
    cut = proxy.faults.disconnect(4, jitter_bytes=20, api="Produce", probability=0.2, seed=2, times=10)
    lost = proxy.faults.disconnect(10, api="Produce", direction="request", probability=0.1, seed=3, times=5)
    producer = Producer({"bootstrap.servers": proxy.bootstrap_servers, "enable.idempotence": True})
    for number in range(200):
        producer.produce(topic, b"%d" % number)
        producer.poll(0.002)
        if number % 20 == 19:
            assert producer.flush(60) == 0
    assert producer.flush(60) == 0
    assert cut.hits + lost.hits > 0
    assert consumed(cluster, topic, 200) == [b"%d" % number for number in range(200)]


def test_a_cut_is_at_the_byte_asked_for(proxy: FaultProxy) -> None:
    frame = headers.encode_request(apis.API_VERSIONS, 0, 7, "raw", {})
    request = struct.pack(">i", len(frame)) + frame
    with opened(proxy) as connection:
        connection.sendall(request)
        size = connection.recv(4, socket.MSG_WAITALL)
        whole = size + connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    for after_bytes in (0, 3, 9, len(whole) - 1):
        proxy.faults.disconnect(after_bytes, api="ApiVersions", times=1)
        with opened(proxy) as connection:
            connection.sendall(request)
            data = b""
            while piece := connection.recv(65536):
                data += piece
            assert data == whole[:after_bytes]


def test_a_dropped_answer_leaves_a_dead_line_until_faults_are_over(proxy: FaultProxy) -> None:
    with opened(proxy) as connection:
        fault = proxy.faults.drop(api="Metadata", times=1)
        frame = headers.encode_request(apis.METADATA, 12, 7, "raw", {"topics": []})
        connection.sendall(2 * (struct.pack(">i", len(frame)) + frame))
        assert fault.wait(1)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        connection.settimeout(30)
        proxy.faults.clear()
        assert connection.recv(1) == b""


def test_a_delay_is_waited_for(proxy: FaultProxy) -> None:
    with opened(proxy) as slow, opened(proxy) as fast:
        fault = proxy.faults.delay(400, api="Metadata", times=1)
        frame = headers.encode_request(apis.METADATA, 12, 7, "raw", {"topics": []})
        began = time.monotonic()
        slow.sendall(struct.pack(">i", len(frame)) + frame)
        assert fault.wait(1)
        assert exchange(fast, apis.METADATA, 12, {"topics": []})
        assert slow.recv(1)
        assert time.monotonic() - began > 0.39


def test_pause_and_disconnect(proxy: FaultProxy) -> None:
    with opened(proxy) as connection:
        exchange(connection, apis.METADATA, 12, {"topics": []})
        (node,) = proxy.ports
        admin = AdminClient({"bootstrap.servers": proxy.bootstrap_servers})
        assert admin.list_topics(timeout=30).brokers
        proxy.pause(node)
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=0.3)
        proxy.resume(node)
        assert admin.list_topics(timeout=30).brokers
        assert proxy.connections > 0
        proxy.disconnect()
        assert connection.recv(1) == b""
        assert admin.list_topics(timeout=30).brokers


def test_faults_of_one_node_leave_others_alone(proxy: FaultProxy) -> None:
    with opened(proxy) as connection:
        exchange(connection, apis.METADATA, 12, {"topics": []})
        (node,) = proxy.ports
        other = proxy.faults.disconnect(node=node + 1)
        this = proxy.faults.disconnect(node=node, skip=1)
        exchange(connection, apis.METADATA, 12, {"topics": []})
        assert (this.hits, other.hits) == (0, 0)
        frame = headers.encode_request(apis.METADATA, 12, 7, "raw", {"topics": []})
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        assert connection.recv(1) == b""
        assert (this.hits, other.hits) == (1, 0)


def test_it_leaves_no_port_and_no_thread() -> None:
    import threading

    # A fixture may have a proxy for the whole session.
    before = set(threading.enumerate())
    with EmbeddedBroker() as broker, FaultProxy(broker.bootstrap_servers) as proxy:
        admin = AdminClient({"bootstrap.servers": proxy.bootstrap_servers})
        assert admin.list_topics(timeout=30).brokers
        ports = set(proxy.ports.values())
        assert ports <= own_ports()
        broker.kill()
        with opened(proxy) as connection:
            connection.settimeout(30)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(1) == b"", "nobody is behind it"
        broker.start()
        assert admin.list_topics(timeout=30).brokers
    assert ports
    assert not ports & own_ports()
    assert "kcli-fault-proxy" not in {thread.name for thread in set(threading.enumerate()) - before}


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"api": "Nothing", "drop": True}, "must be one of"),
        ({}, "without effect"),
        ({"drop": True, "after_bytes": 1}, "cannot be combined"),
        ({"drop": True, "direction": "up"}, "must be request or response"),
        ({"after_bytes": -1}, "negative"),
        ({"delay_ms": -1}, "between 0"),
        ({"error": "REQUEST_TIMED_OUT"}, "error"),
    ],
)
def test_what_cannot_be_is_refused(what: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        FaultProxy("127.0.0.1:1").faults.add(**what)


def test_a_connection_may_be_reset(proxy: FaultProxy) -> None:
    proxy.faults.disconnect(0, reset=True, api="Metadata", times=1)
    frame = headers.encode_request(apis.METADATA, 1, 7, "raw", {"topics": []})
    with opened(proxy) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with opened(proxy) as connection:
        assert exchange(connection, apis.METADATA, 1, {"topics": []})
        proxy.disconnect(reset=True)
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def test_it_takes_no_connection_while_it_refuses(proxy: FaultProxy) -> None:
    with opened(proxy) as before:
        assert exchange(before, apis.METADATA, 1, {"topics": []})
        proxy.refuse()
        assert before.recv(1) == b""
        with opened(proxy) as meanwhile:
            assert meanwhile.recv(1) == b""
    proxy.accept()
    with opened(proxy) as later:
        assert exchange(later, apis.METADATA, 1, {"topics": []})


def test_it_tells_of_every_frame(cluster: str) -> None:
    frames: list[tuple[str, int, int, int]] = []
    with FaultProxy(cluster, on_frame=lambda *frame: frames.append(frame)) as proxy, opened(proxy) as connection:
        exchange(connection, apis.METADATA, 1, {"topics": []})
    (direction, key, version, size), answer = frames
    request = headers.encode_request(apis.METADATA, 1, 7, "raw", {"topics": []})
    assert (direction, key, version, size) == ("request", apis.METADATA.key, 1, len(request) + 4)
    assert answer[:3] == ("response", apis.METADATA.key, 1)
