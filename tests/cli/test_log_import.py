"""`kcli log import`: what it takes over, what it refuses and in which words, and that a refusal touches nothing."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kcore import uuid
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Result, run_kcli
from tests.interchange.contents import producer, read_rows, send
from tests.interchange.importing import with_text
from tests.vectors.kafka.make import HERE, read_answers

TOPIC_ID = "MvDLP_msTuqMkxaOWV4gpw"
OTHER_ID = "Xq9UexRzRNm3tRH2D0Eh1g"
Import = Callable[..., Result]


@pytest.fixture
def kafkas(tmp_path: Path) -> Path:
    """A log directory of Apache Kafka's with the partitions orders-0 to orders-2, which were given an id."""
    directory = tmp_path / "kafka"
    directory.mkdir()
    # Every broker leaves it behind.
    (directory / ".lock").touch()
    for partition in range(3):
        shutil.copytree(HERE / "3.9" / "codecs-0", directory / f"orders-{partition}")
        (directory / f"orders-{partition}" / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
    return directory


@pytest.fixture
def run_import(tmp_path: Path) -> Import:
    """The command on a data directory of its own, without a question."""

    def run(*arguments: str | Path) -> Result:
        return run_kcli(
            "log", "import", *arguments, "--data-dir", tmp_path / "data", "--config", "retention.ms=-1", "--yes"
        )

    return run


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def topics_of(data_dir: Path) -> list[str]:
    with BrokerProcess(data_dir) as broker:
        rows = json.loads(
            run_kcli("topics", "list", "--bootstrap-server", broker.bootstrap_server, "-o", "json").stdout
        )
        broker.stop()
    return sorted(row["topic"] for row in rows)


def test_a_topic_of_three_partitions(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    before = contents(kafkas)
    result = run_import(*(kafkas / f"orders-{number}" for number in (2, 0, 1)), "-o", "json")
    assert (result.code, result.stderr) == (0, "")
    rows = json.loads(result.stdout)
    assert [(row["topic"], row["partition"], row["topic_id"], row["action"]) for row in rows] == [
        ("orders", number, TOPIC_ID, "copy") for number in range(3)
    ]
    assert contents(kafkas) == before, "a copy leaves the source as it is"
    expected = [[*row[:2], row[2], row[3]] for row in read_answers("3.9")["codecs"]["rows"]]
    with BrokerProcess(tmp_path / "data") as broker:
        described = run_kcli("topics", "describe", "--topic", "orders", "--bootstrap-server", broker.bootstrap_server)
        assert f"TopicId: {TOPIC_ID}" in described.stdout
        assert "PartitionCount: 3" in described.stdout
        assert "retention.ms=-1" in described.stdout
        assert with_text(read_rows(broker.bootstrap_server, "orders")) == expected
        # It goes on where Apache Kafka ended, in a leader epoch of its own.
        send(producer(broker.bootstrap_server), "orders", 500, 3)
        rows_now = read_rows(broker.bootstrap_server, "orders")
        assert [row[0] for row in rows_now[-4:]] == [99, 100, 101, 102]
        broker.stop()
    dumped = run_kcli("dump-log", tmp_path / "data" / "orders-0", "-o", "jsonl")
    epochs = [
        json.loads(line)["partition_leader_epoch"] for line in dumped.stdout.splitlines() if "base_offset" in line
    ]
    assert epochs[0] == 0
    assert epochs[-1] > 0


def test_more_partitions_of_a_topic_that_exists(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    assert run_import(kafkas / "orders-0").code == 0
    assert run_import(kafkas / "orders-1", kafkas / "orders-2").code == 0
    assert topics_of(tmp_path / "data") == ["orders"]
    assert sorted(path.name for path in (tmp_path / "data").glob("orders-*")) == ["orders-0", "orders-1", "orders-2"]


def test_move_takes_the_directory_away(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    before = contents(kafkas / "orders-0")
    assert run_import(kafkas / "orders-0", "--move").code == 0
    assert not (kafkas / "orders-0").exists()
    after = contents(tmp_path / "data" / "orders-0")
    # Recovery, since Apache Kafka was not shut down cleanly, makes indexes anew and touches no record.
    assert after.keys() == before.keys()
    for name, content in before.items():
        assert name.endswith("index") or after[name] == content, name


def test_the_same_command_after_a_crash_takes_over_what_was_moved(
    tmp_path: Path, kafkas: Path, run_import: Import
) -> None:
    # A crash came between the renaming of the one and of the other.
    (tmp_path / "data").mkdir()
    (kafkas / "orders-0").rename(tmp_path / "data" / "orders-0")
    unfinished = tmp_path / "data" / f"{'0' * 32}-import"
    unfinished.mkdir()
    (unfinished / f"{0:020}.log").touch()
    directories = (kafkas / "orders-0", kafkas / "orders-1")
    refused = run_import(*directories)
    assert refused.code == 1
    assert f"but {tmp_path}/data/orders-0 does. To import that one, pass its path" in refused.stderr
    result = run_import(*directories, "--move", "-o", "json")
    assert [row["action"] for row in json.loads(result.stdout)] == ["register", "move"]
    assert not unfinished.exists()
    with BrokerProcess(tmp_path / "data") as broker:
        assert len(read_rows(broker.bootstrap_server, "orders")) == len(read_answers("3.9")["codecs"]["rows"])
        broker.stop()


def test_what_a_start_set_aside_comes_back(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    data_dir = tmp_path / "data"
    (kafkas / "orders-2").rename(kafkas / "bills-0")
    assert run_import(kafkas / "bills-0", "--topic-id", TOPIC_ID).code == 0
    shutil.copytree(kafkas / "orders-0", data_dir / "orders-0")
    (data_dir / "orders-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {OTHER_ID}")
    assert topics_of(data_dir) == ["bills"]
    (stray,) = data_dir.glob("orders-0.*-stray")
    result = run_import(stray, "-o", "json")
    assert json.loads(result.stdout)[0]["action"] == "move"
    assert topics_of(data_dir) == ["bills", "orders"]


def test_nobody_is_asked_and_the_plan_is_shown(tmp_path: Path, kafkas: Path) -> None:
    result = run_kcli("log", "import", kafkas / "orders-0", "--data-dir", tmp_path / "data")
    assert result.code == 2
    assert f"copy {kafkas}/orders-0 to {tmp_path}/data/orders-0: partition 0 of topic orders" in result.stderr
    assert "to be recovered" in result.stderr
    assert "pass --yes" in result.stderr
    assert not (tmp_path / "data" / "orders-0").exists()


def test_a_directory_without_an_id_needs_one(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    (kafkas / "orders-0" / "partition.metadata").unlink()
    refused = run_import(kafkas / "orders-0")
    assert refused.code == 1
    assert "has no partition.metadata" in refused.stderr
    assert "--topic-id" in refused.stderr
    accepted = run_import(kafkas / "orders-0", "--topic-id", OTHER_ID)
    assert (accepted.code, accepted.stderr) == (0, "")
    assert (tmp_path / "data" / "orders-0" / "partition.metadata").read_text().endswith(OTHER_ID)


@pytest.mark.parametrize(
    ("names", "options", "reason"),
    [
        (["orders-1"], [], "topic orders would have no partition 0"),
        (["orders-0", "orders-2"], [], "topic orders would have no partition 1"),
        (["orders-0"], ["--topic-id", OTHER_ID], f"belongs to topic id {TOPIC_ID}"),
        (["orders"], [], "is not a partition directory: its name must be TOPIC-PARTITION"),
        (["nonexist"], [], "nonexist does not exist. Pass the directory of a partition"),
        (["orders-9"], [], "orders-9 does not exist. Check the path"),
        (["empty-0"], [], "has no .log file"),
        (["__consumer_offsets-0"], [], "internal topic __consumer_offsets"),
        (["orders-0", "again/orders-0"], [], "are both partition 0 of topic orders"),
        (["orders-0", "other/orders-1"], [], "they are of two topics that had the same name"),
    ],
)
def test_refusals(
    tmp_path: Path, kafkas: Path, run_import: Import, names: list[str], options: list[str], reason: str
) -> None:
    (kafkas / "orders").mkdir()
    (kafkas / "empty-0").mkdir()
    shutil.copy(kafkas / "orders-0" / "partition.metadata", kafkas / "empty-0")
    shutil.copytree(kafkas / "orders-0", kafkas / "__consumer_offsets-0")
    shutil.copytree(kafkas / "orders-0", kafkas / "again" / "orders-0")
    shutil.copytree(kafkas / "orders-1", kafkas / "other" / "orders-1")
    (kafkas / "other" / "orders-1" / "partition.metadata").write_text(f"version: 0\ntopic_id: {OTHER_ID}")
    before = contents(kafkas)
    result = run_import(*(kafkas / name for name in names), *options)
    assert result.code == 1
    assert reason in result.stderr
    assert result.stdout == ""
    assert contents(kafkas) == before
    assert not list((tmp_path / "data").glob("orders-*"))


def test_what_exists_already_is_refused(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    assert run_import(kafkas / "orders-0").code == 0
    before = contents(tmp_path / "data")
    assert "partition 0 of topic orders already exists" in run_import(kafkas / "orders-0").stderr

    for partition in range(2):
        (kafkas / f"orders-{partition}" / "partition.metadata").write_text(f"version: 0\ntopic_id: {OTHER_ID}")
    assert f"exists here with topic id {TOPIC_ID}" in run_import(kafkas / "orders-1").stderr

    (kafkas / "orders-2").rename(kafkas / "bills-0")
    assert "belongs to the existing topic orders" in run_import(kafkas / "bills-0").stderr
    assert {name: data for name, data in contents(tmp_path / "data").items() if "sqlite" not in name} == {
        name: data for name, data in before.items() if "sqlite" not in name
    }


def test_the_broker_has_to_be_stopped(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        result = run_import(kafkas / "orders-0")
        assert result.code == 1
        assert "the broker is running. Stop it with" in result.stderr
        broker.stop()
    assert run_import(kafkas / "orders-0").code == 0


def test_the_other_broker_has_to_be_stopped_too(kafkas: Path, run_import: Import) -> None:
    descriptor = os.open(kafkas / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        # As Java's FileChannel.tryLock does.
        fcntl.lockf(descriptor, fcntl.LOCK_EX)
        result = run_import(kafkas / "orders-0")
        assert (result.code, result.stdout) == (1, "")
        assert f"cannot import from {kafkas}: a broker uses it" in result.stderr
    finally:
        os.close(descriptor)
    assert run_import(kafkas / "orders-0").code == 0


def test_deleted_records_stay_deleted(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    (kafkas / "log-start-offset-checkpoint").write_text("0\n1\norders 0 42\n")
    assert run_import(kafkas / "orders-0").code == 0
    with BrokerProcess(tmp_path / "data") as broker:
        assert read_rows(broker.bootstrap_server, "orders")[0][0] == 42
        broker.stop()


def test_ids_that_are_none(run_import: Import, kafkas: Path) -> None:
    for text in ("short", uuid.to_text(uuid.ZERO)):
        result = run_import(kafkas / "orders-0", "--topic-id", text)
        assert result.code == 2
        assert "--topic-id" in result.stderr


def test_a_broker_that_was_killed_recovers_first(tmp_path: Path, kafkas: Path, run_import: Import) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        broker.kill()
    refused = run_import(kafkas / "orders-0")
    assert refused.code == 1
    assert "was not shut down cleanly: start the broker and stop it again first" in refused.stderr
    with BrokerProcess(tmp_path / "data") as broker:
        broker.stop()
    assert run_import(kafkas / "orders-0").code == 0
