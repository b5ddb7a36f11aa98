"""Whatever a peer does to a connection, every request ends exactly once, and with what is true of it."""

from __future__ import annotations

import pytest

from kcore.client.errors import BrokerUnreachable, ClientTimeout
from kcore.protocol import apis, headers
from tests.unit.client.network.asking import Outcome, ask, requester, settle
from tests.unit.client.network.raw_peer import (
    RawPeer,
    Script,
    Talk,
    framed,
    metadata_response,
    serve,
    versions_response,
)

both_ways = pytest.mark.parametrize("threaded", [False, True], ids=["polled", "threaded"])
VERSIONS_BYTES = len(framed(versions_response(3, 1)))
METADATA_BYTES = len(framed(metadata_response(12, 2, "cut")))


def ended(outcome: Outcome, kind: type[Exception], reason: str) -> None:
    assert isinstance(outcome.error, kind), outcome.text
    assert reason in str(outcome.error)
    assert outcome.calls == 1


@pytest.mark.parametrize("cut", range(1, METADATA_BYTES))
def test_a_response_may_be_cut_at_every_byte(cut: int) -> None:
    def in_pieces(talk: Talk) -> None:
        talk.accept_versions()
        while True:
            _, version, correlation_id, request = talk.request()
            talk.send_in_pieces(framed(metadata_response(version, correlation_id, request.topics[0].name)), cut)

    with RawPeer(in_pieces) as peer, requester(peer.port) as asking:
        outcomes = [ask(asking, "cut"), ask(asking, "cut again")]
        settle(asking, *outcomes)
        assert [outcome.response and outcome.response.cluster_id for outcome in outcomes] == ["cut", "cut again"]


def test_two_responses_and_a_half_in_one_packet() -> None:
    def together(talk: Talk) -> None:
        talk.accept_versions()
        requests = [talk.request() for _ in range(3)]
        answers = [framed(metadata_response(v, c, request.topics[0].name)) for _, v, c, request in requests]
        talk.send(answers[0] + answers[1] + answers[2][:7])
        talk.send(answers[2][7:])
        talk.request()

    with RawPeer(together) as peer, requester(peer.port) as asking:
        outcomes = [ask(asking, name) for name in "abc"]
        settle(asking, *outcomes)
        assert [outcome.response and outcome.response.cluster_id for outcome in outcomes] == ["a", "b", "c"]


def response_of(size: int, version: int, correlation_id: int) -> bytes:
    """A Metadata response that has this size as a frame, its length included."""
    names = ["x" * 30_000] * (size // 30_100)

    def encoded(padding: int) -> bytes:
        topics = [{"name": name, "partitions": []} for name in names]
        fields = {"brokers": [], "topics": topics, "cluster_id": "y" * padding}
        return framed(headers.encode_response(apis.METADATA, version, correlation_id, fields))

    missing = size - len(encoded(128))
    response = encoded(128 + missing)
    return response if len(response) == size else encoded(128 + missing - (len(response) - size))


@pytest.mark.parametrize("size", [40_000, 65_535, 65_536, 65_537, 65_540, 70_000, 131_072, 3_000_000])
def test_a_response_of_any_size_is_received_whole(size: int) -> None:
    """Around the receive buffer's size, and far beyond it; the next response follows at once."""

    def large(talk: Talk) -> None:
        talk.accept_versions()
        _, version, first, _ = talk.request()
        _, _, second, _ = talk.request()
        response = response_of(size, version, first)
        assert len(response) == size
        talk.send(response + framed(metadata_response(version, second, "behind it")))
        talk.request()

    with RawPeer(large) as peer, requester(peer.port) as asking:
        first, second = ask(asking, "large"), ask(asking, "small")
        settle(asking, first, second)
        assert first.response is not None, first.text
        assert len(first.response.topics) == size // 30_100
        assert all(topic.name == "x" * 30_000 for topic in first.response.topics)
        assert set(first.response.cluster_id) == {"y"}
        assert second.response is not None, second.text
        assert second.response.cluster_id == "behind it"


@pytest.mark.parametrize("length", range(METADATA_BYTES))
def test_a_connection_that_ends_within_a_response(length: int) -> None:
    def half(talk: Talk) -> None:
        talk.accept_versions()
        _, version, correlation_id, _ = talk.request()
        talk.send(framed(metadata_response(version, correlation_id, "cut"))[:length])

    with RawPeer(half, serve) as peer, requester(peer.port) as asking:
        outcome = ask(asking, "cut")
        settle(asking, outcome)
        ended(outcome, BrokerUnreachable, "the broker closed the connection")
        # The client is as good as new.
        again = ask(asking, "again")
        settle(asking, again)
        assert again.response is not None
        assert again.response.cluster_id == "again"
    assert peer.accepted == 2


@pytest.mark.parametrize("length", [0, 1, 3, 4, 8, 9, 12, VERSIONS_BYTES // 2, VERSIONS_BYTES - 1])
def test_a_connection_that_ends_within_the_negotiation(length: int) -> None:
    def half(talk: Talk) -> None:
        _, version, correlation_id, _ = talk.request()
        talk.send(framed(versions_response(version, correlation_id))[:length])

    with RawPeer(half, serve) as peer, requester(peer.port) as asking:
        outcome = ask(asking, "cut")
        settle(asking, outcome)
        ended(outcome, BrokerUnreachable, f"{peer.address}: the broker closed the connection")


def immediate(data: bytes) -> Script:
    def script(talk: Talk) -> None:
        talk.request()
        talk.send(data)
        talk.request()

    return script


@both_ways
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            b"HTTP/1.1 400 Bad Request\r\n",
            "a response of 1213486160 bytes is not acceptable. Is this the port of a Kafka broker?",
        ),
        (b"\x15\x03\x01\x00\x02\x02\x50", "a response of 352518400 bytes"),
        (b"\xff\xff\xff\xff", "a response of -1 bytes"),
        (framed(b""), "unreadable header of the response to ApiVersions"),
        (framed(b"\0\0\0"), "unreadable header of the response to ApiVersions"),
        (framed(b"\0\0\0\1"), "unreadable ApiVersions response"),
        (framed(b"\0\0\0\1\0\0\x05\0"), "unreadable ApiVersions response"),
        (framed(b"\0\0\0\1\0\0\xff\xff\xff\xff\x0f"), "unreadable ApiVersions response"),
        (framed(versions_response(3, 7)), "a response with correlation id 7 instead of 1"),
        (framed(versions_response(3, 1, error=29)), "ApiVersions: "),
    ],
)
def test_what_is_no_answer_to_api_versions(threaded: bool, data: bytes, reason: str) -> None:
    with (
        RawPeer(immediate(data)) as peer,
        requester(peer.port, threaded=threaded, max_response_bytes=100 << 20) as asking,
    ):
        outcome = ask(asking, "garbage")
        settle(asking, outcome)
        ended(outcome, BrokerUnreachable, reason)


def after_negotiation(*answers: bytes) -> Script:
    def script(talk: Talk) -> None:
        talk.accept_versions()
        for answer in answers:
            talk.request()
            talk.send(answer)
        talk.request()

    return script


@both_ways
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x7f\xff\xff\xff", "a response of 2147483647 bytes"),
        (b"\x80\0\0\0", "a response of -2147483648 bytes"),
        (framed(b"\0\0"), "unreadable header of the response to Metadata"),
        (framed(b"\0\0\0\2"), "unreadable header of the response to Metadata"),
        (framed(b"\0\0\0\2\x01\x05"), "unreadable header of the response to Metadata"),
        (framed(b"\0\0\0\2\0\1\2\3"), "unreadable Metadata response"),
        (framed(metadata_response(12, 3, "early")), "a response with correlation id 3 instead of 2"),
        (framed(metadata_response(12, 1, "late")), "a response with correlation id 1 instead of 2"),
    ],
)
def test_what_is_no_answer_to_a_request(threaded: bool, data: bytes, reason: str) -> None:
    with RawPeer(after_negotiation(data)) as peer, requester(peer.port, threaded=threaded) as asking:
        outcome = ask(asking, "garbage")
        settle(asking, outcome)
        ended(outcome, BrokerUnreachable, reason)
        assert str(outcome.error).startswith(f"{peer.address}: ")


def test_answers_out_of_order_end_the_connection_and_all_its_requests() -> None:
    def swapped(talk: Talk) -> None:
        talk.accept_versions()
        asked = [talk.request() for _ in range(3)]
        for _, version, correlation_id, _ in (asked[0], asked[2], asked[1]):
            talk.send(framed(metadata_response(version, correlation_id, "swapped")))
        talk.request()

    with RawPeer(swapped) as peer, requester(peer.port) as asking:
        outcomes = [ask(asking, name) for name in "abc"]
        settle(asking, *outcomes)
        assert outcomes[0].response is not None
        ended(outcomes[1], BrokerUnreachable, "a response with correlation id 4 instead of 3")
        ended(outcomes[2], BrokerUnreachable, "a response with correlation id 4 instead of 3")


def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    def talkative(talk: Talk) -> None:
        talk.accept_versions()
        _, version, correlation_id, _ = talk.request()
        answer = framed(metadata_response(version, correlation_id, "twice"))
        talk.send(answer + answer)
        talk.request()

    with RawPeer(talkative, serve) as peer, requester(peer.port) as asking:
        first = ask(asking, "a")
        settle(asking, first)
        assert first.response is not None
        second = ask(asking, "b")
        settle(asking, second)
        assert second.response is not None
        assert second.response.cluster_id == "b"
    assert peer.accepted == 2


@both_ways
def test_silence_is_a_timeout_and_ends_what_was_asked_behind_it(threaded: bool) -> None:
    def silent(talk: Talk) -> None:
        talk.accept_versions()
        _, version, correlation_id, _ = talk.request()
        talk.send(framed(metadata_response(version, correlation_id, "connected")))
        while True:
            talk.request()

    with RawPeer(silent, serve) as peer, requester(peer.port, threaded=threaded) as asking:
        connected = ask(asking, "connected")
        settle(asking, connected)
        patient = ask(asking, "patient")
        hasty = ask(asking, "hasty", timeout_ms=300.0)
        settle(asking, patient, hasty)
        ended(hasty, ClientTimeout, "no response to Metadata in time")
        # The broker's answer to this one can no longer be told from the other's.
        ended(patient, BrokerUnreachable, "no response in time to Metadata")
        again = ask(asking, "again")
        settle(asking, again)
        assert again.response is not None


@both_ways
def test_a_negotiation_without_an_answer_is_a_timeout(threaded: bool) -> None:
    def silent(talk: Talk) -> None:
        while True:
            talk.request()

    settings = {"socket_connection_setup_timeout_ms": 100, "socket_connection_setup_timeout_max_ms": 100}
    with RawPeer(silent) as peer, requester(peer.port, threaded=threaded, **settings) as asking:
        outcome = ask(asking, "silence")
        settle(asking, outcome)
        ended(outcome, ClientTimeout, "no connection in time")


@both_ways
def test_closing_ends_what_is_in_flight(threaded: bool) -> None:
    def silent(talk: Talk) -> None:
        talk.accept_versions()
        while True:
            talk.request()

    outcomes = []
    with RawPeer(silent) as peer, requester(peer.port, threaded=threaded) as asking:
        outcomes = [ask(asking, name) for name in "abc"]
        while asking.network.counts()["requests"] < 4:
            asking.poll(1.0)
    for outcome in outcomes:
        ended(outcome, BrokerUnreachable, "the client is closed")


def test_a_closed_client_refuses_at_once() -> None:
    with RawPeer(serve) as peer, requester(peer.port) as asking:
        asking.close()
        outcome = ask(asking, "late")
        settle(asking, outcome)
        ended(outcome, BrokerUnreachable, "the client is closed")
        assert peer.accepted == 0
