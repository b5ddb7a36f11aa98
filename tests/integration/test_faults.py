"""Faults inside the broker, as clients that others wrote see them; with the data plane native and in Python."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from kcore.protocol import apis, headers
from kcore.testing import EmbeddedBroker, EmbeddedBrokerError
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, fetch, produce, values_of


@pytest.fixture(scope="module", params=["true", "false"], ids=["native", "python"])
def shared(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({"kcli.fast.path.enable": request.param}) as broker:
        yield broker
        assert "Traceback" not in broker.log()


@pytest.fixture
def broker(shared: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    yield shared
    shared.faults.clear()


def metadata_request(correlation_id: int) -> bytes:
    frame = headers.encode_request(apis.METADATA, 12, correlation_id, "raw", {"topics": None})
    return struct.pack(">i", len(frame)) + frame


def received(connection: socket.socket) -> bytes:
    """All that comes until the connection ends."""
    data = b""
    while piece := connection.recv(4096):
        data += piece
    return data


def test_an_error_is_answered_and_nothing_is_written(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic()
    fault = broker.faults.add(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=3)
    with RawClient(broker.port) as client:
        codes = [produce(client, topic, batch([b"%d" % number])).error_code for number in range(5)]
        assert codes == [6, 6, 6, 0, 0]
        assert values_of(fetch(client, topic, 0).records) == [(0, b"3"), (1, b"4")]
    assert fault.hits == 3


def test_librdkafka_tries_again_until_the_error_is_over(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic()
    fault = broker.faults.add(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    producer.produce(topic, b"one")
    assert producer.flush(30) == 0
    assert fault.hits == 2


def test_an_executed_request_may_be_answered_with_an_error(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic()
    broker.faults.add(api="Produce", error="REQUEST_TIMED_OUT", times=1, execute=True)
    with RawClient(broker.port) as client:
        assert produce(client, topic, batch([b"one"])).error_code == 7
        assert values_of(fetch(client, topic, 0).records) == [(0, b"one")]


def test_which_requests_are_struck(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic()
    with RawClient(broker.port) as client:
        broker.faults.add(api="Produce", error="REQUEST_TIMED_OUT", skip=2, times=1)
        assert [produce(client, topic, batch([b"x"])).error_code for _ in range(5)] == [0, 0, 7, 0, 0]
        broker.faults.add(api="Produce", error="REQUEST_TIMED_OUT", client_id="somebody else")
        assert produce(client, topic, batch([b"x"])).error_code == 0
        broker.faults.clear()
        series = []
        for _ in range(2):
            with broker.faults.add(api="Produce", error="REQUEST_TIMED_OUT", probability=0.5, seed=3):
                series.append([produce(client, topic, batch([b"x"])).error_code for _ in range(20)])
        assert series[0] == series[1]
        assert set(series[0]) == {0, 7}
        first = broker.faults.add(api="Produce", error="REQUEST_TIMED_OUT", times=1)
        second = broker.faults.add(api="Produce", error="NOT_ENOUGH_REPLICAS", times=1)
        assert [produce(client, topic, batch([b"x"])).error_code for _ in range(3)] == [7, 19, 0]
        assert (first.hits, second.hits) == (1, 1)


@pytest.mark.parametrize("after_bytes", [0, 1, 3, 4, 8, 20])
def test_the_connection_ends_after_so_many_bytes(broker: EmbeddedBroker, after_bytes: int) -> None:
    with socket.create_connection((broker.host, broker.port), timeout=30) as connection:
        connection.sendall(metadata_request(1))
        size = connection.recv(4)
        whole = size + connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    broker.faults.disconnect(after_bytes, api="Metadata", times=1)
    with socket.create_connection((broker.host, broker.port), timeout=30) as connection:
        connection.sendall(metadata_request(1))
        assert received(connection) == whole[:after_bytes]
    with socket.create_connection((broker.host, broker.port), timeout=30) as connection:
        connection.sendall(metadata_request(1))
        assert connection.recv(len(whole), socket.MSG_WAITALL) == whole


def test_records_may_break_off_in_the_middle(broker: EmbeddedBroker) -> None:
    """A cut within the answer of a fetch: the client reads again, and has everything once."""
    topic = broker.create_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(100):
        producer.produce(topic, b"%d" % number * 1000)
    assert producer.flush(30) == 0
    fault = broker.faults.disconnect(10_000, api="Fetch", times=3)
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    values = [message.value() for message in consumer.consume(100, 60)]
    consumer.close()
    assert values == [b"%d" % number * 1000 for number in range(100)]
    assert fault.hits == 3


def test_a_dropped_answer_never_comes_and_the_request_was_executed(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic()
    fault = broker.faults.drop(api="Produce", times=1)
    with RawClient(broker.port) as client, RawClient(broker.port) as other:
        fields = {
            "transactional_id": None,
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch([b"lost"])}]}],
        }
        client.send(apis.PRODUCE, 9, fields)
        assert fault.wait(1)
        client.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        assert values_of(fetch(other, topic, 0).records) == [(0, b"lost")]
        client.socket.settimeout(30)
        broker.faults.clear()
        assert client.socket.recv(1) == b"", "who has waited in vain is told when faults are over"


def test_a_request_may_be_lost_as_well(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic()
    broker.faults.disconnect(api="Produce", times=1, execute=False)
    with RawClient(broker.port) as client, pytest.raises((EOFError, OSError, AssertionError)):
        produce(client, topic, batch([b"lost"]))
    with RawClient(broker.port) as client:
        assert produce(client, topic, batch([b"kept"])).base_offset == 0


def test_a_delayed_answer_is_waited_for_and_holds_up_nobody_else(broker: EmbeddedBroker) -> None:
    with RawClient(broker.port) as slow, RawClient(broker.port) as fast:
        fault = broker.faults.delay(300, jitter_ms=10, api="Metadata", times=1)
        began = time.monotonic()
        slow.send(apis.METADATA, 12, {"topics": []})
        assert fault.wait(1)
        fast.send(apis.METADATA, 12, {"topics": []})
        assert fast.receive(apis.METADATA, 12).brokers
        assert slow.receive(apis.METADATA, 12).brokers
        assert time.monotonic() - began > 0.29


def test_every_api_at_once(broker: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    with broker.faults.disconnect(), pytest.raises(KafkaException):
        admin.list_topics(timeout=1)
    assert admin.list_topics(timeout=30).brokers


def test_faults_do_not_hold_up_the_end(broker: EmbeddedBroker) -> None:
    with RawClient(broker.port) as dropped, RawClient(broker.port) as delayed:
        fault = broker.faults.drop(api="Metadata", times=1)
        dropped.send(apis.METADATA, 12, {"topics": []})
        assert fault.wait(1)
        fault = broker.faults.delay(3_600_000, api="Metadata", times=1)
        delayed.send(apis.METADATA, 12, {"topics": []})
        assert fault.wait(1)
        assert broker.stop() == 0
        assert "did not" not in broker.log()
        assert dropped.socket.recv(1) == b""
        assert delayed.socket.recv(1) == b""
    broker.start()
    with RawClient(broker.port) as client:
        client.send(apis.METADATA, 12, {"topics": []})
        assert client.receive(apis.METADATA, 12).brokers, "a new process has no faults"


def test_a_broker_inside_this_process_has_faults_too() -> None:
    with EmbeddedBroker(in_process=True, topics=["near"]) as broker, RawClient(broker.port) as client:
        with broker.faults.add(api="Produce", error="NOT_LEADER_OR_FOLLOWER") as fault:
            assert produce(client, "near", batch([b"x"])).error_code == 6
            assert fault.wait(1)
        assert produce(client, "near", batch([b"x"])).base_offset == 0
        with pytest.raises(ValueError, match="must be one of"):
            broker.faults.drop(api="Nothing")


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"api": "Prduce", "error": "REQUEST_TIMED_OUT"}, "must be one of AddOffsets|must be one of"),
        ({"error": "NO_SUCH_ERROR"}, "none of Kafka's"),
        ({}, "without effect"),
        ({"drop": True, "after_bytes": 1}, "cannot be combined"),
        ({"drop": True, "times": 0}, "at least 1"),
        ({"drop": True, "skip": -1}, "negative"),
        ({"drop": True, "probability": 1.5}, "at most 1"),
        ({"after_bytes": -1}, "negative"),
        ({"delay_ms": -1}, "between 0"),
        ({"delay_ms": 1, "execute": False}, "no answer to delay"),
        ({"drop": True, "tims": 1}, "tims"),
    ],
)
def test_what_cannot_be_is_refused(broker: EmbeddedBroker, what: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        broker.faults.add(**what)


def test_a_paused_or_stopped_broker_takes_none(broker: EmbeddedBroker) -> None:
    broker.pause()
    with pytest.raises(EmbeddedBrokerError, match="resume"):
        broker.faults.drop()
    broker.resume()
    broker.stop()
    with pytest.raises(EmbeddedBrokerError, match="is not running"):
        broker.faults.drop()
    broker.start()
