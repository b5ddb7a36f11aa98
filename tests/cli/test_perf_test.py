"""`kcli perf-test`: Kafka's summaries and the JSON object; the figures themselves are not judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
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


END_TO_END = re.compile(
    r"Topic .*\n0\t\d+\.\d+\n1000\t\d+\.\d+\nAvg latency: \d+\.\d{4} ms\n"
    r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+\n"
)


# However long a busy machine takes.
WITHOUT_PROGRESS = ("--reporting-interval", "600000")


@pytest.fixture(scope="module")
def written(kcli: Kcli) -> str:
    kcli("topics", "create", "perf")
    sent = ["--topic", "perf", "--num-records", "1000", "--record-size", "100"]
    result = kcli("perf-test", "producer", *sent, *WITHOUT_PROGRESS)
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
    corrected = ["corrected_latency_ms"] if side == "producer" else []
    figures = ["records", "bytes", "elapsed_s", "records_per_s", "mb_per_s", "latency_ms"]
    assert list(summary) == [*figures, *corrected, "cpu_s", "cpu_s_per_million_records"]
    assert summary["records"] == 1000
    assert summary["bytes"] == 100_000
    assert list(summary["latency_ms"]) == ["avg", "min", "max", "p50", "p90", "p95", "p99", "p99_9", "p99_99"]
    assert summary["latency_ms"]["p50"] <= summary["latency_ms"]["p99_9"] <= summary["latency_ms"]["max"]


def test_a_consumer_that_waits_in_vain_is_code_3(kcli: Kcli, written: str) -> None:
    result = kcli("perf-test", "consumer", "--topic", written, "--messages", "1001", "--timeout", "4000", "-o", "json")
    assert result.code == 3
    assert json.loads(result.stdout)["records"] == 1000
    assert result.stderr == (
        "kcli perf-test consumer: topic perf: read 1000 of 1001 records, then none for 4000 ms. Wait "
        "longer with --timeout\n"
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


def test_warm_up_is_counted_apart(kcli: Kcli) -> None:
    kcli("topics", "create", "perf-warm")
    arguments = ["--topic", "perf-warm", "--num-records", "1000", "--record-size", "10"]
    result = kcli("perf-test", "producer", *arguments, *WITHOUT_PROGRESS, "--warmup-records", "400")
    assert (result.code, result.stderr) == (0, "")
    notice, total, steady = result.stdout.splitlines()
    assert notice == "Warmup first 400 records. Steady state results will print after the complete test summary."
    assert total.startswith("1000 records sent, ")
    assert steady.startswith("600 steady state records sent, ")
    assert kcli("perf-test", "producer", *arguments, "--warmup-records", "1000").code == 2


def test_progress_is_told_every_interval(kcli: Kcli) -> None:
    kcli("topics", "create", "perf-progress")
    arguments = ["--topic", "perf-progress", "--num-records", "300", "--record-size", "10", "--throughput", "1000"]
    lines = kcli("perf-test", "producer", *arguments, "--reporting-interval", "50").stdout.splitlines()
    assert len(lines) > 2
    progress = re.compile(
        rf"(\d+) records sent, {NUMBER} records/sec \({NUMBER} MB/sec\), "
        rf"{NUMBER} ms avg latency, {NUMBER} ms max latency\."
    )
    told = [progress.fullmatch(line) for line in lines[:-1]]
    assert all(told)
    assert sum(int(line[1]) for line in told if line) <= 300
    read = ["--topic", "perf-progress", "--messages", "300", "--show-detailed-stats", "--reporting-interval", "1"]
    header, *details = kcli("perf-test", "consumer", *read).stdout.splitlines()
    assert header.startswith("time, threadId, data.consumed.in.MB")
    assert all(len(line.split(", ")) == 10 and line.split(", ")[1] == "0" for line in details)
    assert details[-1].split(", ")[4] == "300"


@pytest.mark.parametrize("workers", ["--threads", "--processes"])
def test_several_clients_share_the_work(kcli: Kcli, workers: str, tmp_path: Path) -> None:
    topic = f"perf{workers}"
    kcli("topics", "create", topic, "--partitions", "4")
    common = [workers, "3", "-o", "json"]
    arguments = ["--payload-monotonic", "--num-records", "1000", "--key-distribution", "zipf:50", *common]
    written = kcli("perf-test", "producer", "--topic", topic, *arguments, "--result-file", tmp_path / "result")
    assert (written.code, written.stderr) == (0, "")
    assert json.loads(written.stdout)["records"] == 1000
    result = json.loads((tmp_path / "result").read_text())
    assert result["records"] == 1000
    assert {point["worker"] for point in result["curve"]} == {0, 1, 2}
    values = kcli("console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "1000").stdout.split()
    assert sorted(map(int, values)) == list(range(1000))
    read = kcli("perf-test", "consumer", "--topic", topic, "--messages", "1000", *common)
    assert (read.code, json.loads(read.stdout)["records"]) == (0, 1000)


@pytest.mark.parametrize("call", ["poll", "poll_columns", "poll_arrow"])
def test_each_call_counts_the_same_bytes(kcli: Kcli, written: str, call: str) -> None:
    result = kcli("perf-test", "consumer", "--topic", written, "--messages", "1000", "--call", call, "-o", "json")
    assert json.loads(result.stdout)["bytes"] == 100_000


def test_sends_of_single_records(kcli: Kcli) -> None:
    kcli("topics", "create", "perf-single")
    arguments = ["--topic", "perf-single", "--num-records", "500", "--record-size", "7", "--call", "send", "-o", "json"]
    summary = json.loads(kcli("perf-test", "producer", *arguments, "--key-distribution", "uniform:9").stdout)
    assert (summary["records"], summary["bytes"]) == (500, 500 * 8)


def test_end_to_end_prints_kafkas_lines(kcli: Kcli, broker: BrokerProcess) -> None:
    options = ["--num-records", "1001", "--producer-acks", "1", "--record-size", "20", "--record-key-size", "3"]
    headers = ["--num-headers", "2", "--record-header-key-size", "4", "--record-header-size", "-1"]
    result = kcli("perf-test", "e2e", "--topic", "perf-e2e", *options, *headers)
    assert (result.code, result.stderr) == (0, "")
    assert END_TO_END.fullmatch(result.stdout)
    assert result.stdout.startswith('Topic "perf-e2e" does not exist. Will create topic with 1 partition(s) and ')
    in_order = kcli("perf-test", "e2e", broker.bootstrap_server, "perf-e2e", "3", "all", "20", "-o", "json")
    assert json.loads(in_order.stdout)["records"] == 3
    assert kcli("perf-test", "e2e", broker.bootstrap_server, "perf-e2e", "3", "0", "20").code == 2
    assert kcli("perf-test", "e2e", "--topic", "perf-e2e").code == 2


def test_two_clusters_are_measured_in_turn(kcli: Kcli, broker: BrokerProcess) -> None:
    kcli("topics", "create", "perf-turns")
    arguments = ["--topic", "perf-turns", "--num-records", "200", "--record-size", "10"]
    turns = [*arguments, "--against", broker.bootstrap_server, "--rounds", "2"]
    result = kcli("perf-test", "producer", *turns, "-o", "json")
    assert result.code == 0
    told = [line.split(":")[0] for line in result.stderr.splitlines()]
    assert told == ["round 1 of 2", "round 1 of 2", "round 2 of 2", "round 2 of 2"]
    compared = json.loads(result.stdout)
    assert compared["servers"] == [broker.bootstrap_server] * 2
    assert [set(each) for each in compared["rounds"]] == [{"first", "second"}] * 2
    ratio = compared["compared"]["records/s"]
    assert ratio["min"] <= ratio["ratio"] <= ratio["max"]
    shown = kcli("perf-test", "producer", *turns).stdout
    assert "Medians of 2 alternating rounds" in shown
    assert "records/s" in shown
    end = kcli("get-offsets", "--topic", "perf-turns").stdout
    assert end == "perf-turns:0:1600\n"


def test_a_key_distribution_that_cannot_be(kcli: Kcli) -> None:
    arguments = ["--topic", "t", "--num-records", "1", "--record-size", "1", "--key-distribution", "pareto:3"]
    result = kcli("perf-test", "producer", *arguments)
    assert result.code == 2
    assert "must be sequential:N, uniform:N or zipf:N[:EXPONENT]" in result.stderr


def test_metrics_have_kafkas_names(kcli: Kcli) -> None:
    kcli("topics", "create", "perf-metrics")
    arguments = ["--topic", "perf-metrics", "--num-records", "10", "--record-size", "5", "--print-metrics"]
    lines = kcli("perf-test", "producer", *arguments).stdout.splitlines()
    names = [line.split(" : ")[0].strip() for line in lines[3:]]
    assert lines[2].split() == ["Metric", "Name", "Value"]
    assert "producer-metrics:record-send-total:{client-id=perf-producer-client}" in names
    assert names == sorted(names)


def test_a_property_of_a_file_names_the_servers_where_the_command_line_does_not(
    offline: Kcli, kcli: Kcli, broker: BrokerProcess, tmp_path: Path
) -> None:
    kcli("topics", "create", "perf-servers")
    properties = tmp_path / "properties"
    properties.write_text(f"bootstrap.servers={broker.bootstrap_server}\n")
    written = ["--topic", "perf-servers", "--num-records", "5", "--record-size", "5", "--producer.config", properties]
    assert offline("perf-test", "producer", *written).stdout.startswith("5 records sent, ")
    sent = ["--topic", "perf-servers", "--num-records", "2", "--record-size", "5", "--producer-acks", "1"]
    assert "Avg latency" in offline("perf-test", "e2e", *sent, "--command-config", properties).stdout
    read = ["--topic", "perf-servers", "--num-records", "7", "--command-config", properties, "--hide-header"]
    assert offline("perf-test", "consumer", *read).stdout.split(", ")[4] == "7"
