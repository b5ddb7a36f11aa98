"""The Fetcher before scripted leaders: sessions, positions, what goes wrong, and what it tells of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kcore import errors
from kcore.client.consumer.consumer_record import ConsumerRecord
from kcore.client.consumer.fetch_event import EventKind, FetchEvent
from kcore.client.consumer.fetch_settings import READ_COMMITTED, FetchSettings
from kcore.client.consumer.fetcher import Fetcher
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from tests.unit.client.consumer.fetch_peer import FetchPeer, asked, forgotten
from tests.unit.client.consumer.test_fetched_partition import INTERLEAVED, offsets, plain, values
from tests.unit.client.peer import CLOSE

TIMEOUT_MS = 20_000.0
# Answered at once by no test: the peer waits for what it is to say.
SETTINGS = FetchSettings(retry_backoff_ms=1, retry_backoff_max_ms=2)
ONE, TWO, OTHER = ("orders", 0), ("orders", 1), ("other", 0)
OFFSET_OUT_OF_RANGE, NOT_LEADER, UNKNOWN_TOPIC_ID, FENCED, AUTHORIZATION = 1, 6, 100, 74, 29
SESSION_NOT_FOUND, SESSION_EPOCH = 70, 71
FIRST_ID, SECOND_ID = b"\1" * 16, b"\2" * 16


class Reader:
    """A fetcher with its network thread, and the node slots of its peers."""

    def __init__(self, peers: list[FetchPeer], settings: FetchSettings) -> None:
        self.network = NetworkClient([], reconnect_backoff_ms=1, reconnect_backoff_max_ms=2)
        self.fetcher = Fetcher(self.network, settings)
        self.fetcher.start()
        self.nodes = [self.network.set_node(number, "127.0.0.1", peer.port) for number, peer in enumerate(peers)]
        self.thread = NetworkThread(self.network)
        self.is_started = False

    def read(
        self,
        *partitions: tuple[str, int],
        offset: int = 0,
        epoch: int = -1,
        topic_id: bytes | None = None,
        node: int = 0,
    ) -> None:
        """Takes partitions up; the first request names all that the first call does."""
        for partition in partitions:
            self.fetcher.assign(partition, topic_id, offset, epoch)
            self.fetcher.set_leader(partition, self.nodes[node], 5)
        if not self.is_started:
            self.is_started = True
            self.thread.start()

    def take(self, limit: int = 1000) -> list[ConsumerRecord]:
        return self.fetcher.take_records(limit, TIMEOUT_MS)

    def next_event(self) -> FetchEvent:
        while True:
            for event in self.fetcher.take_events():
                return event
            # An event of a partition may stand behind its records: the reader gets it on its way.
            assert self.fetcher.take_records(1, 1) == []


def test_who_does_not_wait_leaves_the_wakeup_to_who_does() -> None:
    """A `wakeup`, or a callback that is due, just before the records are looked at must end the wait behind it."""
    with reading() as reader:
        reader.fetcher.wake()
        assert reader.fetcher.take_records(10, 0) == []
        assert len(reader.fetcher.take_columns(10, 0)) == 0
        assert reader.fetcher.wakeup.wait_for(0)


@contextmanager
def reading(*peers: FetchPeer, **settings: Any) -> Iterator[Reader]:
    reader = Reader(list(peers), SETTINGS._replace(**settings))
    try:
        yield reader
    finally:
        for peer in peers:
            peer.give_bytes(CLOSE)
        reader.thread.close()
        assert reader.fetcher.requests_in_flight == 0


@pytest.fixture
def peer() -> Iterator[FetchPeer]:
    with FetchPeer() as peer:
        yield peer


@pytest.fixture
def reader(peer: FetchPeer) -> Iterator[Reader]:
    with reading(peer) as reader:
        yield reader


def test_the_next_fetch_leaves_before_the_reader_has_seen_the_answer(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE)
    assert asked(peer.next_fetch()) == {ONE: 0}
    peer.give({ONE: {"records": plain(0, b"a", b"b")}})
    assert asked(peer.next_fetch()) == {ONE: 2}
    assert reader.fetcher.positions() == {ONE: (0, None)}
    assert values(reader.take(1)) == [b"a"]
    assert reader.fetcher.positions() == {ONE: (1, None)}
    assert values(reader.take()) == [b"b"]
    assert reader.fetcher.positions() == {ONE: (2, None)}
    assert reader.fetcher.watermarks() == {ONE: (0, 1000, 1000)}


def test_requests_carry_the_settings(peer: FetchPeer) -> None:
    wanted = {"fetch_min_bytes": 7, "fetch_max_wait_ms": 123, "client_rack": "r1", "max_partition_fetch_bytes": 4321}
    with reading(peer, **wanted, isolation_level=READ_COMMITTED) as reader:
        reader.read(ONE, offset=9, epoch=3)
        request = peer.next_fetch()
        assert (request.min_bytes, request.max_wait_ms, request.rack_id, request.isolation_level) == (7, 123, "r1", 1)
        assert request.max_bytes == 4321
        (partition,) = request.topics[0].partitions
        assert (partition.fetch_offset, partition.partition_max_bytes) == (9, 4321)
        assert (partition.current_leader_epoch, partition.last_fetched_epoch) == (5, 3)


def test_a_session_is_told_of_changes_only(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, TWO, OTHER, offset=4)
    request = peer.next_fetch()
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == {ONE: 4, TWO: 4, OTHER: 4}
    peer.give({ONE: {}, TWO: {"records": plain(4, b"x")}, OTHER: {}})
    request = peer.next_fetch()
    assert (request.session_id, request.session_epoch) == (77, 1)
    assert (asked(request), forgotten(request)) == ({TWO: 5}, set())
    reader.fetcher.pause(OTHER)
    peer.give()
    request = peer.next_fetch()
    assert (request.session_epoch, asked(request), forgotten(request)) == (2, {}, {OTHER})
    reader.fetcher.unassign(ONE)
    reader.fetcher.resume(OTHER)
    peer.give()
    request = peer.next_fetch()
    assert (request.session_epoch, asked(request), forgotten(request)) == (3, {OTHER: 4}, {ONE})
    reader.fetcher.seek(TWO, 2)
    peer.give()
    assert asked(peer.next_fetch()) == {TWO: 2}


@pytest.mark.parametrize(("error", "next_id"), [(SESSION_NOT_FOUND, 0), (SESSION_EPOCH, 77)])
def test_a_session_that_the_broker_has_lost_is_begun_anew(
    error: int, next_id: int, peer: FetchPeer, reader: Reader
) -> None:
    reader.read(ONE, TWO)
    peer.next_fetch()
    peer.give({ONE: {}, TWO: {}})
    peer.next_fetch()
    peer.give(error_code=error, session_id=0)
    request = peer.next_fetch()
    assert (request.session_id, request.session_epoch) == (next_id, 0)
    assert asked(request) == {ONE: 0, TWO: 0}
    peer.give({ONE: {"records": plain(0, b"a")}})
    assert values(reader.take()) == [b"a"]


def test_without_a_session_everything_is_said_each_time(peer: FetchPeer, reader: Reader) -> None:
    peer.session_id = 0
    reader.read(ONE, TWO)
    for _ in range(3):
        request = peer.next_fetch()
        assert (request.session_id, request.session_epoch) == (0, 0)
        assert asked(request) == {ONE: 0, TWO: 0}
        peer.give({ONE: {}, TWO: {}})


@pytest.mark.parametrize("version", [4, 6, 8, 11, 12, 17])
def test_brokers_of_other_versions(version: int) -> None:
    with FetchPeer(version) as peer, reading(peer) as reader:
        reader.read(ONE)
        peer.next_fetch()
        peer.give({ONE: {"records": plain(0, b"a")}})
        assert values(reader.take()) == [b"a"]
        # By name while no id is known.
        assert peer.fetches.get(timeout=60)[0] == min(version, 12)


def test_a_broker_that_is_too_old_is_told_of_again_and_again() -> None:
    with FetchPeer(3) as peer, reading(peer) as reader:
        reader.read(ONE)
        assert [reader.next_event().kind for _ in range(3)] == [EventKind.NODE_FAILED] * 3
        assert peer.fetches.empty()


def test_topics_go_by_id_once_it_is_known(peer: FetchPeer, reader: Reader) -> None:
    peer.ids["orders"] = FIRST_ID
    reader.read(ONE, topic_id=FIRST_ID)
    assert asked(peer.next_fetch()) == {(FIRST_ID, 0): 0}
    peer.give({ONE: {"records": plain(0, b"a")}})
    assert values(reader.take()) == [b"a"]
    peer.next_fetch()
    # Made anew under the same name: the session knows it by the former id.
    reader.fetcher.set_topic_id("orders", SECOND_ID)
    peer.give()
    request = peer.next_fetch()
    assert (request.session_id, request.session_epoch, asked(request)) == (77, 0, {(SECOND_ID, 0): 1})
    peer.give({ONE: {"records": plain(1, b"of the former")}})
    peer.next_fetch()
    assert reader.fetcher.take_records(1, 1) == []


def test_an_answer_that_a_seek_has_overtaken_is_dropped(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, TWO)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"buffered")}, TWO: {"records": plain(0, b"kept")}})
    peer.next_fetch()
    reader.fetcher.seek(ONE, 50)
    peer.give({ONE: {"records": plain(1, b"on its way")}})
    assert asked(peer.next_fetch()) == {ONE: 50}
    peer.give({ONE: {"records": plain(50, b"sought")}})
    peer.next_fetch()
    taken = reader.take() + reader.fetcher.take_records(10, 1)
    assert values(taken) == [b"kept", b"sought"]
    assert reader.fetcher.positions() == {ONE: (51, None), TWO: (1, None)}


def test_a_seek_in_the_middle_of_an_answer(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a", b"b", b"c")}})
    peer.next_fetch()
    assert values(reader.take(1)) == [b"a"]
    reader.fetcher.seek(ONE, 0)
    peer.give()
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a", b"b", b"c")}})
    assert values(reader.take()) == [b"a", b"b", b"c"]


def test_what_was_fetched_for_a_paused_partition_is_kept(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, TWO)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a", b"b")}, TWO: {"records": plain(0, b"other")}})
    request = peer.next_fetch()
    assert values(reader.take(1)) == [b"a"]
    reader.fetcher.pause(ONE)
    assert values(reader.take()) == [b"other"]
    assert reader.fetcher.take_records(1, 1) == []
    reader.fetcher.resume(ONE)
    assert values(reader.take()) == [b"b"]
    assert asked(request) == {ONE: 2, TWO: 1}


def test_an_unassigned_partition_gives_nothing(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, TWO)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a", b"b")}, TWO: {"records": plain(0, b"other")}})
    peer.next_fetch()
    assert values(reader.take(1)) == [b"a"]
    reader.fetcher.unassign(ONE)
    assert values(reader.take()) == [b"other"]
    assert reader.fetcher.positions() == {TWO: (1, None)}
    assert reader.fetcher.take_records(1, 1) == []
    with pytest.raises(KeyError, match="orders-0 is not assigned"):
        reader.fetcher.seek(ONE, 0)
    # Taken up again, at another place.
    reader.read(ONE, offset=70)
    peer.give()
    assert asked(peer.next_fetch())[ONE] == 70


def test_out_of_range_comes_behind_the_records_and_waits_for_a_seek(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, TWO)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a")}, TWO: {}})
    peer.next_fetch()
    peer.give({ONE: {"error_code": OFFSET_OUT_OF_RANGE}})
    request = peer.next_fetch()
    assert (asked(request), forgotten(request)) == ({}, {ONE})
    assert reader.fetcher.take_events() == []
    assert values(reader.take()) == [b"a"]
    event = reader.next_event()
    assert (event.kind, event.partition, event.offset) == (EventKind.OUT_OF_RANGE, ONE, 1)
    assert event.error_name == "OFFSET_OUT_OF_RANGE"
    reader.fetcher.seek(ONE, 30)
    peer.give()
    assert asked(peer.next_fetch()) == {ONE: 30}


def test_a_log_that_was_truncated_behind_the_reader(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, offset=40, epoch=7)
    peer.next_fetch()
    peer.give({ONE: {"diverging_epoch": {"epoch": 6, "end_offset": 31}, "records": None}})
    event = reader.next_event()
    assert (event.kind, event.offset) == (EventKind.DIVERGED, 40)
    assert (event.diverging_epoch, event.diverging_end_offset) == (6, 31)
    reader.fetcher.seek(ONE, 31, 6)
    request = peer.next_fetch()
    assert asked(request) == {ONE: 31}
    assert request.topics[0].partitions[0].last_fetched_epoch == 6


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (NOT_LEADER, EventKind.LEADER_MOVED),
        (FENCED, EventKind.LEADER_MOVED),
        (UNKNOWN_TOPIC_ID, EventKind.UNKNOWN_TOPIC),
        (AUTHORIZATION, EventKind.FAILED),
        (-1, EventKind.FAILED),
        (999, EventKind.FAILED),
    ],
)
def test_errors_are_told_and_the_partition_asked_for_again(
    code: int, kind: EventKind, peer: FetchPeer, reader: Reader
) -> None:
    reader.read(ONE)
    peer.next_fetch()
    peer.give({ONE: {"error_code": code, "current_leader": {"leader_id": 4, "leader_epoch": 8}}})
    event = reader.next_event()
    assert (event.kind, event.partition, event.error_code) == (kind, ONE, code)
    assert (event.leader_id, event.leader_epoch) == (4, 8)
    # It is still a member of the session, which the broker looks through.
    assert forgotten(peer.next_fetch()) == set()
    peer.give({ONE: {"records": plain(0, b"a")}})
    assert values(reader.take()) == [b"a"]


def test_a_partition_follows_its_leader(peer: FetchPeer) -> None:
    with FetchPeer(session_id=88) as second, reading(peer, second) as reader:
        reader.read(ONE, TWO)
        peer.next_fetch()
        peer.give({ONE: {"records": plain(0, b"a")}, TWO: {}})
        peer.next_fetch()
        reader.fetcher.set_leader(ONE, reader.nodes[1], 6)
        request = second.next_fetch()
        assert asked(request) == {ONE: 1}
        assert request.topics[0].partitions[0].current_leader_epoch == 6
        second.give({ONE: {"records": plain(1, b"b")}})
        second.next_fetch()
        # What the former leader still says does not count.
        peer.give({ONE: {"records": plain(1, b"of the former leader")}})
        request = peer.next_fetch()
        assert forgotten(request) == {ONE}
        assert values(reader.take() + reader.fetcher.take_records(1, 1)) == [b"a", b"b"]


def test_a_nearer_replica_is_told_and_read_from_until_it_fails(peer: FetchPeer) -> None:
    with FetchPeer(session_id=88) as follower, reading(peer, follower) as reader:
        reader.read(ONE)
        peer.next_fetch()
        peer.give({ONE: {"preferred_read_replica": 1}})
        event = reader.next_event()
        assert (event.kind, event.partition, event.preferred_read_replica) == (EventKind.PREFERRED_REPLICA, ONE, 1)
        reader.fetcher.set_read_replica(ONE, reader.nodes[1], TIMEOUT_MS)
        assert asked(follower.next_fetch()) == {ONE: 0}
        follower.give({ONE: {"records": plain(0, b"a")}})
        assert values(reader.take()) == [b"a"]
        follower.next_fetch()
        follower.give({ONE: {"error_code": OFFSET_OUT_OF_RANGE}})
        # A follower may be behind: what it does not have is no news before the leader says so.
        answer = peer
        request = answer.next_fetch()
        while asked(request) != {ONE: 1}:
            answer.give({ONE: {}} if asked(request) else {})
            request = answer.next_fetch()
        assert reader.fetcher.take_events() == []


def test_a_broken_connection_is_told_and_the_session_begun_anew(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a")}})
    peer.next_fetch()
    peer.give_bytes(CLOSE)
    assert values(reader.take()) == [b"a"]
    event = reader.next_event()
    assert (event.kind, event.partition, event.node) == (EventKind.NODE_FAILED, None, reader.nodes[0])
    request = peer.next_fetch()
    assert (request.session_id, request.session_epoch, asked(request)) == (77, 0, {ONE: 1})


def test_a_node_that_cannot_be_connected_to_is_told_until_another_leads(peer: FetchPeer) -> None:
    """Metadata may have named one that had ended already: nothing else will ever tell."""
    with FetchPeer() as ended:
        pass
    with reading(peer, ended) as reader:
        reader.read(ONE, node=1)
        for _ in range(2):
            event = reader.next_event()
            assert (event.kind, event.partition, event.node) == (EventKind.NODE_FAILED, None, reader.nodes[1])
        reader.fetcher.set_leader(ONE, reader.nodes[0], 6)
        peer.next_fetch()
        peer.give({ONE: {"records": plain(0, b"a")}})
        assert values(reader.take()) == [b"a"]


def test_a_replica_that_cannot_be_connected_to_is_left_for_the_leader(peer: FetchPeer) -> None:
    with FetchPeer() as ended:
        pass
    with reading(peer, ended) as reader:
        reader.read(ONE)
        peer.next_fetch()
        reader.fetcher.set_read_replica(ONE, reader.nodes[1], TIMEOUT_MS)
        peer.give({ONE: {}})
        event = reader.next_event()
        assert (event.kind, event.node) == (EventKind.NODE_FAILED, reader.nodes[1])
        # The leader has it in its session still.
        peer.next_fetch()
        peer.give({ONE: {"records": plain(0, b"a")}})
        assert values(reader.take()) == [b"a"]


def test_an_answer_that_cannot_be_read_costs_nothing_but_time(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE)
    peer.next_fetch()
    # A correlation id, no tags, and an array whose size goes beyond the frame.
    correlation = 1
    body = struct.pack(">ib", correlation, 0) + bytes(4 + 2 + 4) + b"\xff\xff\xff\xff\x0f"
    peer.give_bytes(len(body).to_bytes(4, "big") + body)
    assert reader.next_event().kind is EventKind.NODE_FAILED
    assert asked(peer.next_fetch()) == {ONE: 0}
    peer.give({ONE: {"records": plain(0, b"a")}})
    assert values(reader.take()) == [b"a"]


def test_nothing_is_asked_while_the_reader_is_behind(peer: FetchPeer) -> None:
    with reading(peer, max_partition_fetch_bytes=100) as reader:
        reader.read(ONE, TWO)
        peer.next_fetch()
        peer.give({ONE: {"records": plain(0, *(b"%090d" % i for i in range(3)))}, TWO: {"records": plain(0, b"b")}})
        assert values(reader.take(2)) == [b"%090d" % i for i in range(2)]
        assert peer.fetches.empty()
        assert reader.fetcher.requests_in_flight == 0
        assert reader.fetcher.buffered_size > 300
        assert len(reader.take()) == 2
        assert asked(peer.next_fetch()) == {ONE: 3, TWO: 1}


def test_what_a_seek_throws_away_makes_room_too(peer: FetchPeer) -> None:
    with reading(peer, max_partition_fetch_bytes=100) as reader:
        reader.read(ONE)
        peer.next_fetch()
        peer.give({ONE: {"records": plain(0, *(b"%090d" % i for i in range(3)))}})
        # The answer is in the reader's hands, and too large for another one to be asked for.
        assert len(reader.take(1)) == 1
        reader.fetcher.seek(ONE, 40)
        assert reader.fetcher.take_records(1, 1) == []
        assert asked(peer.next_fetch()) == {ONE: 40}


def test_memory_is_bounded_over_all_nodes_and_goes_to_each_in_turn(peer: FetchPeer) -> None:
    bounds = {"max_partition_fetch_bytes": 1000, "kcli_fetch_buffer_bytes": 1500}
    with FetchPeer(session_id=88) as second, reading(peer, second, **bounds) as reader:
        reader.read(ONE)
        assert peer.next_fetch().max_bytes == 1000
        # What is on its way counts: the 500 bytes that are left are less than a partition may bring.
        reader.read(OTHER, node=1)
        for _ in range(5000):
            peer.give()
        assert asked(second.next_fetch()) == {OTHER: 0}
        assert reader.fetcher.requests_in_flight == 1


def test_a_bad_batch_is_raised_behind_what_is_good_until_a_seek(peer: FetchPeer, reader: Reader) -> None:
    bad = bytearray(plain(1, b"bad"))
    bad[-2] ^= 1
    reader.read(ONE)
    peer.next_fetch()
    peer.give({ONE: {"records": plain(0, b"a") + bytes(bad) + plain(2, b"c")}})
    assert values(reader.take()) == [b"a"]
    for _ in range(2):
        with pytest.raises(errors.CorruptMessageError, match=r"partition orders-0 at offset 1: .*checksum"):
            reader.take()
    with pytest.raises(errors.CorruptMessageError, match="checksum"):
        reader.fetcher.take_arrow(None, TIMEOUT_MS)
    assert reader.fetcher.positions() == {ONE: (1, None)}
    peer.next_fetch()
    reader.fetcher.seek(ONE, 2)
    peer.give()
    peer.next_fetch()
    peer.give({ONE: {"records": plain(2, b"c")}})
    assert values(reader.take()) == [b"c"]


def test_aborted_transactions_are_left_out(peer: FetchPeer) -> None:
    with reading(peer, isolation_level=READ_COMMITTED) as reader:
        reader.read(ONE)
        peer.next_fetch()
        aborted = [{"producer_id": 2, "first_offset": 8}, {"producer_id": 1, "first_offset": 0}]
        peer.give({ONE: {"records": INTERLEAVED, "aborted_transactions": aborted}})
        assert offsets(reader.take()) == [1, 2, 6, 11]
        assert reader.fetcher.positions() == {ONE: (13, None)}


def test_columns_of_many_partitions_at_once(peer: FetchPeer, reader: Reader) -> None:
    reader.read(ONE, TWO, OTHER)
    peer.next_fetch()
    peer.give({p: {"records": plain(0, b"%d" % n, b"x")} for n, p in enumerate((ONE, TWO, OTHER))})
    peer.next_fetch()
    columns = reader.fetcher.take_columns(None, TIMEOUT_MS)
    assert columns.topic.tolist() == ["orders"] * 4 + ["other"] * 2
    assert columns.partition.tolist() == [0, 0, 1, 1, 0, 0]
    assert [columns.value[row] for row in range(6)] == [b"0", b"x", b"1", b"x", b"2", b"x"]
    assert {position for position, _ in reader.fetcher.positions().values()} == {2}
    assert len(reader.fetcher.take_arrow(None, 1)) == 0


def test_positions_that_cannot_be(reader: Reader) -> None:
    with pytest.raises(ValueError, match="-1"):
        reader.fetcher.assign(ONE, None, -1)
    with pytest.raises(ValueError, match="16 bytes"):
        reader.fetcher.assign(ONE, b"short", 0)
    with pytest.raises(KeyError, match="orders-0 is not assigned"):
        reader.fetcher.set_leader(ONE, 0)


def test_a_closed_client_wakes_its_reader(peer: FetchPeer) -> None:
    with reading(peer) as reader:
        reader.read(ONE)
        peer.next_fetch()
    assert reader.fetcher.take_records(1, 0) == []
