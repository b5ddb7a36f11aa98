"""`kcli perf-test`: Kafka's summaries and the JSON object; the figures themselves are not judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kcli.performance.consumer_performance import format_time
from kcli.performance.latencies import Latencies
from kcli.performance.producer_performance import RandomPayloads
from tests.cli.conftest import Kcli

NUMBER = r"\d+\.\d+"
PRODUCER_SUMMARY = re.compile(
    rf"1000 records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), {NUMBER} ms avg latency, {NUMBER} ms max latency, "
    r"\d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.\n"
)
CONSUMER_HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
    "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec\n"
)
CONSUMER_SUMMARY = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:\d{3}, ){2}0\.0954, \d+\.\d{4}, 1000, \d+\.\d{4}, "
    r"\d+, \d+, \d+\.\d{4}, \d+\.\d{4}\n"
)


@pytest.fixture(scope="module")
def written(kcli: Kcli) -> str:
    kcli("topics", "create", "perf")
    result = kcli("perf-test", "producer", "--topic", "perf", "--num-records", "1000", "--record-size", "100")
    assert result.code == 0
    assert PRODUCER_SUMMARY.fullmatch(result.stdout)
    assert result.stderr == ""
    return "perf"


def test_the_consumer_prints_kafkas_two_lines(kcli: Kcli, written: str) -> None:
    result = kcli("perf-test", "consumer", "--topic", written, "--messages", "1000")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.startswith(CONSUMER_HEADER)
    assert CONSUMER_SUMMARY.fullmatch(result.stdout.removeprefix(CONSUMER_HEADER))


@pytest.mark.parametrize("side", ["producer", "consumer"])
def test_the_last_line_of_json_is_one_object(kcli: Kcli, written: str, side: str) -> None:
    if side == "producer":
        kcli("topics", "create", "perf-json", "--if-not-exists")
        arguments = ["--topic", "perf-json", "--num-records", "1000", "--record-size", "100", "--throughput", "50000"]
        arguments += ["--producer-props", "acks=1", "compression.type=lz4"]
    else:
        arguments = ["--topic", written, "--messages", "1000", "--group", "perf-json"]
    result = kcli("perf-test", side, *arguments, "-o", "json")
    assert (result.code, result.stderr) == (0, "")
    summary = json.loads(result.stdout.splitlines()[-1])
    assert list(summary) == ["records", "bytes", "elapsed_s", "records_per_s", "mb_per_s", "latency_ms"]
    assert summary["records"] == 1000
    assert summary["bytes"] == 100_000
    assert list(summary["latency_ms"]) == ["avg", "max", "p50", "p95", "p99", "p99_9"]
    assert summary["latency_ms"]["p50"] <= summary["latency_ms"]["p99_9"] <= summary["latency_ms"]["max"]


def test_a_consumer_that_waits_in_vain_is_code_3(kcli: Kcli, written: str) -> None:
    result = kcli("perf-test", "consumer", "--topic", written, "--messages", "1001", "--timeout", "200", "-o", "json")
    assert result.code == 3
    assert json.loads(result.stdout)["records"] == 1000
    assert result.stderr == (
        "kcli: topic perf: 1000 of 1001 records, then none for 200 ms; wait longer with --timeout\n"
    )


def test_payloads_of_a_file(kcli: Kcli, tmp_path: Path) -> None:
    (tmp_path / "payloads").write_text("red;green;")
    kcli("topics", "create", "perf-file")
    arguments = ["--payload-file", tmp_path / "payloads", "--payload-delimiter", ";", "--num-records", "50"]
    assert kcli("perf-test", "producer", "--topic", "perf-file", *arguments).code == 0
    read = kcli("console-consumer", "--topic", "perf-file", "--from-beginning", "--max-messages", "50").stdout
    assert set(read.split()) == {"red", "green"}


def test_usage(kcli: Kcli) -> None:
    result = kcli("perf-test", "producer", "--topic", "t", "--num-records", "1")
    assert result.code == 2
    assert "exactly one of --record-size, --payload-file and --payload-monotonic" in result.stderr


def test_percentiles_count_records_and_not_batches() -> None:
    latencies = Latencies()
    latencies.add(1.0, 90)
    latencies.add(50.0, 9)
    latencies.add(100.0, 1)
    assert latencies.percentiles(0.5, 0.9, 0.91, 0.99, 0.999) == [1.0, 1.0, 50.0, 50.0, 100.0]
    assert latencies.average_ms == pytest.approx(6.4)
    assert Latencies().summary() == {"avg": 0.0, "max": 0.0, "p50": 0.0, "p95": 0.0, "p99": 0.0, "p99_9": 0.0}


def test_payloads_are_capital_letters_of_the_asked_size() -> None:
    payloads = RandomPayloads(37).take(500)
    assert {len(payload) for payload in payloads} == {37}
    assert set(b"".join(payloads)) <= set(range(ord("A"), ord("Z") + 1))
    assert RandomPayloads(0).take(2) == [b"", b""]


def test_times_in_simple_date_format() -> None:
    assert re.fullmatch(r"1970/01/0[12] \d\d\.250", format_time(43_200.25, "yyyy/MM/dd HH.SSS"))
