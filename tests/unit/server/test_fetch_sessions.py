"""Fetch sessions (KIP-227) over a connection, natively and on handler threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.fetch_session_client import SessionClient
from tests.unit.server.test_produce_and_fetch import batch, produce

OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC_OR_PARTITION = 3
NOT_LEADER_OR_FOLLOWER = 6
FETCH_SESSION_ID_NOT_FOUND = 70
INVALID_FETCH_SESSION_EPOCH = 71
UNKNOWN_LEADER_EPOCH = 75
UNKNOWN_TOPIC_ID = 100
FETCH_SESSION_TOPIC_ID_ERROR = 106

VERSIONS = (7, 11, 12, 13, 17)


@pytest.fixture
def producer(broker: Broker) -> Iterator[RawClient]:
    """A second connection."""
    with RawClient(broker.bound_listeners[0].port) as connection:
        yield connection


def session_of(client: RawClient, topic: str, partitions: int, version: int = 12) -> SessionClient:
    """A session that wants every partition of a new topic from its beginning."""
    session = SessionClient(client, {topic: client.create_topic(topic, partitions)}, version)
    for index in range(partitions):
        session.want(topic, index)
    return session


@pytest.mark.parametrize("version", VERSIONS)
def test_an_incremental_answer_speaks_of_what_is_new(client: RawClient, version: int) -> None:
    topic = f"new-{version}"
    session = session_of(client, topic, 5, version)
    assert list(session.fetch()) == [(topic, index) for index in range(5)], "a full answer names everything"
    assert session.session_id > 0
    assert session.fetch() == {}
    produce(client, topic, batch([b"a", b"b"]), index=3)
    parts = session.fetch()
    assert list(parts) == [(topic, 3)]
    assert parts[topic, 3].high_watermark == 2
    assert session.fetch() == {}, "nothing is told twice"
    assert session.received == {(topic, 3): [(0, b"a"), (1, b"b")]}


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_come_and_go(client: RawClient, version: int) -> None:
    topic = f"come-{version}"
    session = session_of(client, topic, 3, version)
    session.forget(topic, 1)
    session.fetch()
    session.want(topic, 1)
    session.forget(topic, 0)
    for index in range(3):
        produce(client, topic, batch([b"%d" % index]), index=index)
    assert set(session.fetch()) == {(topic, 1), (topic, 2)}
    session.want(topic, 0)
    assert set(session.fetch()) == {(topic, 0)}
    assert {part: values[0][1] for part, values in session.received.items()} == {
        (topic, index): b"%d" % index for index in range(3)
    }


def test_what_the_client_does_not_take_is_given_again(client: RawClient) -> None:
    session = session_of(client, "again", 2)
    produce(client, "again", batch([b"one"]), index=1)
    session.fetch()
    session.offsets["again", 1] = 0
    for _ in range(3):
        assert list(session.fetch()) == [("again", 1)]
        session.offsets["again", 1] = 0


def test_an_unknown_session_is_not_found(client: RawClient) -> None:
    session = session_of(client, "unknown", 1)
    for session_id, epoch in ((12345, 3), (0, 1), (-7, 5), (1, -2)):
        session.fetch(session_id=session_id, session_epoch=epoch)
        assert session.answer is not None
        assert session.answer.error_code == FETCH_SESSION_ID_NOT_FOUND
        assert (session.answer.session_id, session.answer.responses) == (0, [])


def test_a_wrong_epoch_is_refused_and_changes_nothing(client: RawClient) -> None:
    session = session_of(client, "epochs", 2)
    session.fetch()
    session_id = session.session_id
    for epoch in (2, 17, -3):
        fields = SessionClient(client, {}).request(session_id=session_id, session_epoch=epoch)
        answer = client.request(apis.FETCH, 12, fields)
        assert (answer.error_code, answer.session_id) == (INVALID_FETCH_SESSION_EPOCH, 0)
    produce(client, "epochs", batch([b"x"]))
    assert list(session.fetch()) == [("epochs", 0)], "the session still waits for its epoch 1"


def test_names_and_ids_do_not_mix(client: RawClient) -> None:
    session = session_of(client, "mixed", 1, version=12)
    session.fetch()
    session.version = 13
    session.fetch()
    assert session.answer is not None
    assert session.answer.error_code == FETCH_SESSION_TOPIC_ID_ERROR
    session.fetch()
    assert session.session_id > 0
    session.version = 12
    session.fetch()
    assert session.answer.error_code == FETCH_SESSION_TOPIC_ID_ERROR


def test_epoch_minus_one_ends_a_session(broker: Broker, client: RawClient) -> None:
    session = session_of(client, "ended", 2)
    session.fetch()
    before = broker.fetch_session_cache.sessions
    fields = session.request(session_epoch=-1)
    answer = client.request(apis.FETCH, 12, fields)
    assert (answer.error_code, answer.session_id) == (0, 0)
    assert broker.fetch_session_cache.sessions == before - 1
    session.fetch()
    assert session.answer is not None
    assert session.answer.error_code == FETCH_SESSION_ID_NOT_FOUND


def test_a_full_request_replaces_its_session(broker: Broker, client: RawClient) -> None:
    session = session_of(client, "replaced", 2)
    session.fetch()
    before, first = broker.fetch_session_cache.sessions, session.session_id
    session.epoch = 0
    session.fetch()
    assert session.session_id not in (0, first)
    assert broker.fetch_session_cache.sessions == before


def test_without_versions_that_know_sessions_there_is_none(broker: Broker, client: RawClient) -> None:
    session = session_of(client, "old", 1, version=6)
    before = broker.fetch_session_cache.sessions
    answer = client.request(apis.FETCH, 6, session.request())
    assert len(answer.responses) == 1
    assert broker.fetch_session_cache.sessions == before


def test_a_session_with_nothing_left_ends(broker: Broker, client: RawClient) -> None:
    session = session_of(client, "emptied", 2)
    session.fetch()
    before = broker.fetch_session_cache.sessions
    session.offsets.clear()
    assert session.fetch() == {}
    assert session.answer is not None
    assert (session.answer.error_code, session.answer.session_id) == (0, 0)
    assert broker.fetch_session_cache.sessions == before - 1


@pytest.mark.parametrize("version", [12, 13])
def test_a_waiting_fetch_is_woken_by_any_of_its_partitions(
    client: RawClient, producer: RawClient, version: int
) -> None:
    topic = f"woken-{version}"
    session = session_of(client, topic, 20, version)
    session.fetch()
    for index in (7, 19, 7):
        client.send(apis.FETCH, version, session.request(max_wait_ms=55_000))
        produce(producer, topic, batch([b"%d" % index]), index=index)
        assert list(session.take(client.receive(apis.FETCH, version))) == [(topic, index)]
    assert [value for _, value in session.received[topic, 7]] == [b"7", b"7"]


def test_a_waiting_fetch_waits_for_enough_bytes_of_all_partitions(client: RawClient, producer: RawClient) -> None:
    session = session_of(client, "sum", 10)
    session.fetch()
    one = len(batch([b"z" * 100]))
    client.send(apis.FETCH, 12, session.request(max_wait_ms=55_000, min_bytes=3 * one))
    for index in (1, 2, 8):
        produce(producer, "sum", batch([b"z" * 100]), index=index)
    assert set(session.take(client.receive(apis.FETCH, 12))) == {("sum", 1), ("sum", 2), ("sum", 8)}


def test_a_fetch_that_waits_in_vain_has_an_empty_answer(client: RawClient) -> None:
    session = session_of(client, "vain-session", 3)
    session.fetch()
    for _ in range(2):
        assert session.fetch(max_wait_ms=30) == {}
        assert session.answer is not None
        assert (session.answer.error_code, session.answer.session_id) == (0, session.session_id)


def test_a_later_request_takes_over_from_one_that_waits(client: RawClient, producer: RawClient) -> None:
    session = session_of(client, "taken-over", 2)
    session.fetch()
    client.send(apis.FETCH, 12, session.request(max_wait_ms=55_000))
    # Unless both connections were served by one thread, the waiting request may come second: then this one is refused.
    fields = SessionClient(producer, {}).request(session_id=session.session_id, session_epoch=2)
    while (answer := producer.request(apis.FETCH, 12, fields)).error_code == INVALID_FETCH_SESSION_EPOCH:
        pass
    assert (answer.error_code, answer.session_id) == (0, session.session_id)
    produce(producer, "taken-over", batch([b"late"]))
    answer = client.receive(apis.FETCH, 12)
    assert (answer.error_code, answer.responses) == (INVALID_FETCH_SESSION_EPOCH, [])


def test_errors_are_told_until_they_are_gone(client: RawClient) -> None:
    session = session_of(client, "erring", 3)
    produce(client, "erring", batch([b"1", b"2"]), index=1)
    session.want("erring", 1, 99)
    session.want("erring", 7)
    for _ in range(3):
        parts = session.fetch()
        assert parts["erring", 1].error_code == OFFSET_OUT_OF_RANGE
        assert parts["erring", 7].error_code == UNKNOWN_TOPIC_OR_PARTITION
    session.forget("erring", 7)
    session.want("erring", 1, 2)
    parts = session.fetch()
    assert {part: answer.error_code for part, answer in parts.items()} == {("erring", 1): 0}
    assert parts["erring", 1].high_watermark == 2, "told anew after the error"
    assert session.fetch() == {}


def test_a_partition_that_does_not_exist_holds_up_nobody(client: RawClient, producer: RawClient) -> None:
    session = session_of(client, "held-up", 2)
    session.want("held-up", 9)
    session.fetch()
    client.send(apis.FETCH, 12, session.request(max_wait_ms=55_000))
    produce(producer, "held-up", batch([b"go"]), index=1)
    parts = session.take(client.receive(apis.FETCH, 12))
    assert {part: answer.error_code for part, answer in parts.items()} == {
        ("held-up", 1): 0,
        ("held-up", 9): UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_the_start_of_a_log_is_told_when_it_moves(broker: Broker, client: RawClient) -> None:
    session = session_of(client, "trimmed", 3)
    produce(client, "trimmed", batch([b"1", b"2", b"3"]), index=2)
    session.fetch()
    session.fetch()
    assert session.fetch() == {}
    partition = broker.replica_manager.partition("trimmed", 2)
    assert partition is not None
    partition.log.increment_start_offset(2)
    parts = session.fetch()
    assert {part: answer.log_start_offset for part, answer in parts.items()} == {("trimmed", 2): 2}
    assert session.fetch() == {}


def test_a_change_of_isolation_holds_for_what_was_quiet(client: RawClient) -> None:
    session = session_of(client, "isolated", 2)
    session.fetch(isolation_level=0)
    produce(client, "isolated", batch([b"r"]))
    assert list(session.fetch(isolation_level=1)) == [("isolated", 0)]
    assert session.fetch(isolation_level=0) == {}


def test_a_bound_on_the_answer_starves_nobody(client: RawClient) -> None:
    session = session_of(client, "fair", 4)
    for _ in range(6):
        for index in range(4):
            produce(client, "fair", batch([b"f" * 500]), index=index)
    order = []
    for _ in range(24):
        parts = session.fetch(max_bytes=1)
        order += [index for (_, index), part in parts.items() if part.records]
    assert order[0] == 0
    assert sorted(order) == sorted([0, 1, 2, 3] * 6)
    # The full answer was not part of the session's order: from then on everyone has a turn.
    assert all(len(set(order[turn : turn + 4])) == 4 for turn in range(1, 20, 4)), order


@pytest.mark.parametrize("version", [12, 13])
def test_a_deleted_topic_is_told_and_its_partitions_are_let_go(
    broker: Broker, client: RawClient, producer: RawClient, version: int
) -> None:
    topic = f"deleted-{version}"
    session = session_of(client, topic, 3, version)
    session.fetch()
    session.fetch()
    partition = broker.replica_manager.partition(topic, 1)
    assert partition is not None
    client.send(apis.FETCH, version, session.request(max_wait_ms=55_000))
    producer.request(apis.DELETE_TOPICS, 5, {"topic_names": [topic]})
    parts = session.take(client.receive(apis.FETCH, version))
    assert {part.error_code for part in parts.values()} <= {
        NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_OR_PARTITION,
        UNKNOWN_TOPIC_ID,
    }
    assert parts
    assert not partition.is_in_use, "the session lets go of it without being asked anything"
    gone = UNKNOWN_TOPIC_ID if version == 13 else UNKNOWN_TOPIC_OR_PARTITION
    assert {part.error_code for part in session.fetch().values()} == {gone}


def test_a_topic_made_anew_goes_on_by_name_and_not_by_id(client: RawClient) -> None:
    by_name = session_of(client, "anew", 1, 12)
    by_id = SessionClient(client, dict(by_name.ids), 13)
    by_id.want("anew", 0)
    for session in (by_name, by_id):
        session.fetch()
    client.request(apis.DELETE_TOPICS, 5, {"topic_names": ["anew"]})
    new_id = client.create_topic("anew", 1)
    produce(client, "anew", batch([b"second life"]))
    assert by_name.fetch()["anew", 0].error_code == 0
    assert by_name.received["anew", 0] == [(0, b"second life")]
    assert by_id.fetch()["anew", 0].error_code == UNKNOWN_TOPIC_ID
    by_id.ids["again"] = new_id
    by_id.want("again", 0)
    assert by_id.fetch()["again", 0].error_code == 0
    assert by_id.received["again", 0] == [(0, b"second life")]


def test_an_id_that_is_unknown_yet_resolves_later(broker: Broker, client: RawClient) -> None:
    """The topic's metadata reach the client before this broker has it: by name, as an id cannot be known before."""
    session = session_of(client, "early", 1)
    session.want("later", 0)
    assert session.fetch()["later", 0].error_code == UNKNOWN_TOPIC_OR_PARTITION
    assert session.fetch()["later", 0].error_code == UNKNOWN_TOPIC_OR_PARTITION
    client.create_topic("later")
    produce(client, "later", batch([b"there"]))
    assert session.fetch()["later", 0].error_code == 0
    assert session.received["later", 0] == [(0, b"there")]
    assert session.fetch() == {}


def test_a_stale_leader_epoch_fails_its_partition_only(client: RawClient) -> None:
    session = session_of(client, "epoched", 2)
    session.fetch()
    fields = session.request()
    fields["topics"] = [
        {
            "topic": "epoched",
            "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000, "current_leader_epoch": 9}],
        }
    ]
    parts = session.take(client.request(apis.FETCH, 12, fields))
    assert {part: answer.error_code for part, answer in parts.items()} == {("epoched", 0): UNKNOWN_LEADER_EPOCH}


def test_divergence_is_told_in_sessions(broker: Broker, client: RawClient) -> None:
    """KIP-595: such requests are answered by handlers, and the native path goes on with the same session."""
    session = session_of(client, "parting", 2)
    produce(client, "parting", batch([b"a", b"b", b"c"]))
    session.fetch()
    partition = broker.replica_manager.partition("parting", 0)
    assert partition is not None
    fields = session.request()
    fields["topics"] = [
        {
            "topic": "parting",
            "partitions": [
                {
                    "partition": 0,
                    "fetch_offset": 9,
                    "partition_max_bytes": 1000,
                    "last_fetched_epoch": partition.leader_epoch,
                }
            ],
        }
    ]
    parts = session.take(client.request(apis.FETCH, 12, fields))
    diverging = parts["parting", 0].diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (partition.leader_epoch, 3)
    produce(client, "parting", batch([b"d"]), index=1)
    assert ("parting", 1) in session.fetch()


@pytest.mark.parametrize("version", [7, 11])
def test_divergence_is_not_told_to_an_older_version_of_the_same_session(
    broker: Broker, client: RawClient, version: int
) -> None:
    """These versions have no field for it, and send no last epoch: the partition is read as for any other request."""
    topic = f"older-{version}"
    session = session_of(client, topic, 1)
    produce(client, topic, batch([b"a", b"b", b"c"]))
    partition = broker.replica_manager.partition(topic, 0)
    assert partition is not None
    asked = {"partition": 0, "fetch_offset": 9, "partition_max_bytes": 1000}
    fields = session.request()
    fields["topics"] = [{"topic": topic, "partitions": [asked | {"last_fetched_epoch": partition.leader_epoch}]}]
    parts = session.take(client.request(apis.FETCH, 12, fields))
    assert parts[topic, 0].diverging_epoch.end_offset == 3
    session.version = version
    parts = session.take(client.request(apis.FETCH, version, {**session.request(), "topics": []}))
    assert parts[topic, 0].error_code == OFFSET_OUT_OF_RANGE


def small_broker(directory: Path, fast_path: bool, **overrides: str) -> Broker:
    settings = {name.replace("_", "."): value for name, value in overrides.items()}
    broker = Broker(
        BrokerConfig(
            {
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "log.dirs": str(directory),
                "num.network.threads": "1",
                "num.io.threads": "1",
                "kcli.fast.path.enable": str(fast_path).lower(),
                **settings,
            }
        )
    )
    broker.startup()
    return broker


def test_without_slots_everyone_is_served_without_a_session(tmp_path: Path, fast_path: bool) -> None:
    broker = small_broker(tmp_path, fast_path, max_incremental_fetch_session_cache_slots="0")
    try:
        with RawClient(broker.bound_listeners[0].port) as client:
            session = session_of(client, "slotless", 2)
            for _ in range(3):
                assert len(session.fetch()) == 2
                assert session.session_id == 0
        assert broker.fetch_session_cache.sessions == 0
    finally:
        broker.shutdown()


def test_a_bound_on_all_partitions_ends_a_session_that_grows_beyond_it(tmp_path: Path, fast_path: bool) -> None:
    broker = small_broker(tmp_path, fast_path, kcli_fetch_session_cache_max_partitions="3")
    try:
        with RawClient(broker.bound_listeners[0].port) as client:
            session = session_of(client, "bounded", 4)
            session.forget("bounded", 3)
            session.fetch()
            assert (broker.fetch_session_cache.sessions, broker.fetch_session_cache.partitions) == (1, 3)
            session.want("bounded", 3)
            session.fetch()
            assert session.answer is not None
            assert session.answer.error_code == FETCH_SESSION_ID_NOT_FOUND
            assert len(session.fetch()) == 4
            assert session.session_id == 0
            assert (broker.fetch_session_cache.sessions, broker.fetch_session_cache.partitions) == (0, 0)
    finally:
        broker.shutdown()


def test_a_waiting_fetch_outlives_its_session(tmp_path: Path, fast_path: bool) -> None:
    """Its answer comes as if nothing had happened; the next request hears that the session is gone."""
    broker = small_broker(tmp_path, fast_path)
    try:
        port = broker.bound_listeners[0].port
        with RawClient(port) as client, RawClient(port) as producer:
            session = session_of(client, "outlived", 2)
            session.fetch()
            client.send(apis.FETCH, 12, session.request(max_wait_ms=55_000))
            # Until the request is there, the session is of epoch 1.
            fields = SessionClient(producer, {}).request(session_id=session.session_id, session_epoch=9)
            producer.request(apis.FETCH, 12, fields)
            while broker.fetch_purgatory.delayed == 0:
                producer.request(apis.FETCH, 12, fields)
            assert broker.fetch_session_cache.remove_session(session.session_id)
            produce(producer, "outlived", batch([b"still"]))
            assert list(session.take(client.receive(apis.FETCH, 12))) == [("outlived", 0)]
            session.fetch()
            assert session.answer is not None
            assert session.answer.error_code == FETCH_SESSION_ID_NOT_FOUND
            session.fetch()
            assert session.session_id > 0
    finally:
        broker.shutdown()
