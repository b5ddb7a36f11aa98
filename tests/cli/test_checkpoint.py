"""`kcli checkpoint show`: every kind of file, and what is said of one that is not what its name says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, run_kcli

KINDS = {
    "recovery-point-offset-checkpoint": "0\n2\nflights 0 17\nflights 1 4\n",
    "leader-epoch-checkpoint": "0\n2\n0 0\n3 120\n",
    "partition.metadata": "version: 0\ntopic_id: MvDLP_msTuqMkxaOWV4gpw\n",
    "meta.properties": "#comment\nversion=1\nnode.id=1\ncluster.id=abc\n",
    ".kafka_cleanshutdown": '{"version":0,"brokerEpoch":9}',
}
EXPECTED = {
    "recovery-point-offset-checkpoint": "TOPIC    PARTITION  OFFSET\n"
    "flights          0      17\nflights          1       4\n",
    "leader-epoch-checkpoint": "EPOCH  START OFFSET\n    0             0\n    3           120\n",
    "partition.metadata": "PROPERTY  VALUE\nversion   0\ntopic_id  MvDLP_msTuqMkxaOWV4gpw\n",
    "meta.properties": "PROPERTY    VALUE\nversion     1\nnode.id     1\ncluster.id  abc\n",
    ".kafka_cleanshutdown": "PROPERTY     VALUE\nversion          0\nbrokerEpoch      9\n",
}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind(tmp_path: Path, offline: Kcli, name: str) -> None:
    path = tmp_path / name
    path.write_text(KINDS[name])
    assert offline("checkpoint", "show", path) == (0, f"{path}\n{EXPECTED[name]}", "")


def test_json(tmp_path: Path, offline: Kcli) -> None:
    path = tmp_path / "replication-offset-checkpoint"
    path.write_text("0\n1\nt 3 42\n")
    expected = {"file": str(path), "topic": "t", "partition": 3, "offset": 42}
    assert json.loads(offline("checkpoint", "show", path, "-o", "json").stdout) == [expected]
    assert json.loads(offline("checkpoint", "show", path, "-o", "jsonl").stdout) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "the file is empty"),
        ("1\n0\n", "unsupported version '1'; only 0 is supported"),
        ("0\nmany\n", "line 2 must be the number of entries"),
        ("0\n2\nt 0 1\n", "line 2 says 2 entries, but the file has 1"),
        ("0\n1\nt 0\n", "line 3 has 2 fields; expected 3"),
        ("0\n1\nt 0 x\n", "'x' is not a number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, offline: Kcli, content: str, reason: str) -> None:
    path = tmp_path / "log-start-offset-checkpoint"
    path.write_text(content)
    assert offline("checkpoint", "show", path) == (
        1,
        "",
        f"kcli checkpoint show: {path}: {reason}. Delete the file: the broker re-creates it at its next start\n",
    )


def test_the_log_directory_of_a_broker(tmp_path: Path, offline: Kcli) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        server = ("--bootstrap-server", broker.bootstrap_server)
        run_kcli("topics", "create", "kept", *server)
        run_kcli("console-producer", "--topic", "kept", *server, stdin="a\nb\nc\n")
        assert broker.stop() == 0
    rows = json.loads(offline("checkpoint", "show", tmp_path / "data", "-o", "json").stdout)
    data = tmp_path / "data"
    assert {
        "file": str(data / "recovery-point-offset-checkpoint"),
        "topic": "kept",
        "partition": 0,
        "offset": 3,
    } in rows
    assert {"file": str(data / "kept-0" / "leader-epoch-checkpoint"), "epoch": 0, "start_offset": 0} in rows
    assert {"file": str(data / "meta.properties"), "property": "version", "value": "1"} in rows


def test_usage(tmp_path: Path, offline: Kcli) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("x")
    assert offline("checkpoint", "show", other).code == 2
    assert offline("checkpoint", "show", tmp_path) == (
        2,
        "",
        f"kcli checkpoint show: {tmp_path}: no checkpoint files in this directory. Pass a log "
        "directory or a partition directory\n",
    )
