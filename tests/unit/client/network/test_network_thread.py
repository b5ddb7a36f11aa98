"""The engine as producers and consumers run it: a thread that never holds the GIL, requests from any thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kcore.client.network import encoded_request
from kcore.client.network.encoded_request import EncodedRequest, ReplyQueue
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from kcore.protocol import apis, headers
from kcore.protocol.message import Message
from kcore.testing import EmbeddedBroker
from tests.unit.client.peer import Fields, ScriptedPeer

TIMEOUT_MS = 20_000.0
ANY = -1


def metadata_request(topic: str) -> bytes:
    return headers.encode_request(apis.METADATA, 12, 0, "test", {"topics": [{"name": topic}]})


def ask(client: NetworkClient, replies: ReplyQueue, node: int, topic: str) -> EncodedRequest:
    request = EncodedRequest(client, replies, topic)
    request.submit(node, apis.METADATA.key, 12, metadata_request(topic), TIMEOUT_MS)
    return request


def wait_for(replies: ReplyQueue, count: int) -> list[EncodedRequest]:
    taken: list[EncodedRequest] = []
    while len(taken) < count:
        assert replies.wait(TIMEOUT_MS)
        taken += replies.take()
    return taken


def response_of(request: EncodedRequest) -> Message:
    assert request.status == encoded_request.OK, (request.status, request.failure)
    assert request.frame is not None
    return apis.METADATA.response.decode(12, request.frame, request.body)


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    def named(version: int, request: Message) -> Fields:
        return {"brokers": [], "topics": [], "cluster_id": request.topics[0].name}

    with ScriptedPeer({apis.METADATA.key: named}) as peer:
        yield peer


@pytest.fixture
def client(peer: ScriptedPeer) -> Iterator[NetworkClient]:
    client = NetworkClient([("127.0.0.1", peer.port)])
    thread = NetworkThread(client)
    thread.start()
    yield client
    thread.close()


def test_a_request_to_any_node_is_answered(client: NetworkClient) -> None:
    replies = ReplyQueue()
    request = ask(client, replies, ANY, "a")
    assert wait_for(replies, 1) == [request]
    assert response_of(request).cluster_id == "a"
    assert request.node == 0
    assert client.versions(0) is not None


def test_answers_come_in_the_order_of_the_requests(client: NetworkClient) -> None:
    replies = ReplyQueue()
    requests = [ask(client, replies, 0, str(number)) for number in range(1000)]
    assert wait_for(replies, 1000) == requests
    assert [response_of(request).cluster_id for request in requests] == [str(number) for number in range(1000)]
    counts = client.counts()
    assert counts["requests"] == counts["responses"] == 1001
    # What is submitted while the thread is busy leaves in one system call.
    assert counts["writes"] < 1001


def test_a_broker_is_asked_by_its_slot() -> None:
    with EmbeddedBroker(topics={"orders": 3}) as broker:
        host, _, port = broker.bootstrap_servers.partition(":")
        client = NetworkClient([])
        thread = NetworkThread(client)
        thread.start()
        replies = ReplyQueue()
        slot = client.set_node(1, host, int(port))
        assert client.node_slot(1) == slot
        ask(client, replies, slot, "orders")
        (answered,) = wait_for(replies, 1)
        assert [len(topic.partitions) for topic in response_of(answered).topics] == [3]
        thread.close()
