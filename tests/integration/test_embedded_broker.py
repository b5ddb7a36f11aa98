"""EmbeddedBroker: what a test may do to its broker, and that nothing of it is left, whatever dies."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from kcore.client.admin.topics import NewTopic
from kcore.errors import TopicAlreadyExistsError
from kcore.testing import (
    BrokerDied,
    BrokerNotStarted,
    EmbeddedBroker,
    EmbeddedBrokerError,
    fork_server_client,
    start_all,
)
from kcore.testing.fork_server_client import close_fork_server, fork_server
from tests.leftovers import Leftovers, await_ends

ROOT = Path(__file__).resolve().parents[2]


def write(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    failures: list[object] = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, message: failures.append(error) if error else None)
    assert producer.flush(30) == 0
    assert not failures


def read(broker: EmbeddedBroker, topic: str, count: int) -> list[bytes | None]:
    configuration = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "readers",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(configuration)
    try:
        consumer.subscribe([topic])
        messages = consumer.consume(count, 30)
        assert not [message.error() for message in messages if message.error()]
        return [message.value() for message in messages]
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker({"num.partitions": 2}) as broker:
        yield broker


@pytest.fixture
def own_fork_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For a test that ends it: the brokers of the session and of the module are forked from the other one."""
    monkeypatch.setattr(fork_server_client, "_client", None)
    yield
    close_fork_server()


def test_it_serves_other_peoples_clients(broker: EmbeddedBroker) -> None:
    topic = broker.create_topic(partitions=1)
    write(broker, topic, b"one", b"two")
    assert read(broker, topic, 2) == [b"one", b"two"]


def test_it_is_a_process_of_its_own_that_says_where_it_is(broker: EmbeddedBroker) -> None:
    assert broker.pid not in (os.getpid(), fork_server().pid)
    assert Path(f"/proc/{broker.pid}/comm").read_text() == "kcli-broker\n"
    metadata = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60)
    assert [f"{node.host}:{node.port}" for node in metadata.brokers.values()] == [broker.bootstrap_servers]
    assert list(metadata.brokers) == [broker.broker_id]
    assert metadata.cluster_id == broker.cluster_id
    assert broker.data_dir.is_dir()
    assert "Started broker" in broker.log()


def test_topics_are_created_as_asked() -> None:
    topics = ["plain", NewTopic("wide", 5, 1, {"retention.ms": "1000"})]
    with EmbeddedBroker({"num.partitions": 2}, topics=topics) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        found = admin.list_topics(timeout=60).topics
        assert {name: len(topic.partitions) for name, topic in found.items()} == {"plain": 2, "wide": 5}
        with pytest.raises(TopicAlreadyExistsError):
            broker.create_topic("wide")
        broker.delete_topic("wide")
        assert set(admin.list_topics(timeout=60).topics) == {"plain"}
    with EmbeddedBroker(topics={"narrow": 1, "wide": 7}) as broker:
        found = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60).topics
        assert {name: len(topic.partitions) for name, topic in found.items()} == {"narrow": 1, "wide": 7}


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill -9"])
def test_data_and_port_stay_over_a_restart(kill: bool) -> None:
    with EmbeddedBroker(topics=["kept"]) as broker:
        address, first = broker.bootstrap_servers, broker.pid
        write(broker, "kept", b"before")
        broker.restart(kill=kill)
        assert broker.bootstrap_servers == address
        assert broker.pid != first
        write(broker, "kept", b"after")
        assert read(broker, "kept", 2) == [b"before", b"after"]
        assert broker.stop() == 0


def test_while_it_is_down_its_port_is_nobody_elses(broker: EmbeddedBroker) -> None:
    broker.kill()
    try:
        with socket.socket() as stranger, pytest.raises(OSError, match="Address already in use"):
            stranger.bind((broker.host, broker.port))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((broker.host, broker.port))
    finally:
        broker.start()


def test_a_paused_broker_is_silent_until_it_goes_on(broker: EmbeddedBroker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.list_topics(timeout=60)
    broker.pause()
    assert Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=0.3)
    broker.pause()
    broker.resume()
    assert admin.list_topics(timeout=60).brokers
    broker.pause()
    assert broker.stop() == 0, "a paused one is let go on, to stop"
    broker.start()


def test_what_it_refuses_is_said_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(BrokerNotStarted, match=r"num\.partitions"), EmbeddedBroker({"num.partitions": "many"}):
        pass
    unknown = r"EmbeddedBroker\(properties\): unknown configuration num\.partitons; did you mean num\.partitions\?"
    for in_process in (False, True):
        with (
            pytest.raises(BrokerNotStarted, match=unknown),
            EmbeddedBroker({"num.partitons": 3}, in_process=in_process),
        ):
            pass
    with (
        EmbeddedBroker(data_dir=tmp_path / "data"),
        pytest.raises(BrokerNotStarted, match="lock"),
        EmbeddedBroker(data_dir=tmp_path / "data"),
    ):
        pass


def test_what_comes_too_early_or_too_late_says_so() -> None:
    broker = EmbeddedBroker()
    with pytest.raises(EmbeddedBrokerError, match="was not started"):
        _ = broker.bootstrap_servers
    with pytest.raises(EmbeddedBrokerError, match=r"call start\(\)"):
        broker.stop()
    with broker:
        with pytest.raises(RuntimeError, match="already running"):
            broker.start()
        os.kill(broker.pid, signal.SIGKILL)
        await_ends(broker.pid)
        assert not broker.is_running
        with pytest.raises(BrokerDied, match="Started broker"):
            broker.stop()
    assert "Started broker" in broker.log(), "the log of a closed one is still there"


def test_data_in_a_directory_of_the_tests_own_stays(tmp_path: Path) -> None:
    with EmbeddedBroker(data_dir=tmp_path / "data", topics=["kept"]) as broker:
        write(broker, "kept", b"one")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    with EmbeddedBroker(data_dir=tmp_path / "data") as broker:
        assert read(broker, "kept", 1) == [b"one"]


def test_where_temporary_data_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    room = shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else 0
    with EmbeddedBroker(topics=["kept"]) as broker:
        home = broker.data_dir.parent.parent
        write(broker, "kept", b"one")
        broker.restart(kill=True)
        assert read(broker, "kept", 1) == [b"one"]
    assert home == Path("/dev/shm" if room >= 1 << 30 else tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with EmbeddedBroker() as broker:
        assert broker.data_dir.parent.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_several_start_at_once() -> None:
    brokers = [EmbeddedBroker({"broker.id": number}) for number in range(5)]
    try:
        start_all(*brokers)
        assert len({broker.port for broker in brokers}) == 5
        for number, broker in enumerate(brokers):
            metadata = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60)
            assert list(metadata.brokers) == [number]
    finally:
        for broker in brokers:
            broker.close()
    good, bad = EmbeddedBroker(), EmbeddedBroker({"num.partitions": "many"})
    with pytest.raises(BrokerNotStarted):
        start_all(good, bad)
    assert not good.is_running


def test_listeners_of_the_tests_own() -> None:
    listeners = "PLAINTEXT://127.0.0.1:0,OTHER://[::1]:0"
    protocols = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"}
    with EmbeddedBroker({"listeners": listeners, **protocols}) as broker:
        other = broker.started["listeners"][1].rpartition("://")[2]
        broker.restart()
        assert broker.started["listeners"][1].rpartition("://")[2] == other
        metadata = AdminClient({"bootstrap.servers": other}).list_topics(timeout=60)
        assert [str(node.port) for node in metadata.brokers.values()] == [other.rpartition(":")[2]]


def test_in_an_event_loop() -> None:
    async def life() -> bool:
        async with EmbeddedBroker(topics=["async"]) as broker:
            return await asyncio.to_thread(lambda: read(broker, "async", 0)) == [] and broker.is_running

    assert asyncio.run(life())


def test_inside_this_process() -> None:
    with EmbeddedBroker(topics=["near"], in_process=True) as broker:
        assert broker.pid == os.getpid()
        write(broker, "near", b"one")
        broker.restart()
        assert read(broker, "near", 1) == [b"one"]
        for refused in (broker.kill, broker.pause, broker.log):
            with pytest.raises(RuntimeError, match="inside this process"):
                refused()
        directory = broker.data_dir
    assert not directory.exists()


# Nothing stays behind

SERIES = """
import json, sys
from kcore.testing import EmbeddedBroker
from tests.leftovers import own_ports

ports, pids = [], []
for number in range(int(sys.argv[1])):
    with EmbeddedBroker(topics=["one"] if number % 10 == 0 else ()) as broker:
        ports.append(broker.port)
        pids.append(broker.pid)
        assert broker.port in own_ports(), "it is held for the broker"
print(json.dumps({"pids": pids, "still_held": sorted(own_ports().intersection(ports))}))
"""
LEFT_ALONE = """
import sys
from kcore.testing import EmbeddedBroker

brokers = [EmbeddedBroker(topics=["one"]).start() for _ in range(3)]
brokers[1].pause()
brokers[2].kill()
print("started", flush=True)
if sys.argv[1] == "wait":
    sys.stdin.read()
"""


def run_script(script: str, leftovers: Leftovers, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**leftovers.environment, "PYTHONPATH": str(ROOT)},
    )


def test_fifty_in_a_row_leave_no_process_port_or_file(tmp_path: Path) -> None:
    leftovers = Leftovers(tmp_path)
    with run_script(SERIES, leftovers, "50") as script:
        output, _ = script.communicate(timeout=200)
    assert script.returncode == 0
    seen = json.loads(output)
    assert len(set(seen["pids"])) == 50
    assert seen["still_held"] == []
    leftovers.await_ends()
    assert leftovers.files() == []


@pytest.mark.parametrize("end", ["exit", "SIGTERM", "SIGKILL"])
def test_a_process_of_tests_that_ends_takes_its_brokers_along(tmp_path: Path, end: str) -> None:
    leftovers = Leftovers(tmp_path)
    with run_script(LEFT_ALONE, leftovers, "exit" if end == "exit" else "wait") as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "started\n"
        if end != "exit":
            assert len(leftovers.processes()) == 4, "itself, what brokers are forked from, two brokers"
            script.send_signal(signal.Signals[end])
        script.wait(60)
    leftovers.await_ends()
    assert leftovers.files() == []


@pytest.mark.usefixtures("own_fork_server")
def test_brokers_do_not_outlive_the_fork_server() -> None:
    with EmbeddedBroker(topics=["kept"]) as broker:
        write(broker, "kept", b"one")
        first = broker.pid
        os.kill(fork_server().pid, signal.SIGKILL)
        await_ends(first)
        assert not broker.is_running
        broker.start()
        assert read(broker, "kept", 1) == [b"one"]
    assert not Path(f"/proc/{broker.pid}").exists()


@pytest.mark.usefixtures("own_fork_server")
def test_why_the_fork_server_could_not_be_launched_is_said() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server_client, "BOOT", "raise SystemExit('no interpreter to speak of')")
        broker = EmbeddedBroker()
        with pytest.raises(BrokerNotStarted, match="no interpreter to speak of"):
            broker.start()
        with pytest.raises(EmbeddedBrokerError, match="no directory"):
            _ = broker.data_dir
    close_fork_server()
    with EmbeddedBroker() as broker:
        assert broker.is_running


def test_the_broker_of_the_module_has_outlived_the_fork_servers_of_others(broker: EmbeddedBroker) -> None:
    assert broker.is_running


def test_a_start_imports_nothing_that_it_can_do_without() -> None:
    """Half of a start is imports; these, of the standard library, cost most."""
    script = (
        "import sys; from kcore.testing.fork_server import load_broker; load_broker(); print(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    dear = "asyncio dataclasses datetime enum inspect json logging random re socket typing"
    assert set(dear.split()) & set(done.stdout.split()) == set()


def test_a_forked_child_has_no_hold_on_its_parents_brokers() -> None:
    with EmbeddedBroker(topics=["kept"]) as broker:
        child = os.fork()
        if not child:
            broker.close()
            with EmbeddedBroker(topics=["own"]) as own:
                os._exit(0 if own.port != broker.port else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert broker.is_running
        write(broker, "kept", b"one")
