"""A disk that answers EIO when files are renamed or removed, and while a broker starts.

What was deleted stays so, though its files could not be removed; what the start cannot read is offline and no other
directory with it; a start on the whole disk has everything again.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.fault.failing_disk_broker import rule_for
from tests.fault.partition_clients import TIMEOUT_S
from tests.fault.test_disk_eio import BATCH, TOPIC, Scene, scene
from tests.invariants.history import RecordsDeleted

AT_ONCE = {"log.segment.delete.delay.ms": "0", "log.retention.check.interval.ms": "50"}


def fill(staged: Scene, batches: int = 1) -> None:
    for _ in range(batches):
        for partition in (staged.failing, staged.sound):
            staged.send_all("confluent", partition)


def wait_until_gone(pattern: str, directory: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while list(directory.glob(pattern)):
        assert time.monotonic() < deadline, list(directory.glob(pattern))
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("operation", "names"),
    [("rename", f"{TOPIC}-?"), ("unlink", f"{TOPIC}-*-delete/*"), ("rmdir", f"{TOPIC}-*-delete")],
)
def test_a_topic_that_was_deleted_is_gone_though_its_files_are_not(tmp_path: Path, operation: str, names: str) -> None:
    with scene(tmp_path, AT_ONCE) as staged:
        fill(staged)
        staged.fail([operation], names)
        admin = AdminClient({"bootstrap.servers": staged.broker.bootstrap_server})
        admin.delete_topics([TOPIC])[TOPIC].result(TIMEOUT_S)
        staged.wait_until_offline()
        assert TOPIC not in admin.list_topics(timeout=TIMEOUT_S).topics
        wait_until_gone(f"sound/{TOPIC}-*", tmp_path)
        assert list(staged.failing_directory.glob(f"{TOPIC}-*"))
        # One of the same name has nothing of it, in whichever directory.
        admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(TIMEOUT_S)
        staged.broker.kill()
        staged.broker.start()
        wait_until_gone(f"failing/{TOPIC}-*", tmp_path)
        staged.history.sends.clear()
        fill(staged)
        staged.read_whole("confluent")
        assert [view.end for view in staged.history.views] == [BATCH, BATCH]
        assert staged.broker.stop() == 0


def delete_records(staged: Scene, before: int) -> None:
    admin = AdminClient({"bootstrap.servers": staged.broker.bootstrap_server})
    asked = admin.delete_records([ConfluentPartition(*staged.failing, before)])
    start = next(iter(asked.values())).result(TIMEOUT_S).low_watermark
    assert start == before
    staged.history.deletions.append(RecordsDeleted(staged.failing, start, time.monotonic_ns()))


def test_records_that_were_deleted_stay_so_though_their_segments_cannot_go(tmp_path: Path) -> None:
    """Segments below the start of the log cannot be renamed, which ends the directory."""
    with scene(tmp_path, AT_ONCE) as staged:
        fill(staged, 4)
        staged.fail(["rename"], f"{TOPIC}-?/*.log")
        delete_records(staged, 65)
        staged.wait_until_offline()
        staged.wait_until_unled()
        staged.send_none("confluent")
        staged.send_all("confluent", staged.sound)
        staged.restart_whole("confluent", "kill")


def test_files_of_deleted_segments_that_cannot_be_removed_wait_for_the_next_start(tmp_path: Path) -> None:
    """They are out of the log already, and cost nothing but room."""
    with scene(tmp_path, AT_ONCE) as staged:
        fill(staged, 4)
        staged.fail(["unlink"], f"{TOPIC}-?/*.deleted")
        delete_records(staged, 65)
        deadline = time.monotonic() + TIMEOUT_S
        while not staged.broker.failures():
            assert time.monotonic() < deadline
        fill(staged)
        assert list(staged.failing_directory.glob(f"{TOPIC}-?/*.deleted"))
        staged.restart_whole("confluent", "kill")
        assert not list(staged.failing_directory.glob(f"{TOPIC}-?/*.deleted"))


# By how the broker ended: after a clean stop no log is read before it is needed.
STARTS = {
    "directory": ("kill", "readdir", ""),
    "identity": ("kill", "open", "/meta.properties"),
    "log": ("kill", "readdir", f"/{TOPIC}-?"),
    "records": ("kill", "pread", f"/{TOPIC}-?/*.log"),
    "checkpoint": ("stop", "open", "/recovery-point-offset-checkpoint"),
    "marker": ("stop", "unlink", "/.kafka_cleanshutdown"),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_goes_on_without_the_directory_that_it_cannot_read(tmp_path: Path, name: str) -> None:
    """Clients are told that nobody leads its partitions: who is sent to a broker that lacks them asks for ever."""
    end, operation, names = STARTS[name]
    with scene(tmp_path, {}) as staged:
        fill(staged, 3)
        assert staged.broker.stop() == 0 if end == "stop" else staged.broker.kill() is None
        staged.broker.start(rule_for([operation], f"{staged.failing_directory}{names}"))
        staged.wait_until_unled()
        assert staged.fetch_error() == KafkaError.KAFKA_STORAGE_ERROR
        staged.send_none("confluent")
        staged.send_all("confluent", staged.sound)
        staged.restart_whole("confluent", end)


def test_a_start_that_can_read_no_directory_says_so_and_ends(tmp_path: Path) -> None:
    with scene(tmp_path, {}) as staged:
        fill(staged)
        assert staged.broker.stop() == 0
        staged.broker.launch(rule_for(["readdir"], f"{tmp_path}/*"))
        assert staged.broker.wait() == 1
        assert "None of the log directories can be used" in staged.broker.log()
        staged.broker.start()
        staged.restart_whole("confluent", "kill")
