"""A log directory is one broker's, whichever of the two kinds: the other refuses it and says so."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from kcore.testing.errors import BrokerNotStarted
from tests.apache_kafka import NODE_ID, ApacheKafka
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

# The broker writes them when it has run for a while.
OURS_MEANWHILE = {"log-start-offset-checkpoint", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"}


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - OURS_MEANWHILE


@pytest.mark.needs("java", "mvn", "setpriv")
def test_apache_kafka_refuses_the_directory_of_a_running_broker_of_ours(tmp_path: Path) -> None:
    directory, metadata = tmp_path / "data", tmp_path / "metadata"
    with BrokerProcess(directory, {"node.id": str(NODE_ID)}) as broker:
        # Of the same cluster and node, so that only the lock stands against it.
        identity = (directory / "meta.properties").read_text().splitlines()
        metadata.mkdir()
        (metadata / "meta.properties").write_text(
            "".join(f"{line}\n" for line in identity if not line.startswith("directory.id"))
        )
        before = names(directory)
        kafka = ApacheKafka("3.9", directory, {"metadata.log.dir": str(metadata)})
        with pytest.raises(AssertionError, match="did not start"):
            kafka.start()
        assert f"Failed to acquire lock on file .lock in {directory}" in kafka.log()
        assert names(directory) == before
        with RawClient(int(broker.bootstrap_server.rpartition(":")[2])) as client:
            client.create_topic("goes-on", 1)


def test_ours_refuses_a_directory_that_is_locked_as_apache_kafka_locks_it(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    with (directory / ".lock").open("a+b") as lock:
        # What Java's FileChannel.tryLock does.
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        broker = BrokerProcess(directory)
        with pytest.raises(BrokerNotStarted) as refused, broker:
            pass
    told = str(refused.value)
    assert f"Failed to acquire lock on file .lock in {directory}" in told
    assert "is using this directory" in told
    assert "log.dirs of its own" in told
    assert "Traceback" not in told
    assert [path.name for path in directory.iterdir()] == [".lock"]
