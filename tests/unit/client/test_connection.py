"""One connection against a peer that answers as the test says: versions, order, and every way to end."""

from __future__ import annotations

import select
import socket

import pytest

from kcore.client.connection import VERSION_CAPS, Connection
from kcore.client.errors import BrokerUnreachable, ClientError, ClientTimeout, UnsupportedByBroker
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.unit.client.peer import CLOSE, Answer, Fields, ScriptedPeer, answer_versions

TIMEOUT_MS = 5_000.0


class Outcome:
    def __init__(self) -> None:
        self.response: Message | None = None
        self.error: ClientError | None = None
        self.calls = 0

    def __call__(self, response: Message | None, error: ClientError | None) -> None:
        self.response, self.error = response, error
        self.calls += 1


def connected(peer: ScriptedPeer) -> Connection:
    connection = Connection("127.0.0.1", peer.port, "test")
    connection.connect(TIMEOUT_MS)
    return connection


def ask(connection: Connection, timeout_ms: float = TIMEOUT_MS) -> Outcome:
    """Sends a Metadata request and reads until it has come to some end."""
    outcome = Outcome()
    connection.send(apis.METADATA, {"topics": []}, timeout_ms, outcome)
    while not outcome.calls:
        readable, _, _ = select.select([connection], [], [], timeout_ms / 1000)
        if not readable:
            connection.expire(float("inf"))
        connection.receive()
    return outcome


def test_the_newest_version_of_both_sides_is_spoken() -> None:
    def old_broker(version: int, request: Message) -> Fields:
        keys = [{"api_key": 18, "min_version": 0, "max_version": 2}, {"api_key": 3, "min_version": 1, "max_version": 5}]
        return {"error_code": 0, "api_keys": [*keys, {"api_key": 1, "min_version": 30, "max_version": 40}]}

    with ScriptedPeer({apis.API_VERSIONS.key: old_broker}) as peer:
        connection = connected(peer)
        assert connection.version_of(apis.METADATA) == 5
        with pytest.raises(UnsupportedByBroker, match="the broker speaks Fetch 30 to 40, this client"):
            connection.version_of(apis.FETCH)
        with pytest.raises(UnsupportedByBroker, match="does not know Produce"):
            connection.version_of(apis.PRODUCE)
        connection.close()


def test_a_newer_broker_is_spoken_to_within_what_the_client_can() -> None:
    with ScriptedPeer() as peer:
        connection = connected(peer)
        assert connection.version_of(apis.FETCH) == VERSION_CAPS[apis.FETCH.key]
        assert connection.version_of(apis.CREATE_TOPICS) == apis.CREATE_TOPICS.max_version
        connection.close()


def test_a_broker_that_does_not_know_our_api_versions_is_asked_again_in_version_0() -> None:
    def ancient(version: int, request: Message) -> Fields:
        if version > 0:
            return {"error_code": 35, "api_keys": [], "in_version_0": True}
        return {"error_code": 0, "api_keys": [{"api_key": 3, "min_version": 0, "max_version": 1}]}

    with ScriptedPeer({apis.API_VERSIONS.key: ancient}) as peer:
        connection = connected(peer)
        assert [version for _, version, _ in peer.requests] == [3, 0]
        assert connection.version_of(apis.METADATA) == 1
        connection.close()


def test_answers_come_back_in_the_order_of_the_requests() -> None:
    seen: list[str] = []

    def named(version: int, request: Message) -> Fields:
        return {"brokers": [], "topics": [], "cluster_id": request.topics[0].name}

    with ScriptedPeer({apis.METADATA.key: named}) as peer:
        connection = connected(peer)
        for name in ("a", "b", "c"):
            connection.send(
                apis.METADATA,
                {"topics": [{"name": name}]},
                TIMEOUT_MS,
                lambda response, error: seen.append(response.cluster_id if response else str(error)),
            )
        while len(seen) < 3:
            assert select.select([connection], [], [], 5)[0]
            connection.receive()
        connection.close()
    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda version, request: CLOSE, "the broker closed the connection"),
        (lambda version, request: b"\x7f\xff\xff\xff", "a response of 2147483647 bytes"),
        (lambda version, request: b"HTTP/1.1 400", "a response of 1213486160 bytes: this is not a Kafka broker's port"),
        (lambda version, request: b"\xff\xff\xff\xff", "a response of -1 bytes"),
        (lambda version, request: {"correlation_id": 99, "brokers": [], "topics": []}, "answer 99 where 2 was due"),
        (lambda version, request: b"\x00\x00\x00\x05\x00\x00\x00\x02\x00", "unreadable Metadata response"),
    ],
)
def test_every_way_to_end_is_told_once_to_whoever_waits(answer: Answer, reason: str) -> None:
    with ScriptedPeer({apis.METADATA.key: answer}) as peer:
        connection = connected(peer)
        outcome = ask(connection)
        assert isinstance(outcome.error, BrokerUnreachable)
        assert reason in str(outcome.error)
        assert str(outcome.error).startswith(f"127.0.0.1:{peer.port}: ")
        assert not connection.is_open
        connection.close()
        assert outcome.calls == 1


def test_silence_is_a_timeout() -> None:
    with ScriptedPeer({apis.METADATA.key: lambda version, request: None}) as peer:
        connection = connected(peer)
        outcome = ask(connection, timeout_ms=50.0)
        assert isinstance(outcome.error, ClientTimeout)
        assert "no answer to Metadata in time" in str(outcome.error)


def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(BrokerUnreachable, match=f"127.0.0.1:{port}: Connection refused"):
        Connection("127.0.0.1", port, "test").connect(TIMEOUT_MS)


def test_sending_on_a_closed_connection_is_an_error_and_not_a_hang() -> None:
    with ScriptedPeer() as peer:
        connection = connected(peer)
        connection.close()
        with pytest.raises(BrokerUnreachable, match="the connection is closed"):
            connection.send(apis.METADATA, {"topics": []}, TIMEOUT_MS, Outcome())


def test_the_answer_names_the_client_software() -> None:
    with ScriptedPeer({apis.API_VERSIONS.key: answer_versions}) as peer:
        connected(peer).close()
        (request,) = peer.asked(apis.API_VERSIONS)
        assert request.client_software_name == "kcli"
        assert request.client_software_version
