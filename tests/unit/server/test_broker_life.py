"""Start and stop: what is kept, what is locked, what is undone, and what clients are told about addresses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import NOT_RUNNING, RUNNING, Broker
from kcore.storage.log_dir import LogDirLockedError
from kcore.storage.log_dirs import LogDirsError
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, fetch, fetch_fields, produce, values_of

MakeBroker = Callable[..., Broker]


@pytest.fixture
def make_broker(tmp_path: Path, request: pytest.FixtureRequest) -> MakeBroker:
    """Makes brokers, not yet started; all are shut down in the end."""

    def make(**properties: str) -> Broker:
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(tmp_path / "data"),
            "num.network.threads": "1",
            "num.io.threads": "2",
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        broker = Broker(BrokerConfig(settings))
        request.addfinalizer(broker.shutdown)
        return broker

    return make


def started(broker: Broker) -> RawClient:
    """Starts a broker; answers a connection to it."""
    broker.startup()
    assert broker.state == RUNNING
    return RawClient(broker.bound_listeners[0].port)


def test_a_restart_keeps_everything(make_broker: MakeBroker, tmp_path: Path) -> None:
    first = make_broker()
    with started(first) as client:
        topic_id = client.create_topic("kept", 2, retention_ms="123456")
        produce(client, "kept", batch([b"a", b"b"]), index=1, acks=-1)
    first.shutdown()
    assert first.state == NOT_RUNNING
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()

    second = make_broker()
    with started(second) as client:
        assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()
        assert (second.cluster_id, second.broker_id) == (first.cluster_id, first.broker_id)
        (topic,) = client.request(apis.METADATA, 12, {"topics": [{"name": "kept"}]}).topics
        assert topic.topic_id == topic_id
        assert [partition.leader_epoch for partition in topic.partitions] == [1, 1], "leadership was taken anew"
        assert second.metadata_cache.topic_configs("kept") == {"retention.ms": "123456"}
        assert values_of(fetch(client, "kept", index=1).records) == [(0, b"a"), (1, b"b")]
        assert produce(client, "kept", batch([b"c"]), index=1).base_offset == 2


def test_offsets_of_a_group_survive_a_restart(make_broker: MakeBroker) -> None:
    topics = [
        {"name": "counted", "partitions": [{"partition_index": 0, "committed_offset": 42, "committed_metadata": "m"}]}
    ]
    commit = {"group_id": "g", "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    ask = {"group_id": "g", "topics": [{"name": "counted", "partition_indexes": [0]}]}
    first = make_broker(offsets_topic_num_partitions="3")
    with started(first) as client:
        client.create_topic("counted")
        client.request(apis.FIND_COORDINATOR, 2, {"key": "g", "key_type": 0})
        response = client.request(apis.OFFSET_COMMIT, 7, commit)
        assert response.topics[0].partitions[0].error_code == 0
    first.shutdown()
    second = make_broker(offsets_topic_num_partitions="3")
    with started(second) as client:
        response = client.request(apis.OFFSET_FETCH, 5, ask)
        while response.error_code == 14:  # COORDINATOR_LOAD_IN_PROGRESS
            response = client.request(apis.OFFSET_FETCH, 5, ask)
        part = response.topics[0].partitions[0]
        assert (part.error_code, part.committed_offset, part.metadata) == (0, 42, "m")


def test_a_directory_belongs_to_one_broker_at_a_time(make_broker: MakeBroker) -> None:
    first = make_broker()
    with started(first) as client:
        second = make_broker()
        with pytest.raises(LogDirLockedError, match="lock"):
            second.startup()
        assert second.state == NOT_RUNNING
        assert client.request(apis.API_VERSIONS, 0, {}).error_code == 0, "the first one serves on"


def test_a_start_that_fails_leaves_nothing_behind(make_broker: MakeBroker) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        before = threading.active_count()
        failing = make_broker(listeners=f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(OSError, match="cannot listen on PLAINTEXT"):
            failing.startup()
        assert threading.active_count() == before
    with started(make_broker()) as client:
        assert client.request(apis.API_VERSIONS, 0, {}).error_code == 0


def test_a_broker_does_not_take_the_directory_of_another(make_broker: MakeBroker) -> None:
    first = make_broker(node_id="5")
    with started(first):
        assert first.broker_id == 5
    first.shutdown()
    with pytest.raises(LogDirsError, match="belongs to broker 5"):
        make_broker(node_id="6").startup()
    nameless = make_broker()
    with started(nameless):
        assert nameless.broker_id == 5, "an id that is not configured is the directory's"


def test_a_waiting_fetch_is_answered_when_the_broker_stops(make_broker: MakeBroker) -> None:
    broker = make_broker()
    with started(broker) as client:
        client.create_topic("patient")
        client.send(apis.FETCH, 12, fetch_fields(client, "patient", max_wait_ms=60_000))
        while broker.fetch_purgatory.delayed == 0:
            pass
        broker.shutdown()
        part = client.receive(apis.FETCH, 12).responses[0].partitions[0]
        assert (part.error_code, part.partition_index) == (0, 0)
        assert client.is_closed_by_broker()


def test_a_stopped_broker_has_no_threads_and_no_sockets(make_broker: MakeBroker) -> None:
    before = threading.active_count()
    broker = make_broker()
    with started(broker) as client:
        client.request(apis.API_VERSIONS, 0, {})
    broker.shutdown()
    broker.shutdown()
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        RawClient(broker.bound_listeners[0].port)


def test_each_listener_tells_of_itself(make_broker: MakeBroker) -> None:
    broker = make_broker(
        listeners="INSIDE://127.0.0.1:0,OUTSIDE://0.0.0.0:0",
        **{
            "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
        },
    )
    started(broker).socket.close()
    for listener, host in zip(broker.bound_listeners, ("127.0.0.1", "127.0.0.2"), strict=True):
        with RawClient(listener.port, host) as client:
            response = client.request(apis.METADATA, 9, {"topics": []})
            assert [(node.host, node.port) for node in response.brokers] == [(host, listener.port)]
            cluster = client.request(apis.DESCRIBE_CLUSTER, 0, {"include_cluster_authorized_operations": False})
            assert [(node.host, node.port) for node in cluster.brokers] == [(host, listener.port)]
            found = client.request(apis.FIND_COORDINATOR, 2, {"key": "g", "key_type": 0})
            assert (found.host, found.port) == (host, listener.port)


def test_an_advertised_address_is_told_instead(make_broker: MakeBroker) -> None:
    broker = make_broker(advertised_listeners="PLAINTEXT://broker.example:19092")
    with started(broker) as client:
        response = client.request(apis.METADATA, 9, {"topics": []})
        assert [(node.host, node.port) for node in response.brokers] == [("broker.example", 19092)]
    assert [str(endpoint) for endpoint in broker.displayed_listeners()] == ["PLAINTEXT://broker.example:19092"]


def test_several_log_directories_share_the_partitions(make_broker: MakeBroker, tmp_path: Path) -> None:
    directories = [tmp_path / "one", tmp_path / "two"]
    broker = make_broker(log_dirs=",".join(map(str, directories)))
    with started(broker) as client:
        client.create_topic("spread", 4)
    assert [len(list(directory.glob("spread-*"))) for directory in directories] == [2, 2]


def test_partitions_of_a_failed_directory_are_offline_and_the_others_go_on(
    make_broker: MakeBroker, tmp_path: Path
) -> None:
    directories = [tmp_path / "one", tmp_path / "two"]
    broker = make_broker(log_dirs=",".join(map(str, directories)))
    with started(broker) as client:
        client.create_topic("half", 2)
        lost = 0 if (directories[0] / "half-0").exists() else 1
        log_dirs = broker.log_manager._log_dirs
        log_dirs.fail(next(iter(log_dirs)), OSError(5, "Input/output error"))
        (topic,) = client.request(apis.METADATA, 12, {"topics": [{"name": "half"}]}).topics
        assert {part.partition_index: (part.error_code, part.leader_id) for part in topic.partitions} == {
            lost: (5, -1),  # LEADER_NOT_AVAILABLE
            1 - lost: (0, broker.broker_id),
        }
        assert produce(client, "half", batch([b"x"]), index=lost).error_code == 56  # KAFKA_STORAGE_ERROR
        assert produce(client, "half", batch([b"x"]), index=1 - lost).error_code == 0
    assert not broker.failed


def test_a_broker_without_any_log_directory_left_gives_up(tmp_path: Path) -> None:
    told = threading.Event()
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "data")}
    broker = Broker(BrokerConfig(settings), on_fatal=told.set)
    broker.startup()
    for log_dir in broker.log_manager._log_dirs:
        broker.log_manager._log_dirs.fail(log_dir, OSError(5, "Input/output error"))
    assert told.is_set()
    assert broker.failed
    broker.shutdown()
    assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists(), "nothing was promised"


def test_a_deletion_that_a_crash_cut_short_is_finished(make_broker: MakeBroker, tmp_path: Path) -> None:
    first = make_broker()
    with started(first) as client:
        topic_id = client.create_topic("half-gone", 1)
    assert first._store is not None
    # The crash comes between the commit of the deletion and the renaming of its directories.
    first.metadata_cache._listeners.clear()
    first._store.delete_topic(first.controller.epoch, topic_id)
    first.shutdown()
    assert (tmp_path / "data" / "half-gone-0").exists()

    second = make_broker(log_segment_delete_delay_ms="0")
    started(second).socket.close()
    assert not (tmp_path / "data" / "half-gone-0").exists()
    assert second._store is not None
    assert second._store.deleted_topic_ids() == frozenset()
