"""What perf tests count, without a cluster: histograms, windows, shares of workers, comparisons, Kafka's lines."""

from __future__ import annotations

import random
import re
import time

import pytest

from kcli.failures import Failure, UsageFailure
from kcli.performance import comparison, kafka_lines
from kcli.performance.latency_histogram import LatencyHistogram, highest_of
from kcli.performance.live_screen import curve
from kcli.performance.outcome import MAX_CURVE_POINTS, Outcome
from kcli.performance.pace import Pace
from kcli.performance.payloads import RandomPayloads, key_source
from kcli.performance.tally import Done, Recorder, Tally, Window
from kcli.performance.workers import Share, run_workers, shares_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.performance.workers import Emit

PRECISION = 1 / 128


def histogram(*latencies: int) -> LatencyHistogram:
    made = LatencyHistogram()
    for latency_ns in latencies:
        made.record(latency_ns)
    return made


@pytest.mark.parametrize("seed", range(5))
def test_percentiles_are_those_of_the_sorted_values_within_the_precision(seed: int) -> None:
    source = random.Random(seed)
    values = sorted(int(source.lognormvariate(15, 3)) for _ in range(5000))
    found = histogram(*values).percentiles_ms(0.01, 0.5, 0.9, 0.99, 0.999, 1.0)
    for fraction, found_ms in zip((0.01, 0.5, 0.9, 0.99, 0.999, 1.0), found, strict=True):
        exact = values[max(0, -(-int(fraction * 100_000) * len(values) // 100_000) - 1)]
        assert exact / 1e6 <= found_ms <= exact * (1 + PRECISION) / 1e6


def test_every_value_is_within_its_bucket() -> None:
    for value in [0, 1, 127, 128, 255, 256, 257, 1 << 20, (1 << 40) - 1, 1 << 62]:
        made = histogram(value)
        (bucket,) = made._counts
        assert value <= highest_of(bucket) <= value * (1 + PRECISION)


def test_percentiles_count_records_and_not_batches() -> None:
    latencies = LatencyHistogram()
    latencies.record(1_000_000, 90)
    latencies.record(50_000_000, 9)
    latencies.record(100_000_000, 1)
    found = latencies.percentiles_ms(0.5, 0.9, 0.91, 0.99, 0.999)
    assert found == pytest.approx([1, 1, 50, 50, 100], rel=PRECISION)
    assert latencies.average_ms == pytest.approx(6.4)
    assert set(LatencyHistogram().summary().values()) == {0.0}


def test_merged_histograms_are_those_of_all_values() -> None:
    source = random.Random(1)
    parts = [[source.randrange(1 << 35) for _ in range(100)] for _ in range(3)]
    merged = LatencyHistogram()
    for part in parts:
        merged.merge(histogram(*part))
    assert merged.summary() == histogram(*(value for part in parts for value in part)).summary()


def test_a_late_record_has_waited_since_it_was_due() -> None:
    pace = Pace(1e9)
    time.sleep(0.002)
    due_ns = pace.wait_for(1)
    assert due_ns is not None
    assert time.perf_counter_ns() - due_ns >= 2_000_000
    assert Pace(-1).wait_for(1) is None


def test_windows_hold_everything_once() -> None:
    events: list[Window | Done] = []
    recorder = Recorder(3, 0.0, events.append)
    recorder.add(5, 50, 1000, is_steady=False)
    recorder.report_if_due()
    recorder.begin_steady_state()
    recorder.add(7, 70, 2000, 3000)
    recorder.finish(["broken"])
    outcome = Outcome(warm_up_records=5)
    for event in events:
        outcome.take(event)
    assert (outcome.total.records, outcome.total.size_bytes) == (12, 120)
    assert (outcome.steady.records, outcome.steady.corrected.count) == (7, 7)
    assert outcome.failures == ["broken"]
    assert outcome.has_steady_state
    assert outcome.judged()["records"] == 7
    assert outcome.steady_elapsed_s <= outcome.elapsed_s
    assert [point["worker"] for point in outcome.curve] == [3, 3]


def test_the_curve_of_a_long_run_is_bounded() -> None:
    outcome = Outcome()
    for second in range(3 * MAX_CURVE_POINTS):
        outcome.take(Window(0, second, second + 1, Tally(), Tally()))
    assert MAX_CURVE_POINTS // 2 <= len(outcome.curve) <= MAX_CURVE_POINTS


def counting(share: Share, emit: Emit) -> None:
    recorder = Recorder(share.worker, 60.0, emit)
    recorder.add(share.records, 0, 1)
    share.counted(share.records)
    recorder.finish([])


def failing(share: Share, emit: Emit) -> None:
    if share.worker == 1:
        raise Failure("no topic")
    counting(share, emit)


@pytest.mark.parametrize("in_processes", [False, True])
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_share_everything(workers: int, in_processes: bool) -> None:
    outcome = Outcome()
    shares = shares_of(workers, 1000, 10, 300.0)
    assert sum(share.warm_up_records for share in shares) == 10
    assert sum(share.throughput for share in shares) == pytest.approx(300)
    run_workers(counting, shares, outcome.take, in_processes=in_processes)
    assert outcome.total.records == 1000
    assert shares[0].is_enough()


@pytest.mark.parametrize("in_processes", [False, True])
def test_what_a_worker_raises_ends_the_measurement(in_processes: bool) -> None:
    with pytest.raises(Failure, match="no topic"):
        run_workers(failing, shares_of(2, 10, 0, -1.0), lambda event: None, in_processes=in_processes)


def test_ratios_are_of_the_rounds() -> None:
    def summary(rate: float, p99: float) -> dict[str, object]:
        latencies = {"avg": 1.0, "p50": 1.0, "p99": p99, "p99_9": 0.0}
        return {"records_per_s": rate, "mb_per_s": 1.0, "latency_ms": latencies}

    measured = {"a": iter([100.0, 300.0, 200.0]), "b": iter([100.0, 100.0, 50.0])}
    order = []

    def measure(server: str, number: int) -> dict[str, object]:
        order.append((server, number))
        return summary(next(measured[server]), 4.0 if server == "a" else 2.0)

    rounds = comparison.alternate(measure, ["a", "b"], 3)
    assert order == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    by_name = {each.name: each for each in comparison.compare(rounds)}
    rate = by_name["records/s"]
    assert (rate.first, rate.second, rate.ratio, rate.smallest_ratio, rate.largest_ratio) == (200, 100, 3, 1, 4)
    assert by_name["p99 ms"].ratio == 2
    assert "p99.9 ms" not in by_name


def test_payloads_are_capital_letters_of_the_asked_size() -> None:
    payloads = RandomPayloads(37).take(500)
    assert {len(payload) for payload in payloads} == {37}
    assert set(b"".join(payloads)) <= set(range(ord("A"), ord("Z") + 1))
    assert RandomPayloads(37, seed=1).take(500) != payloads
    assert RandomPayloads(0).take(2) == [b"", b""]


def test_keys_follow_their_distribution() -> None:
    assert key_source("sequential:3")(7) == [b"0", b"1", b"2", b"0", b"1", b"2", b"0"]
    uniform = key_source("uniform:10")(10_000)
    assert max(map(uniform.count, set(uniform))) < 2 * min(map(uniform.count, set(uniform)))
    zipf = key_source("zipf:10:1.0")(10_000)
    assert zipf.count(b"0") / zipf.count(b"9") == pytest.approx(10, rel=0.3)
    for text in ("zipf", "uniform:0", "uniform:3:1", "zipf:3:x", "normal:3"):
        with pytest.raises(UsageFailure, match="key-distribution"):
            key_source(text)


def test_a_curve_has_its_largest_value_as_the_highest_bar() -> None:
    assert curve([0.0, 1.0, 8.0]) == " ▁█"
    assert curve([]) == ""
    assert len(curve([1.0] * 100, width=20)) == 20


def test_times_in_simple_date_format() -> None:
    assert re.fullmatch(r"1970/01/0[12] \d\d\.250", kafka_lines.format_time(43_200.25, "yyyy/MM/dd HH.SSS"))
