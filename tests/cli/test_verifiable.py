"""`kcli verifiable-producer` and `verifiable-consumer`: the events that Kafka's tools print, field by field."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli

DOCUMENT = re.compile(r"\{.*\}")
WAIT_S = 60


def events(text: str) -> list[dict[str, Any]]:
    lines = text.splitlines()
    assert all(DOCUMENT.fullmatch(line) for line in lines)
    return [json.loads(line) for line in lines]


def names(found: list[dict[str, Any]]) -> list[str]:
    assert all(list(event)[:2] == ["timestamp", "name"] for event in found)
    return [event["name"] for event in found]


def start(broker: BrokerProcess, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kcli", *arguments, "--bootstrap-server", broker.bootstrap_server]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def end_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What it still writes; `communicate` would forget what is buffered already."""
    assert process.stdout is not None
    assert process.stderr is not None
    rest, complaints = process.stdout.read(), process.stderr.read()
    process.wait(WAIT_S)
    return rest, complaints


def test_what_became_of_each_record(kcli: Kcli) -> None:
    kcli("topics", "create", "verified")
    options = ["--value-prefix", "7", "--repeating-keys", "2", "--message-create-time", "1000000000000"]
    result = kcli("verifiable-producer", "--topic", "verified", "--max-messages", "3", *options)
    assert (result.code, result.stderr) == (0, "")
    found = events(result.stdout)
    assert names(found) == ["startup_complete", *["producer_send_success"] * 3, "shutdown_complete", "tool_data"]
    assert [list(event) for event in found[1:4]] == [
        ["timestamp", "name", "key", "value", "offset", "topic", "partition"]
    ] * 3
    assert [(event["key"], event["value"], event["offset"]) for event in found[1:4]] == [
        ("0", "7.0", 0),
        ("1", "7.1", 1),
        ("0", "7.2", 2),
    ]
    assert list(found[-1])[2:] == ["sent", "acked", "target_throughput", "avg_throughput"]
    assert (found[-1]["sent"], found[-1]["acked"], found[-1]["target_throughput"]) == (3, 3, -1)
    shown = kcli("console-consumer", "--topic", "verified", "--from-beginning", "--max-messages", "1", "-o", "jsonl")
    assert 1_000_000_000_000 <= json.loads(shown.stdout)["timestamp"] < 1_000_000_100_000


def test_a_record_that_cannot_be_sent_is_told_of(kcli: Kcli, tmp_path: Path) -> None:
    kcli("topics", "create", "verified-failing")
    (tmp_path / "properties").write_text("max.request.size=10\n")
    arguments = ["--topic", "verified-failing", "--max-messages", "2", "--acks", "1"]
    result = kcli("verifiable-producer", *arguments, "--producer.config", tmp_path / "properties")
    found = events(result.stdout)
    assert result.code == 0
    assert names(found) == ["startup_complete", *["producer_send_error"] * 2, "shutdown_complete", "tool_data"]
    assert list(found[1])[2:] == ["topic", "key", "value", "exception", "message"]
    assert found[1]["exception"] == "class org.apache.kafka.common.errors.RecordTooLargeException"
    assert found[1]["key"] is None
    assert (found[-1]["sent"], found[-1]["acked"]) == (2, 0)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_tells_what_it_was_given_and_has_read(kcli: Kcli, protocol: str) -> None:
    topic, group = f"verified-{protocol}", f"verifiers-{protocol}"
    kcli("topics", "create", topic)
    kcli("verifiable-producer", "--topic", topic, "--max-messages", "30")
    arguments = ["--topic", topic, "--group-id", group, "--group-protocol", protocol]
    result = kcli("verifiable-consumer", *arguments, "--max-messages", "20", "--verbose")
    assert (result.code, result.stderr) == (0, "")
    found = events(result.stdout)
    of_partition = {"topic": topic, "partition": 0}
    told = ["startup_complete", "partitions_assigned", *["record_data"] * 20, "records_consumed", "offsets_committed"]
    assert names(found) == [*told, "partitions_revoked", "shutdown_complete"]
    assert found[1]["partitions"] == found[-2]["partitions"] == [of_partition]
    assert list(found[2])[2:] == ["key", "value", "topic", "partition", "offset"]
    assert [event["value"] for event in found[2:22]] == [str(number) for number in range(20)]
    assert found[22]["partitions"] == [{**of_partition, "count": 20, "minOffset": 0, "maxOffset": 19}]
    assert found[23]["offsets"] == [{**of_partition, "offset": 20}]
    assert found[23]["success"] is True
    rest = events(kcli("verifiable-consumer", *arguments, "--max-messages", "10").stdout)
    assert next(event for event in rest if event["name"] == "records_consumed")["partitions"][0]["minOffset"] == 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_consumer_that_waits(kcli: Kcli, broker: BrokerProcess, number: signal.Signals) -> None:
    topic = f"verified-signal-{number}"
    kcli("topics", "create", topic)
    with start(broker, "verifiable-consumer", "--topic", topic, "--group-id", topic) as process:
        assert process.stdout is not None
        started = [process.stdout.readline(), process.stdout.readline()]
        process.send_signal(number)
        rest, complaints = end_of(process)
    assert names(events("".join(started))) == ["startup_complete", "partitions_assigned"]
    assert names(events(rest)) == ["shutdown_requested", "partitions_revoked", "shutdown_complete"]
    assert (process.returncode, complaints) == (128 + number, "")


def test_a_signal_ends_a_producer_once_all_is_answered(kcli: Kcli, broker: BrokerProcess) -> None:
    kcli("topics", "create", "verified-endless")
    with start(broker, "verifiable-producer", "--topic", "verified-endless", "--throughput", "500") as process:
        assert process.stdout is not None
        started = [process.stdout.readline() for _ in range(20)]
        process.send_signal(signal.SIGTERM)
        rest, complaints = end_of(process)
    found = events("".join(started) + rest)
    assert (process.returncode, complaints) == (128 + signal.SIGTERM, "")
    assert names(found)[-2:] == ["shutdown_complete", "tool_data"]
    sent = [event["value"] for event in found if event["name"] == "producer_send_success"]
    assert sent == [str(number) for number in range(len(sent))]
    assert found[-1]["sent"] == found[-1]["acked"] == len(sent)
