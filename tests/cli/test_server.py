"""`kcli server-start` and `server-stop`: what they say, when, and what is left behind."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kcli.data_directory import PID_FILE, default_data_directory
from kcli.server_process import ServerArguments, plain_arguments, server_properties
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli
from tests.server_command import ServerCommand


def test_the_line_that_says_it_serves_and_the_stop(tmp_path: Path, offline: Kcli) -> None:
    data_dir = tmp_path / "data"
    command = [sys.executable, "-m", "kcli", "server-start", "--port", "0", "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(
            rf"started broker \d+ on PLAINTEXT://127\.0\.0\.1:\d+, data in {re.escape(str(data_dir))}\n", line
        )
        assert offline("server-stop", "--data-dir", data_dir) == (
            0,
            f"stopped the broker of {data_dir} (pid {process.pid})\n",
            "",
        )
        assert process.stdout.read() == "", "stdout has that one line and no more"
        assert process.wait() == 0
    assert not (data_dir / PID_FILE).exists()
    assert offline("server-stop", "--data-dir", data_dir) == (0, f"no broker is running on {data_dir}\n", "")


def test_the_json_line_names_the_broker(tmp_path: Path, offline: Kcli) -> None:
    with ServerCommand(tmp_path / "data") as broker:
        assert set(broker.started) == {"broker_id", "cluster_id", "listeners", "pid", "data_dir", "metrics_url"}
        assert broker.started["metrics_url"] is None
        assert broker.started["pid"] == broker.pid
        assert broker.started["data_dir"] == str(tmp_path / "data")
        assert broker.started["listeners"] == [f"PLAINTEXT://127.0.0.1:{broker.port}"]
        stopped = offline("server-stop", "--data-dir", tmp_path / "data", "-o", "json")
        assert json.loads(stopped.stdout) == {"data_dir": str(tmp_path / "data"), "pid": broker.pid, "stopped": True}


def test_the_address_of_the_metrics_is_told(tmp_path: Path, offline: Kcli) -> None:
    with ServerCommand(tmp_path / "data", arguments=("--override", "metrics.port=0")) as broker:
        url = broker.started["metrics_url"]
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"kafka_server_kafkaserver_brokerstate 3\n" in answer.read()
        with urllib.request.urlopen(url.replace("/metrics", "/ready"), timeout=30) as answer:
            assert answer.status == 200
        port = url.rpartition(":")[2].partition("/")[0]
        arguments = ("--data-dir", tmp_path / "second", "--port", "0", "--override", f"metrics.port={port}")
        second = offline("server-start", *arguments)
    assert second.code == 1
    assert second.stderr.splitlines()[-1] == (
        f"kcli server-start: cannot serve metrics at metrics.host=127.0.0.1 metrics.port={port}: "
        "Address already in use; "
        "choose another address, or remove metrics.port"
    )


def test_an_advertised_port_of_0_is_the_one_that_was_taken(tmp_path: Path, offline: Kcli) -> None:
    arguments = ("--override", "advertised.listeners=PLAINTEXT://localhost:0")
    with ServerCommand(tmp_path / "data", arguments=arguments) as broker:
        bootstrap = ("--bootstrap-server", f"127.0.0.1:{broker.port}")
        shown = offline("broker-api-versions", *bootstrap).stdout
        assert broker.port != 0
        assert shown.startswith(f"localhost:{broker.port} (id: ")


def test_ctrl_c_and_sigterm_end_it_with_code_0(tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with ServerCommand(tmp_path / "data") as broker:
            broker.process.send_signal(number)
            assert broker.process.wait(30) == 0


def test_a_second_broker_is_kept_out_of_the_directory(tmp_path: Path, offline: Kcli) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        second = offline("server-start", "--data-dir", tmp_path / "data", "--port", "0")
        assert second.code == 1
        assert second.stdout == ""
        assert str(tmp_path / "data") in second.stderr.splitlines()[-1]
        assert "Traceback" not in second.stderr
        assert broker.stop() == 0, "the first one was not disturbed"


def test_a_port_in_use_is_named(tmp_path: Path, offline: Kcli) -> None:
    with BrokerProcess(tmp_path / "first") as broker:
        second = offline("server-start", "--data-dir", tmp_path / "second", "--port", str(broker.port))
    assert second.code == 1
    assert second.stderr.splitlines()[-1] == (
        f"kcli server-start: cannot listen on PLAINTEXT://127.0.0.1:{broker.port}: Address already in "
        "use. Stop the process "
        "that listens on this port, or choose another port with --port"
    )
    assert "Traceback" not in second.stderr


def test_a_broker_may_open_as_many_files_as_the_system_allows(tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
    try:
        with ServerCommand(tmp_path / "data") as broker:
            assert resource.prlimit(broker.pid, resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_after_kill_9_the_pid_file_names_nobody(tmp_path: Path, offline: Kcli) -> None:
    with ServerCommand(tmp_path / "data"):
        pass
    assert (tmp_path / "data" / PID_FILE).exists()
    assert (
        offline("server-stop", "--data-dir", tmp_path / "data").stdout
        == f"no broker is running on {tmp_path / 'data'}\n"
    )


def test_a_stranger_with_the_same_pid_is_not_stopped(tmp_path: Path, offline: Kcli) -> None:
    (tmp_path / PID_FILE).write_text(f"{os.getpid()} 1\n")
    assert offline("server-stop", "--data-dir", tmp_path).stdout == f"no broker is running on {tmp_path}\n"


def test_a_setting_that_cannot_be_is_usage(tmp_path: Path, offline: Kcli) -> None:
    result = offline("server-start", "--data-dir", tmp_path, "--port", "0", "--override", "num.partitions=many")
    assert result.code == 2
    assert result.stdout == ""
    assert "num.partitions" in result.stderr
    assert "Traceback" not in result.stderr
    assert offline("server-start", "--override", "nonsense").stderr == (
        "kcli server-start: --override: expected NAME=VALUE, got 'nonsense'\n"
    )
    missing = offline("server-start", tmp_path / "no.properties")
    assert (missing.code, missing.stderr) == (
        2,
        f"kcli server-start: {tmp_path / 'no.properties'}: no such file or directory\n",
    )


def test_a_wrong_value_is_reported_with_the_place_where_it_was_set(tmp_path: Path, offline: Kcli) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=1\n\nnum.partitons=\\\n  3\nlog.retention.hours=1\n")
    start = ("server-start", file, "--data-dir", tmp_path / "data", "--port", "0")
    result = offline(*start, "--override", "kcli.request.log=slow", "--override", "num.partitions=0")
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == (
        "kcli server-start: --override num.partitions: Invalid value 0 for configuration "
        "num.partitions: Value must be at least 1\n"
        "kcli server-start: --override kcli.request.log: Invalid value slow for configuration kcli.request.log: "
        "String must be one of: off, summary, full\n"
        f"kcli server-start: {file}:3: unknown configuration num.partitons; did you mean num.partitions?\n"
    )
    file.write_text("log.retention.hours=0\n")
    result = offline(*start)
    assert (result.code, result.stderr) == (
        2,
        f"kcli server-start: {file}:1: requirement failed: log.retention.ms must be unlimited (-1) "
        "or, greater than or equal to 1\n",
    )
    for arguments in (
        ("--override", "num.partitons=3"),
        ("--override", "num.partitons=3", "--override", "num.io.threads=9"),
    ):
        result = offline("server-start", "--data-dir", tmp_path / "data", "--port", "0", *arguments)
        assert (result.code, result.stderr) == (
            2,
            "kcli server-start: --override num.partitons: unknown configuration num.partitons; did "
            "you mean num.partitions?\n",
        )


def test_the_file_then_the_overrides_then_the_options(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "num.partitions=3\nlog.dirs=/from/file\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        "controller.listener.names=CONTROLLER\nlog.retention.hours=1\n"
        "advertised.listeners=PLAINTEXT://localhost:9092\n"
    )
    properties = server_properties(str(file), ("num.partitions=5",), str(tmp_path / "data"), 1234)
    assert properties["num.partitions"] == "5"
    assert properties["log.retention.hours"] == "1"
    assert properties["log.dirs"] == str(tmp_path / "data")
    assert properties["listeners"] == "PLAINTEXT://:1234,CONTROLLER://:9093"
    assert properties["advertised.listeners"] == "PLAINTEXT://localhost:1234"
    forwarded = ("advertised.listeners=PLAINTEXT://example.org:443",)
    assert server_properties(str(file), forwarded, None, 1234)["advertised.listeners"] == forwarded[0].partition("=")[2]
    assert server_properties(str(file), (), None, None)["log.dirs"] == "/from/file"


def test_without_a_file_only_the_loopback_is_listened_on() -> None:
    assert server_properties(None, (), "/d", None)["listeners"] == "PLAINTEXT://127.0.0.1:9092"
    assert server_properties(None, (), "/d", 0)["listeners"] == "PLAINTEXT://127.0.0.1:0"
    assert server_properties(None, ("listeners=PLAINTEXT://:1",), "/d", None)["listeners"] == "PLAINTEXT://:1"


def test_the_default_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCLI_DATA_DIR", "/data/kcli")
    assert default_data_directory() == "/data/kcli"
    monkeypatch.delenv("KCLI_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert default_data_directory() == "/xdg/kcli"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_data_directory() == "/home/me/.local/share/kcli"


def test_plain_arguments_are_understood_without_click_and_others_are_left_to_it() -> None:
    plain = ["a.properties", "--override", "a=b", "--port", "0", "--override", "c=d", "--data-dir", "/d", "-o", "json"]
    assert plain_arguments(plain) == ServerArguments("a.properties", ("a=b", "c=d"), "/d", 0, "json")
    assert plain_arguments([]) == ServerArguments()
    for left in (["--help"], ["--port"], ["--port", "x"], ["--port", "70000"], ["--port=1"], ["-o", "xml"], ["a", "b"]):
        assert plain_arguments(left) is None, left
