"""`kcli top`: how it reads metrics, what it makes of them, and what it shows of a broker at work."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from kcli.top.scrape import Scrape, parse
from kcli.top.screen import duration, size
from kcli.top.view import Interval, groups, interpolated, view
from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, Result, run_kcli
from tests.metrics_scrape import metrics_url, scrape

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that serves metrics, with a topic and a group that is behind."""
    with BrokerProcess(tmp_path_factory.mktemp("top") / "data", {"metrics.port": "0"}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_server})
        for number in range(100):
            producer.produce("seen", value=b"%d" % number)
        assert producer.flush(TIMEOUT_S) == 0
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_server, "group.id": "late"})
        consumer.commit(offsets=[TopicPartition("seen", 0, 40)], asynchronous=False)
        consumer.close()
        yield broker


def top(broker: BrokerProcess, *arguments: str) -> Result:
    return run_kcli("top", "--metrics-url", metrics_url(broker), "--interval", "0.5", *arguments)


# Reading


def test_the_text_is_read_as_prometheus_reads_it(measured: BrokerProcess) -> None:
    text = scrape(measured).text
    expected = {
        (sample.name, tuple(sorted(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert {(name, tuple(sorted(labels.items())), value) for name, labels, value in parse(text)} == expected


@pytest.mark.parametrize("value", ["", "plain", 'a"b', "a\\", "\\n", "a\nb", 'x\\"y', "{},=", "ü"])
def test_label_values_come_back(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert list(parse(f'm{{one="{escaped}",two="2"}} 3\n')) == [("m", {"one": value, "two": "2"}, 3.0)]


@pytest.mark.parametrize("line", ["m", 'm{a="b"}', 'm{a="b 1', "m{a=b} 1", "m one", "<html>"])
def test_what_is_no_sample_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="invalid line"):
        list(parse(line))


# Rates and percentiles


def test_rates_are_of_the_interval() -> None:
    interval = Interval(Scrape('c{a="1"} 10\nc{a="2"} 5\n', 0), Scrape('c{a="1"} 30\nc{a="2"} 6\nc{a="3"} 4\n', 5))
    assert interval.rate("c") == 5.0
    assert interval.rate("c", a="1") == 4.0


def test_a_broker_that_was_started_anew_gives_no_negative_rates() -> None:
    assert Interval(Scrape("c 100\n", 0), Scrape("c 10\n", 2)).rate("c") == 5.0


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.5, 2.0), (0.25, 1.0), (0.75, 3.0), (1.0, 4.0)],
)
def test_percentiles_lie_evenly_within_a_bucket(share: float, expected: float) -> None:
    assert interpolated([(2.0, 2.0), (4.0, 4.0), (float("inf"), 4.0)], share) == expected


def test_percentiles_beyond_all_bounds_and_of_nothing() -> None:
    assert interpolated([(2.0, 0.0), (float("inf"), 1.0)], 0.99) == 2.0
    assert interpolated([(2.0, 0.0), (float("inf"), 0.0)], 0.99) is None
    assert interpolated([], 0.5) is None


def test_groups_are_summed_over_their_partitions() -> None:
    lines = [
        'kafka_consumergroup_lag{consumergroup="a",topic="t",partition="0"} 3',
        'kafka_consumergroup_lag{consumergroup="a",topic="t",partition="1"} 4',
        'kafka_consumergroup_lag_seconds{consumergroup="a",topic="t",partition="0"} 30',
        'kafka_consumergroup_lag_seconds{consumergroup="a",topic="t",partition="1"} 90.5',
        'kafka_consumergroup_lag{consumergroup="b",topic="t",partition="0"} 0',
        'kafka_consumergroup_members{consumergroup="b"} 2',
    ]
    assert groups(Scrape("\n".join(lines), 0)) == [
        {"group": "a", "members": 0, "partitions": 2, "lag": 7, "lag_seconds": 90.5},
        {"group": "b", "members": 2, "partitions": 1, "lag": 0, "lag_seconds": None},
    ]


def test_a_broker_without_any_traffic_has_a_view() -> None:
    empty = view(Scrape("", 0), Scrape("", 1))
    assert empty["apis"] == empty["topics"] == empty["groups"] == []
    assert empty["throughput"]["requests_per_s"] == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0.0 s"), (59.94, "59.9 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (2.5e15, "2500.0 TB")])
def test_sizes(count: float, text: str) -> None:
    assert size(count) == text


# The command


def test_json_lines_of_a_broker_at_work(measured: BrokerProcess) -> None:
    producer = Producer({"bootstrap.servers": measured.bootstrap_server, "linger.ms": 0})
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            producer.produce("busy", value=bytes(100))
            producer.flush(TIMEOUT_S)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        result = top(measured, "--interval", "2", "--iterations", "2", "-o", "jsonl")
    finally:
        over.set()
        worker.join()
    assert (result.code, result.stderr) == (0, "")
    first, second = map(json.loads, result.stdout.splitlines())
    for seen in (first, second):
        assert seen["interval_s"] >= 2
        assert seen["broker"]["state"] == "running"
        assert seen["throughput"]["messages_in_per_s"] > 0
        # A record of 100 bytes is 68 to 200 bytes of batch more.
        assert 100 < seen["throughput"]["bytes_in_per_s"] / seen["throughput"]["messages_in_per_s"] < 300
        [produce] = [api for api in seen["apis"] if api["api"] == "Produce"]
        assert 0 < produce["p50_ms"] <= produce["p99_ms"]
        assert [topic["topic"] for topic in seen["topics"]] == ["busy"]
        assert seen["broker"]["connections"] >= 1
    assert second["partitions"]["under_replicated"] == 0


def test_a_group_that_is_behind(measured: BrokerProcess) -> None:
    result = top(measured, "--iterations", "1", "-o", "jsonl")
    [late] = [row for row in json.loads(result.stdout)["groups"] if row["group"] == "late"]
    assert (late["lag"], late["members"], late["partitions"]) == (60, 0, 1)
    assert 0 < late["lag_seconds"] < 3600


def test_plain_tables_where_there_is_no_terminal(measured: BrokerProcess) -> None:
    result = top(measured, "--iterations", "1")
    assert (result.code, result.stderr) == (0, "")
    assert "broker 1 running, kcli" in result.stdout
    assert "GROUP" in result.stdout
    assert "late" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_live_view_on_a_terminal(measured: BrokerProcess) -> None:
    master, terminal = pty.openpty()
    command = [sys.executable, "-m", "kcli", "top", "--metrics-url", metrics_url(measured)]
    done = subprocess.Popen(
        [*command, "--interval", "0.2", "--iterations", "2"],
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:
        pass  # the terminal ends with its last writer
    os.close(master)
    assert done.wait(TIMEOUT_S) == 0
    assert b"\x1b[?1049h" in shown  # a screen of its own, which is left again
    assert b"\x1b[?1049l" in shown
    assert b"late" in shown


def test_nobody_answers(offline: Kcli) -> None:
    result = offline("top", "--metrics-url", "http://127.0.0.1:1/metrics")
    assert result.code == 3
    assert result.stdout == ""
    assert result.stderr == (
        "kcli top: cannot connect to http://127.0.0.1:1/metrics (connection refused). Is the broker "
        "running with metrics? "
        "Start one with: kcli server-start --override metrics.port=9404\n"
    )


def test_an_address_that_is_none(offline: Kcli) -> None:
    result = offline("top", "--metrics-url", "metrics")
    assert result.code == 2
    assert "http://HOST:PORT/metrics" in result.stderr


def test_an_address_of_something_else(measured: BrokerProcess) -> None:
    url = metrics_url(measured)
    assert run_kcli("top", "--metrics-url", url + "x").code == 1
    result = run_kcli("top", "--metrics-url", url.replace("/metrics", "/health"))
    assert result.code == 1
    assert "the response is not in Prometheus' text format: invalid line 'alive'" in result.stderr
