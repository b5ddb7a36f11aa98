"""What Python asks through the codec: versions, many at once, threads, brokers that change between two requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kcore.client.errors import (
    LEADER_NOT_AVAILABLE,
    BrokerUnreachable,
    ClientError,
    InvalidSetting,
    UnsupportedByBroker,
    broker_error,
)
from kcore.client.metadata.cluster import Node
from kcore.client.network.exchange import VERSION_CAPS
from kcore.client.network.requester import PIPELINED, Requester
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.unit.client.network.asking import TIMEOUT_MS, Outcome, ask, requester, settle
from tests.unit.client.network.raw_peer import RawPeer, Talk, framed, metadata_response, serve
from tests.unit.client.peer import CLOSE, Answer, Fields, ScriptedPeer

both_ways = pytest.mark.parametrize("threaded", [False, True], ids=["polled", "threaded"])


def named(version: int, request: Message) -> Fields:
    return {"brokers": [], "topics": [], "cluster_id": request.topics[0].name}


def node(peer: ScriptedPeer | RawPeer) -> Node:
    return Node(1, "127.0.0.1", peer.port)


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    with ScriptedPeer({apis.METADATA.key: named}) as peer:
        yield peer


def fields(name: str) -> dict[str, Any]:
    return {"topics": [{"name": name}]}


@both_ways
def test_the_newest_version_of_both_sides_is_spoken(threaded: bool) -> None:
    def old_broker(version: int, request: Message) -> Fields:
        keys = [{"api_key": 18, "min_version": 0, "max_version": 2}, {"api_key": 3, "min_version": 1, "max_version": 5}]
        return {"error_code": 0, "api_keys": [*keys, {"api_key": 1, "min_version": 30, "max_version": 40}]}

    answers: dict[int, Answer] = {apis.API_VERSIONS.key: old_broker, apis.METADATA.key: named}
    with ScriptedPeer(answers) as peer, requester(peer.port, threaded=threaded) as asking:
        assert asking.version_of(node(peer), apis.METADATA) == 5
        assert asking.request(apis.METADATA, fields("old")).cluster_id == "old"
        assert [version for key, version, _ in peer.requests if key == apis.METADATA.key] == [5]
        with pytest.raises(UnsupportedByBroker, match="the broker supports Fetch 30 to 40, the client"):
            asking.version_of(node(peer), apis.FETCH)
        with pytest.raises(UnsupportedByBroker, match="does not support Produce"):
            asking.request(apis.PRODUCE, {}, node(peer))
        assert asking.versions_of(node(peer)) == {1: (30, 40), 3: (1, 5), 18: (0, 2)}


def test_a_newer_broker_is_spoken_to_within_what_the_client_can(peer: ScriptedPeer) -> None:
    with requester(peer.port) as asking:
        assert asking.version_of(node(peer), apis.FETCH) == VERSION_CAPS[apis.FETCH.key]
        assert asking.version_of(node(peer), apis.CREATE_TOPICS) == apis.CREATE_TOPICS.max_version


@both_ways
def test_a_broker_that_does_not_know_our_api_versions_is_asked_again_in_version_0(threaded: bool) -> None:
    def ancient(version: int, request: Message) -> Fields:
        if version > 0:
            return {"error_code": 35, "api_keys": [], "in_version_0": True}
        return {"error_code": 0, "api_keys": [{"api_key": 3, "min_version": 0, "max_version": 1}]}

    answers: dict[int, Answer] = {apis.API_VERSIONS.key: ancient, apis.METADATA.key: named}
    with ScriptedPeer(answers) as peer, requester(peer.port, threaded=threaded) as asking:
        assert asking.version_of(node(peer), apis.METADATA) == 1
        assert [version for _, version, _ in peer.requests] == [3, 0]


def test_the_client_names_its_software(peer: ScriptedPeer) -> None:
    from kcore import __version__

    with requester(peer.port) as asking:
        asking.versions_of(node(peer))
        (request,) = peer.asked(apis.API_VERSIONS)
        assert (request.client_software_name, request.client_software_version) == ("kcli", __version__)


@pytest.mark.parametrize(("before", "after"), [(9, 4), (4, 9)])
def test_a_broker_that_comes_back_with_other_versions(before: int, after: int) -> None:
    """Downgraded: the version that was spoken before is never sent. Upgraded: it is, and the next one is the newer."""
    asked: list[int] = []

    def speaking(highest: int) -> Answer:
        keys = [{"api_key": 3, "min_version": 1, "max_version": highest}]
        return lambda version, request: {"error_code": 0, "api_keys": keys}

    def ending(version: int, request: Message) -> bytes:
        asked.append(version)
        return CLOSE

    def answering(version: int, request: Message) -> Fields:
        asked.append(version)
        return named(version, request)

    with ScriptedPeer({apis.METADATA.key: ending}) as peer, requester(peer.port, reconnect_backoff_ms=0) as asking:
        peer.answers[apis.API_VERSIONS.key] = speaking(before)
        with pytest.raises(BrokerUnreachable):
            asking.request(apis.METADATA, fields("lost"), node(peer))
        peer.answers |= {apis.API_VERSIONS.key: speaking(after), apis.METADATA.key: answering}
        for name in "ab":
            assert asking.request(apis.METADATA, fields(name), node(peer)).cluster_id == name
    assert asked == [before, min(before, after), after]


@both_ways
def test_many_requests_keep_their_order_and_their_answers(peer: ScriptedPeer, threaded: bool) -> None:
    names = [str(number) for number in range(5 * PIPELINED)]
    with requester(peer.port, threaded=threaded) as asking:
        answers = asking.request_each((node(peer), apis.METADATA, fields(name)) for name in names)
        assert [answer.cluster_id for answer in answers if isinstance(answer, Message)] == names
        assert asking.network.counts()["connections"] == 1


def test_callbacks_come_in_order_from_poll(peer: ScriptedPeer) -> None:
    seen: list[str] = []
    with requester(peer.port) as asking:
        for name in "abc":
            asking.send(
                node(peer),
                apis.METADATA,
                fields(name),
                lambda response, error: seen.append(response.cluster_id if response else str(error)),
            )
        assert asking.in_flight(node(peer)) == 3
        assert seen == []
        while asking.in_flight(node(peer)):
            asking.poll(TIMEOUT_MS)
        assert asking.poll(TIMEOUT_MS) == 0
    assert seen == ["a", "b", "c"]


def test_threads_ask_at_once_and_each_gets_its_own_answers(peer: ScriptedPeer) -> None:
    answers: dict[str, list[str]] = {}

    def run(asking: Requester, thread: str) -> None:
        answers[thread] = [
            asking.request(apis.METADATA, fields(f"{thread}-{number}"), node(peer)).cluster_id for number in range(50)
        ]

    with requester(peer.port, threaded=True) as asking:
        threads = [threading.Thread(target=run, args=(asking, str(number))) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert asking.network.counts()["connections"] == 1
    assert answers == {str(thread): [f"{thread}-{number}" for number in range(50)] for thread in range(4)}


@both_ways
def test_a_request_without_an_answer_is_over_once_it_has_left(threaded: bool) -> None:
    heard: list[int] = []

    def mute(talk: Talk) -> None:
        talk.accept_versions()
        while True:
            api, version, correlation_id, request = talk.request()
            heard.append(api.key)
            if api is apis.METADATA:
                talk.send(framed(metadata_response(version, correlation_id, request.topics[0].name)))

    with RawPeer(mute) as peer, requester(peer.port, threaded=threaded) as asking:
        outcome = Outcome()
        produce = {"transactional_id": None, "acks": 0, "timeout_ms": 1000, "topic_data": []}
        asking.send(node(peer), apis.PRODUCE, produce, outcome, expects_reply=False)
        settle(asking, outcome)
        assert (outcome.response, outcome.error, outcome.calls) == (None, None, 1)
        # The next answer is not taken for one to it.
        assert asking.request(apis.METADATA, fields("next"), node(peer)).cluster_id == "next"
    assert heard == [apis.PRODUCE.key, apis.METADATA.key]


def test_bootstrap_servers_are_tried_in_turn() -> None:
    with RawPeer(serve) as closed:
        pass
    with RawPeer(serve) as peer, requester(closed.port, peer.port) as asking:
        assert asking.request(apis.METADATA, fields("second")).cluster_id == "second"


def test_when_nobody_can_be_reached_every_server_is_named() -> None:
    with RawPeer(serve) as first, RawPeer(serve) as second:
        pass
    with requester(first.port, second.port) as asking:
        with pytest.raises(BrokerUnreachable) as caught:
            asking.request(apis.METADATA, fields("nobody"))
        assert str(caught.value) == f"{first.address}: Connection refused; {second.address}: Connection refused"
        with pytest.raises(BrokerUnreachable, match=f"^{second.address}: Connection refused$"):
            asking.request(apis.METADATA, fields("nobody"), node(second))


def test_a_broker_at_a_bootstrap_address_shares_its_connection(peer: ScriptedPeer) -> None:
    with requester(peer.port) as asking:
        asking.request(apis.METADATA, fields("any"))
        asking.request(apis.METADATA, fields("one"), node(peer))
        assert asking.network.counts()["connections"] == 1
        assert asking.network.node_slot(1) == 0
        # Should the broker move, the bootstrap server is still where it was.
        with ScriptedPeer({apis.METADATA.key: named}) as other:
            assert asking.network.set_node(1, "127.0.0.1", other.port) == 0
            assert asking.network.address(0) == ("127.0.0.1", other.port)
            assert asking.network.address(1) == ("127.0.0.1", peer.port)


def test_retrying_repeats_what_a_broker_calls_passing() -> None:
    attempts: list[int] = []

    def attempt() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise broker_error(LEADER_NOT_AVAILABLE, "topic t")
        return "led"

    with requester() as asking:
        assert asking.retrying(attempt) == "led"
    assert len(attempts) == 3


def test_what_is_not_retriable_is_not_repeated() -> None:
    attempts: list[int] = []

    def attempt() -> None:
        attempts.append(1)
        raise UnsupportedByBroker("never")

    with requester() as asking, pytest.raises(ClientError, match="never"):
        asking.retrying(attempt)
    assert attempts == [1]


def test_nothing_to_ask_is_a_timeout_or_unreachable_at_once() -> None:
    with requester() as asking:
        outcome = ask(asking, "nobody")
        settle(asking, outcome)
        assert outcome.error is not None
        assert outcome.error.retriable


def test_an_asker_may_say_which_versions_it_can_read(peer: ScriptedPeer) -> None:
    made: list[int] = []

    def made_for(version: int) -> dict[str, Any]:
        made.append(version)
        return fields(f"in version {version}")

    with requester(peer.port) as asking:
        for limits, version in (({}, 13), ({"max_version": 8}, 8), ({"min_version": 13}, 13)):
            outcome = Outcome()
            asking.send(None, apis.METADATA, made_for, outcome, **limits)
            settle(asking, outcome)
            assert outcome.response is not None, outcome.text
            assert outcome.response.cluster_id == f"in version {version}"
        outcome = Outcome()
        asking.send(node(peer), apis.METADATA, made_for, outcome, min_version=14, max_version=20)
        assert isinstance(outcome.error, UnsupportedByBroker)
        assert "the broker supports Metadata 0 to 13, the client 14 to 20" in str(outcome.error)
    assert made == [13, 8, 13]


def test_a_request_that_cannot_be_encoded_is_the_askers_error(peer: ScriptedPeer) -> None:
    with requester(peer.port) as asking:
        for _ in range(2):
            with pytest.raises(InvalidSetting, match="MetadataRequest version 13: topics"):
                asking.request(apis.METADATA, {"topics": 5}, node(peer))
        assert asking.request(apis.METADATA, fields("fine"), node(peer)).cluster_id == "fine"


def test_a_callback_that_fails_keeps_no_other_from_its_answer(peer: ScriptedPeer) -> None:
    def failing(response: Message | None, error: ClientError | None) -> None:
        raise ZeroDivisionError("mine")

    with requester(peer.port) as asking:
        outcomes = [Outcome() for _ in range(3)]
        asking.versions_of(node(peer))
        asking.send(node(peer), apis.METADATA, fields("a"), outcomes[0])
        asking.send(node(peer), apis.METADATA, fields("b"), failing)
        for outcome in outcomes[1:]:
            asking.send(node(peer), apis.METADATA, fields("c"), outcome)
        failures = 0
        while asking.in_flight(node(peer)):
            try:
                asking.poll(TIMEOUT_MS)
            except ZeroDivisionError:
                failures += 1
        assert failures == 1
        assert [outcome.calls for outcome in outcomes] == [1, 1, 1]


def test_a_reply_that_has_come_already_is_not_waited_for(peer: ScriptedPeer) -> None:
    with requester(peer.port) as asking:
        asking.versions_of(node(peer))
        outcome = Outcome()
        asking.send(node(peer), apis.METADATA, fields("here"), outcome)
        while asking.network.counts()["responses"] < 2:
            asking.network.poll_for(TIMEOUT_MS)
        # Longer than any test may take.
        assert asking.poll(3_600_000.0) == 1
        assert outcome.response is not None
