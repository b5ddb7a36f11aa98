"""Requests as producers and fetchers make them: natively, from their own `finish`, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from kcore.protocol import apis, headers
from kcore.testing import EmbeddedBroker
from kcore.transport.plaintext import PlaintextFactory
from tests.native import build
from tests.unit.client.network.raw_peer import RawPeer, Talk, framed, metadata_response, serve

FETCH_VERSION = 12


@pytest.fixture(scope="module")
def probe() -> ModuleType:
    return build.load("client_probe")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={"empty": 1}) as broker:
        yield broker


def empty_fetch() -> bytes:
    """A fetch that is answered at once, and natively: nothing is there, and it does not wait."""
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
    fields = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 1,
        "session_epoch": -1,
        "topics": [{"topic": "empty", "partitions": [partition]}],
    }
    return headers.encode_request(apis.FETCH, FETCH_VERSION, 0, "test", fields)


def statuses(ok: int) -> list[int]:
    return [ok, 0, 0, 0, 0, 0, 0]


@pytest.fixture
def client(broker: EmbeddedBroker) -> Iterator[NetworkClient]:
    client = NetworkClient([(broker.host, broker.port)])
    thread = NetworkThread(client)
    thread.start()
    yield client
    thread.close()


def test_the_network_never_waits_for_python(probe: ModuleType, client: NetworkClient) -> None:
    """Whoever asks keeps the interpreter lock until all is answered: who needed it would be waited for in vain."""
    told = probe.ask(client, 0, apis.FETCH.key, FETCH_VERSION, empty_fetch(), 1000, 5, keep_interpreter=True)
    assert told["statuses"] == statuses(1000)
    assert told["is_in_time"]


def test_fifty_thousand_requests_through_one_connection(probe: ModuleType, client: NetworkClient) -> None:
    told = probe.ask(client, 0, apis.FETCH.key, FETCH_VERSION, empty_fetch(), 50_000, 8)
    assert told["statuses"] == statuses(50_000)
    counts = client.counts()
    assert counts["connections"] == 1
    assert counts["requests"] == counts["responses"] == 50_001
    # Several leave, and several are received, in one system call.
    assert counts["writes"] < 50_000
    assert counts["reads"] < 50_000
    response = told["bytes_received"] // 50_000
    assert told["bytes_received"] == response * 50_000


@pytest.mark.parametrize("size", [100, 5_000, 70_000])
def test_frames_that_are_kept_stay_as_they_were(probe: ModuleType, size: int) -> None:
    def serve(talk: Talk) -> None:
        talk.accept_versions()
        for number in range(50):
            _, version, correlation_id, _ = talk.request()
            fields = {"brokers": [], "topics": [{"name": f"{number}" * 100, "partitions": []}] * (size // 100)}
            talk.send(framed(headers.encode_response(apis.METADATA, version, correlation_id, fields)))
        talk.request()

    payload = headers.encode_request(apis.METADATA, 12, 0, "test", {"topics": []})
    with RawPeer(serve) as peer:
        client = NetworkClient([("127.0.0.1", peer.port)])
        thread = NetworkThread(client)
        thread.start()
        bodies = probe.hold(client, apis.METADATA.key, 12, payload, 50)
        thread.close()
    names = [{topic.name for topic in apis.METADATA.response.decode(12, body).topics} for body in bodies]
    assert names == [{f"{number}" * 100} for number in range(50)]


def test_a_connection_that_ends_under_native_requests(probe: ModuleType) -> None:
    """A third is answered, the rest is told once each; with some in flight and some not sent."""

    def third(talk: Talk) -> None:
        talk.accept_versions()
        for _ in range(10):
            _, version, correlation_id, _ = talk.request()
            talk.send(framed(metadata_response(version, correlation_id, "answered")))

    payload = headers.encode_request(apis.METADATA, 12, 0, "test", {"topics": []})
    with RawPeer(third, lambda talk: None) as peer:
        client = NetworkClient([("127.0.0.1", peer.port)])
        thread = NetworkThread(client)
        thread.start()
        told = probe.ask(client, 0, apis.METADATA.key, 12, payload, 30, 30)
        thread.close()
    answered, unsent, disconnected, *others = told["statuses"]
    assert answered == 10
    assert unsent + disconnected == 20
    assert others == [0, 0, 0, 0]


@pytest.mark.parametrize("in_flight", [31, 32, 33, 64])
def test_no_packet_waits_for_one_that_never_comes(probe: ModuleType, broker: EmbeddedBroker, in_flight: int) -> None:
    """As many parts as one writev takes, and around it: the last write may not promise more (MSG_MORE, 200 ms)."""
    streams = probe.NotedStreams(PlaintextFactory())
    client = NetworkClient([(broker.host, broker.port)], streams=streams)
    thread = NetworkThread(client)
    thread.start()
    told = probe.ask(client, 0, apis.FETCH.key, FETCH_VERSION, empty_fetch(), in_flight, in_flight)
    assert told["statuses"] == statuses(in_flight)
    assert not streams.promises_more
    thread.close()


def test_requests_to_a_node_that_is_none(probe: ModuleType) -> None:
    client = NetworkClient([])
    thread = NetworkThread(client)
    thread.start()
    assert probe.ask(client, 7, apis.METADATA.key, 12, b"\0" * 16, 3, 3)["statuses"] == [0, 3, 0, 0, 0, 0, 0]
    thread.close()
    assert probe.ask(client, 7, apis.METADATA.key, 12, b"\0" * 16, 3, 3)["statuses"] == [0, 0, 0, 0, 0, 0, 3]


def test_a_version_that_the_broker_does_not_speak_is_never_sent(probe: ModuleType, client: NetworkClient) -> None:
    told = probe.ask(client, 0, apis.FETCH.key, 99, empty_fetch(), 5, 5)
    assert told["statuses"] == [0, 0, 0, 0, 5, 0, 0]
    told = probe.ask(client, 0, 300, 0, empty_fetch(), 5, 5)
    assert told["statuses"] == [0, 0, 0, 0, 5, 0, 0]


def test_a_driver_gets_its_turns_by_time_and_when_it_is_woken(probe: ModuleType) -> None:
    client = NetworkClient([])
    assert probe.drive(client, NetworkThread(client), 20, 1_000_000) >= 21


def test_a_driver_that_wants_a_connection_gets_one_when_there_is_one(probe: ModuleType) -> None:
    """It asks for it in its turns only; those come when the backoff is over and when an attempt has failed."""
    with RawPeer(serve) as peer:
        port = peer.port
    listening: list[RawPeer] = []

    def listen() -> None:
        listening.append(RawPeer(serve, port=port).__enter__())

    client = NetworkClient([("127.0.0.1", port)], reconnect_backoff_ms=10, reconnect_backoff_max_ms=20)
    attempts, refusals = probe.connect_by_driver(client, NetworkThread(client), listen)
    listening[0].__exit__()
    assert attempts + refusals > 3
    assert client.counts()["connections"] == 1


def test_a_node_that_throttles_is_not_ready_and_then_the_driver_has_its_turn(
    probe: ModuleType, broker: EmbeddedBroker
) -> None:
    """KIP-219. Nothing else happens meanwhile that would give it one; a shorter time does not shorten a longer one."""
    client = NetworkClient([(broker.host, broker.port)])
    early_turns, ready_after_ns = probe.throttle_by_driver(client, NetworkThread(client))
    assert early_turns >= 1
    assert ready_after_ns >= 30_000_000
