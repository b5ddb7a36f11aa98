"""A broker as a process: signals, exit codes, stock configuration files, and the interpreter lock held against it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kcore.config.properties import load_properties
from kcore.protocol import apis
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient
from tests.server_command import ServerCommand
from tests.unit.config import stock_files
from tests.unit.server.test_produce_and_fetch import batch, fetch, fetch_fields, produce, values_of

ROOT = Path(__file__).resolve().parents[2]
HOLD_MS = 120_000  # nobody waits for the end of it
HELD_S = 3.0  # who has no answer after so long gets none


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_broker_with_0(tmp_path: Path, number: signal.Signals) -> None:
    with ServerCommand(tmp_path / "data") as broker:
        with RawClient(broker.port) as client:
            client.create_topic("served")
        broker.process.send_signal(number)
        assert broker.process.wait(60) == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    assert "Traceback" not in broker.log()


def test_a_directory_in_use_is_one_sentence_and_exit_code_1(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data"):
        second = subprocess.run(
            [sys.executable, "-m", "kcli", "server-start", "--port", "0", "--data-dir", str(tmp_path / "data")],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=60,
            check=False,
        )
    assert second.returncode == 1
    assert second.stdout == ""
    assert "lock" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize("text", [stock_files.ZOOKEEPER, stock_files.KRAFT_3_9, stock_files.KRAFT_4])
def test_kafkas_stock_files_start_a_broker(tmp_path: Path, text: str) -> None:
    """Unmodified but for the places that a test must not use: /tmp and the well-known ports."""
    path = tmp_path / "server.properties"
    path.write_text(text.replace("/tmp/", f"{tmp_path}/").replace("://:9092", "://127.0.0.1:0"))
    overrides = {"listeners": "PLAINTEXT://127.0.0.1:0"} if "listeners=" not in text else {}
    properties = {**load_properties(str(path)), **overrides}
    script = (
        "import json, sys\n"
        "from kcore.server.run import run\n"
        "say = lambda broker: print(json.dumps(broker.listeners), flush=True)\n"
        "sys.exit(run(json.loads(sys.argv[1]), on_started=say))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, json.dumps(properties)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        listeners = json.loads(process.stdout.readline())
        assert [listener.partition("://")[0] for listener in listeners] == ["PLAINTEXT"]
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    assert log.count("socket.send.buffer.bytes") == 1
    assert log.count("zookeeper.connect is ignored") == ("zookeeper.connect=" in text)


def test_produce_and_fetch_need_no_interpreter_lock(tmp_path: Path) -> None:
    """While SIGUSR2 holds the lock natively no handler answers, and the data plane goes on as if nothing were wrong."""
    overrides = {"kcli.debug.hooks": "true", "kcli.debug.hold.ms": str(HOLD_MS)}
    with (
        BrokerProcess(tmp_path / "data", overrides) as broker,
        RawClient(broker.port) as producer,
        RawClient(broker.port) as consumer,
        RawClient(broker.port) as bystander,
    ):
        producer.create_topic("free")
        produce(producer, "free", batch([b"before"]))
        os.kill(broker.pid, signal.SIGUSR2)
        while True:
            bystander.send(apis.METADATA, 1, {"topics": []})
            if not select.select([bystander.socket], [], [], HELD_S)[0]:
                break
            bystander.receive(apis.METADATA, 1)
        for number in range(1, 51):
            consumer.send(apis.FETCH, 12, fetch_fields(consumer, "free", number, max_wait_ms=60_000))
            assert produce(producer, "free", batch([b"%d" % number]), acks=-1).base_offset == number
            woken = consumer.receive(apis.FETCH, 12).responses[0].partitions[0]
            assert values_of(woken.records) == [(number, b"%d" % number)]
        assert not fetch(consumer, "free", 51, max_wait_ms=1).records, "a time-out needs no lock either"
        assert not select.select([bystander.socket], [], [], 0)[0], "the lock was held all the while"
        broker.kill()
