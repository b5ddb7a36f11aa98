"""Connections that end, are made anew, or cannot be made: backoff, idleness, addresses, a broker that restarts."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kcore.client.clock import now_ms
from kcore.client.cluster_client import ClusterClient
from kcore.client.errors import BrokerUnreachable, ClientError, ClientTimeout
from kcore.client.metadata.cluster import Node
from kcore.client.network.failures import END, NONE
from kcore.client.network.requester import Requester
from kcore.protocol import apis
from kcore.testing import EmbeddedBroker
from kcore.testing.port_reservation import PortReservation
from tests.native import build
from tests.unit.client.network.asking import TIMEOUT_MS, ask, requester, settle
from tests.unit.client.network.raw_peer import RawPeer, Talk, framed, metadata_response, serve

both_ways = pytest.mark.parametrize("threaded", [False, True], ids=["polled", "threaded"])
MS = 1_000_000


def cluster_id(asking: Requester, name: str, node: Node | None = None) -> str:
    return str(asking.request(apis.METADATA, {"topics": [{"name": name}]}, node).cluster_id)


def test_a_broker_is_left_alone_for_twice_as_long_after_every_failure() -> None:
    *waits, afresh = build.load("client_probe").backoffs(50 * MS, 1000 * MS, 12)
    for failures, wait in enumerate(waits):
        interval = min(50 * MS * 2**failures, 1000 * MS)
        assert 0.8 * interval <= wait <= 1.2 * interval
    assert 40 * MS <= afresh <= 60 * MS
    # Clients that lost their broker together do not come back together.
    assert len(set(waits[-5:])) > 1


def test_a_maximum_below_the_backoff_counts_for_nothing() -> None:
    for wait in build.load("client_probe").backoffs(50 * MS, 0, 5):
        assert 40 * MS <= wait <= 60 * MS


def test_a_request_waits_out_the_backoff_of_its_broker() -> None:
    # Nobody else's in between.
    reservation = PortReservation("PLAINTEXT://127.0.0.1:0")
    port = int(reservation.listeners.rpartition(":")[2])
    with closing(reservation), requester(port) as asking:
        with pytest.raises(BrokerUnreachable, match="Connection refused"):
            cluster_id(asking, "nobody")
        with RawPeer(serve, port=port):
            assert cluster_id(asking, "somebody") == "somebody"


@both_ways
def test_a_broker_that_restarts_is_found_again(threaded: bool) -> None:
    with EmbeddedBroker(topics={"orders": 3}) as broker, requester(broker.port, threaded=threaded) as asking:
        node = Node(1, broker.host, broker.port)
        topics = {"topics": [{"name": "orders"}]}
        assert len(asking.request(apis.METADATA, topics, node).topics[0].partitions) == 3
        for kill in (False, True):
            broker.restart(kill=kill)
            # What was sent to the old one may be lost, and is told so; the connection after it is as good as new.
            while True:
                try:
                    again = asking.request(apis.METADATA, topics, node)
                    break
                except BrokerUnreachable:
                    continue
            assert len(again.topics[0].partitions) == 3
        assert asking.network.counts()["connections"] == 3


def test_an_idle_connection_is_closed_by_the_client() -> None:
    closed = threading.Event()

    def wait_for_the_end(talk: Talk) -> None:
        try:
            serve(talk)
        finally:
            closed.set()

    idle = {"connections_max_idle_ms": 300}
    with RawPeer(wait_for_the_end, serve) as peer, requester(peer.port, threaded=True, **idle) as asking:
        assert cluster_id(asking, "first") == "first"
        assert closed.wait(TIMEOUT_MS / 1000)
        assert cluster_id(asking, "second") == "second"
        assert asking.network.counts()["connections"] == 2


def test_a_connection_with_a_request_in_flight_is_not_idle() -> None:
    may_answer = threading.Event()

    def slow(talk: Talk) -> None:
        talk.accept_versions()
        _, version, correlation_id, request = talk.request()
        assert may_answer.wait(TIMEOUT_MS / 1000)
        talk.send(framed(metadata_response(version, correlation_id, request.topics[0].name)))
        talk.request()

    with RawPeer(slow) as peer, requester(peer.port, connections_max_idle_ms=10) as asking:
        outcome = ask(asking, "slow")
        waits = 0
        until_ms = now_ms() + 200.0
        while now_ms() < until_ms:
            asking.network.poll_for(until_ms - now_ms())
            waits += 1
        # It is waited for, and not asked about again and again.
        assert waits < 20
        assert outcome.calls == 0
        may_answer.set()
        settle(asking, outcome)
        assert outcome.response is not None, outcome.text


def test_a_broker_that_closes_an_idle_connection_fails_no_request() -> None:
    def once(talk: Talk) -> None:
        talk.accept_versions()
        _, version, correlation_id, request = talk.request()
        talk.send(framed(metadata_response(version, correlation_id, request.topics[0].name)))

    with RawPeer(once, serve) as peer, requester(peer.port) as asking:
        assert cluster_id(asking, "first") == "first"
        while asking.network.failure(0)[0] == NONE:
            asking.network.poll_for(TIMEOUT_MS)
        assert asking.network.failure(0)[0] == END
        assert cluster_id(asking, "second") == "second"


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port whose backlog is full: connections to it are neither made nor refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = []
        try:
            for _ in range(4):
                connection = socket.socket()
                waiting.append(connection)
                connection.setblocking(False)
                connection.connect_ex(address)
            yield address[1]
        finally:
            for connection in waiting:
                connection.close()


@both_ways
def test_a_server_that_does_not_react_is_given_up_for_the_next(threaded: bool) -> None:
    limit = {"socket_connection_setup_timeout_ms": 50}
    with deaf_port() as deaf, RawPeer(serve) as peer, requester(deaf, peer.port, threaded=threaded, **limit) as asking:
        assert cluster_id(asking, "next") == "next"


@both_ways
def test_a_request_ends_in_time_though_no_connection_comes(threaded: bool) -> None:
    with deaf_port() as deaf, requester(deaf, threaded=threaded) as asking:
        outcomes = [ask(asking, name, timeout_ms=50.0) for name in "ab"]
        settle(asking, *outcomes)
        for outcome in outcomes:
            assert isinstance(outcome.error, ClientTimeout)
            assert "no connection in time" in str(outcome.error)
        with pytest.raises(ClientTimeout, match="no connection in time"):
            asking.request(apis.METADATA, {"topics": []}, Node(1, "127.0.0.1", deaf), timeout_ms=50.0)


def test_a_name_is_looked_up_and_all_its_addresses_tried() -> None:
    """Where the machine's own name has an IPv6 address too, nobody listens there."""
    with RawPeer(serve) as peer, ClusterClient(f"localhost:{peer.port}") as client:
        assert cluster_id(client, "by name") == "by name"


def test_a_name_that_nobody_has() -> None:
    with ClusterClient("nobody.invalid:9092") as client, pytest.raises(BrokerUnreachable) as caught:
        client.update_metadata([])
    assert str(caught.value).startswith("nobody.invalid:9092: ")


def test_a_name_that_can_be_none_is_refused() -> None:
    with pytest.raises(ValueError, match="is no name of a host"):
        ClusterClient("a" * 300 + ":9092")


def test_a_broker_that_moved_is_asked_where_it_is() -> None:
    """Its new address counts from the next connection on."""

    def old(talk: Talk) -> None:
        talk.accept_versions()
        for _ in range(2):
            _, version, correlation_id, _ = talk.request()
            talk.send(framed(metadata_response(version, correlation_id, "old")))

    with RawPeer(old) as before, RawPeer(serve) as after, requester(threaded=False) as asking:
        assert cluster_id(asking, "x", Node(5, "127.0.0.1", before.port)) == "old"
        moved = Node(5, "127.0.0.1", after.port)
        assert cluster_id(asking, "x", moved) == "old"
        while asking.network.failure(0)[0] == NONE:
            asking.network.poll_for(TIMEOUT_MS)
        assert cluster_id(asking, "new", moved) == "new"


INTERRUPTED = """
import sys
from tests.unit.client.network.asking import requester
from kcore.protocol import apis
with requester(int(sys.argv[1]), threaded=sys.argv[2] == "True", request_timeout_ms=600_000) as asking:
    try:
        asking.request(apis.METADATA, {"topics": []})
    except KeyboardInterrupt:
        print("interrupted")
"""


@both_ways
def test_an_interrupt_ends_a_wait_at_once(threaded: bool) -> None:
    asked = threading.Event()

    def silent(talk: Talk) -> None:
        talk.accept_versions()
        talk.request()
        asked.set()
        talk.request()

    with RawPeer(silent) as peer:
        command = [sys.executable, "-c", INTERRUPTED, str(peer.port), str(threaded)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert asked.wait(60)
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=60)
        assert (printed, process.returncode) == ("interrupted\n", 0)


def test_every_error_of_a_connection_may_pass() -> None:
    """Callers repeat what is retriable: a broker that is away may come back."""
    with requester(1) as asking, pytest.raises(ClientError) as caught:
        cluster_id(asking, "nobody")
    assert caught.value.retriable


UNCLOSED = """
import sys
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from kcore.client.network.requester import Requester
from kcore.protocol import apis
network = NetworkClient([("127.0.0.1", int(sys.argv[1]))])
NetworkThread(network).start()
print(Requester(network, threaded=True).request(apis.METADATA, {"topics": [{"name": "left open"}]}).cluster_id)
"""


def test_a_program_that_closes_nothing_ends_all_the_same() -> None:
    with RawPeer(serve) as peer:
        command = [sys.executable, "-c", UNCLOSED, str(peer.port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr, done.returncode) == ("left open\n", "", 0)
