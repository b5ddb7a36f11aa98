"""Our perf tools, verifiable clients and get-offsets beside Apache Kafka's: the same lines, measured numbers aside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import run_kcli
from tests.interop.java_tools import JavaTools

NUMBER = re.compile(r"\d+(\.\d+)?")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as process:
        yield process


def ours(broker: BrokerProcess, *arguments: str | Path) -> str:
    result = run_kcli(*arguments, env={"KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server})
    assert (result.code, result.stderr) == (0, "")
    return result.stdout


def shape(text: str) -> str:
    """The text with every number as N, or N.DD with as many digits as stand behind its point."""
    return NUMBER.sub(lambda found: "N" if found[1] is None else "N." + "D" * (len(found[1]) - 1), text)


def test_producer_performance(broker: BrokerProcess) -> None:
    ours(broker, "topics", "create", "performance")
    arguments = ["--topic", "performance", "--num-records", "300", "--record-size", "50", "--throughput", "-1"]
    warm_up = ["--warmup-records", "100"]
    theirs = JavaTools("4").run(
        "ProducerPerformance", "--bootstrap-server", broker.bootstrap_server, *arguments, *warm_up
    )
    assert shape(ours(broker, "perf-test", "producer", *arguments, *warm_up)) == shape(theirs)


@pytest.mark.full_size
def test_consumer_performance(broker: BrokerProcess) -> None:
    ours(broker, "topics", "create", "read")
    ours(broker, "perf-test", "producer", "--topic", "read", "--num-records", "300", "--record-size", "50")
    arguments = ["--topic", "read", "--messages", "300"]
    theirs = JavaTools("3.9").run("ConsumerPerformance", "--bootstrap-server", broker.bootstrap_server, *arguments)
    assert shape(ours(broker, "perf-test", "consumer", *arguments)) == shape(theirs)


@pytest.mark.full_size
def test_end_to_end_latency(broker: BrokerProcess) -> None:
    arguments = ["--num-records", "3", "--producer-acks", "all", "--record-size", "20", "--record-key-size", "4"]
    theirs = JavaTools("4").run(
        "EndToEndLatency", "--bootstrap-server", broker.bootstrap_server, "--topic", "latency-theirs", *arguments
    )
    shaped = shape(ours(broker, "perf-test", "e2e", "--topic", "latency-ours", *arguments))
    # Java prints as many digits of the first latency as it takes.
    digits = re.compile(r"(?m)^N\tN\.D+$")
    assert digits.sub("N\tN", shaped) == digits.sub("N\tN", shape(theirs)).replace("latency-theirs", "latency-ours")


@pytest.mark.full_size
def test_verifiable_clients(broker: BrokerProcess) -> None:
    """Each side's consumer reads what the other side's producer has written."""
    server = ["--bootstrap-server", broker.bootstrap_server]
    java = JavaTools("3.9")
    told = {}
    for side, other in (("theirs", "ours"), ("ours", "theirs")):
        ours(broker, "topics", "create", side)
        producing = ["--topic", side, "--max-messages", "3", "--repeating-keys", "2"]
        consuming = ["--topic", other, "--group-id", other, "--max-messages", "3", "--verbose"]
        told[side, "producer"] = (side == "ours", producing)
        told[side, "consumer"] = (side == "ours", consuming)
    events = {}
    for kind, program in (("producer", "VerifiableProducer"), ("consumer", "VerifiableConsumer")):
        for side in ("ours", "theirs"):
            is_ours, arguments = told[side, kind]
            text = ours(broker, f"verifiable-{kind}", *arguments) if is_ours else java.run(program, *server, *arguments)
            events[side, kind] = [json.loads(line) for line in text.splitlines()]
    for kind in ("producer", "consumer"):
        mine, java_events = events["ours", kind], events["theirs", kind]
        assert [list(event) for event in mine] == [list(event) for event in java_events]
        assert [event["name"] for event in mine] == [event["name"] for event in java_events]
        told_of = [[event.get(name) for name in ("key", "value", "offset", "count")] for event in mine]
        assert told_of == [[event.get(name) for name in ("key", "value", "offset", "count")] for event in java_events]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--topic-partitions", "ends-(a|b):1-,ends-a:0"],
        ["--topic", "ends-.*", "--time", "max-timestamp"],
    ],
    ids=["partitions", "times"],
)
def test_offsets(broker: BrokerProcess, arguments: list[str]) -> None:
    for name in ("ends-a", "ends-b"):
        ours(broker, "topics", "create", name, "--partitions", "3", "--if-not-exists")
        ours(broker, "verifiable-producer", "--topic", name, "--max-messages", "9", "--repeating-keys", "9")
    theirs = JavaTools("3.9").run("GetOffsetShell", "--bootstrap-server", broker.bootstrap_server, *arguments)
    assert ours(broker, "get-offsets", *arguments) == theirs
