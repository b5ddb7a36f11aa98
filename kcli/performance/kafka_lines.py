"""Output lines of Kafka's perf tools, as in 3.9 and 4 (ProducerPerformance, ConsumerPerformance, EndToEndLatency).

MB are 2**20 bytes. Percentiles are whole milliseconds: rounded for the producer, truncated for EndToEndLatency.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.performance.latency_histogram import LatencyHistogram
    from kcli.performance.outcome import Outcome
    from kcli.performance.tally import Tally

CONSUMER_COLUMNS = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
SUMMARY_HEADER = f"start.time, end.time, {CONSUMER_COLUMNS}"
DETAILS_HEADER = f"time, threadId, {CONSUMER_COLUMNS}"
NS_PER_MS = 1e6


def warm_up_notice(records: int) -> str:
    return f"Warmup first {records} records. Steady state results will print after the complete test summary."


STEADY_NOTICE = "In steady state."


def producer_progress(tally: Tally, elapsed_s: float) -> str:
    latencies = tally.latencies
    return (
        f"{tally.records} records sent, {tally.records / elapsed_s:.1f} records/sec "
        f"({tally.megabytes / elapsed_s:.2f} MB/sec), {latencies.average_ms:.1f} ms avg latency, "
        f"{latencies.max_ms:.1f} ms max latency."
    )


def producer_summary(tally: Tally, elapsed_s: float, *, is_steady: bool = False) -> str:
    p50, p95, p99, p999 = tally.latencies.percentiles_ms(0.50, 0.95, 0.99, 0.999)
    return (
        f"{tally.records}{' steady state' if is_steady else ''} records sent, "
        f"{tally.records / elapsed_s:.6f} records/sec "
        f"({tally.megabytes / elapsed_s:.2f} MB/sec), {tally.latencies.average_ms:.2f} ms avg latency, "
        f"{tally.latencies.max_ms:.2f} ms max latency, "
        f"{p50:.0f} ms 50th, {p95:.0f} ms 95th, {p99:.0f} ms 99th, {p999:.0f} ms 99.9th."
    )


def producer_result(outcome: Outcome) -> list[str]:
    """The summary of all records, and with a warm-up the summary of the records after it."""
    lines = [producer_summary(outcome.total, outcome.elapsed_s)]
    if outcome.has_steady_state:
        lines.append(producer_summary(outcome.steady, outcome.steady_elapsed_s, is_steady=True))
    return lines


def consumer_timeout(timeout_ms: int) -> str:
    return (
        f"WARNING: Exiting before consuming the expected number of messages: timeout ({timeout_ms} ms) exceeded. "
        "You can use the --timeout option to increase the timeout."
    )


def consumer_result(outcome: Outcome, date_format: str) -> str:
    megabytes, records = outcome.total.megabytes, outcome.total.records
    elapsed_s = outcome.elapsed_s
    fetch_s = max(elapsed_s - outcome.rebalance_s, 1e-9)
    start = format_time(outcome.began_at, date_format)
    end = format_time(outcome.began_at + elapsed_s, date_format)
    return (
        f"{start}, {end}, {megabytes:.4f}, {megabytes / elapsed_s:.4f}, {records}, {records / elapsed_s:.4f}, "
        f"{outcome.rebalance_s * 1000:.0f}, {fetch_s * 1000:.0f}, {megabytes / fetch_s:.4f}, {records / fetch_s:.4f}"
    )


class ConsumerDetails:
    """The lines of --show-detailed-stats: one per worker and interval, with the worker's total."""

    def __init__(self, date_format: str) -> None:
        self._date_format = date_format
        self._totals: dict[int, list[float]] = {}

    def line(self, worker: int, tally: Tally, elapsed_s: float, rebalance_s: float) -> str:
        total = self._totals.setdefault(worker, [0.0, 0])
        total[0] += tally.megabytes
        total[1] += tally.records
        fetch_s = elapsed_s - rebalance_s
        megabytes_a_s = tally.megabytes / fetch_s if fetch_s > 0.0 else 0.0
        records_a_s = tally.records / fetch_s if fetch_s > 0.0 else 0.0
        return (
            f"{format_time(time.time(), self._date_format)}, {worker}, {total[0]:.4f}, "
            f"{tally.megabytes / elapsed_s:.4f}, {total[1]:.0f}, {tally.records / elapsed_s:.4f}, "
            f"{rebalance_s * 1000:.0f}, {fetch_s * 1000:.0f}, {megabytes_a_s:.4f}, {records_a_s:.4f}"
        )


def end_to_end_progress(number: int, latency_ns: int) -> str:
    return f"{number}\t{latency_ns / NS_PER_MS}"


def end_to_end_result(latencies: LatencyHistogram) -> list[str]:
    p50, p99, p999 = (int(value) for value in latencies.percentiles_ms(0.5, 0.99, 0.999))
    return [
        f"Avg latency: {latencies.average_ms:.4f} ms",
        f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}",
    ]


def topic_notice(topic: str) -> str:
    return f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1'


def producer_metrics(outcome: Outcome, client_id: str, topic: str) -> dict[str, float]:
    """Counters under the names of Kafka's metrics; rates cover the whole run."""
    total, elapsed_s = outcome.total, outcome.elapsed_s
    client, of_topic = f"{{client-id={client_id}}}", f"{{client-id={client_id}, topic={topic}}}"
    return {
        f"producer-metrics:record-error-total:{client}": float(len(outcome.failures)),
        f"producer-metrics:record-send-rate:{client}": total.records / elapsed_s,
        f"producer-metrics:record-send-total:{client}": float(total.records),
        f"producer-topic-metrics:byte-rate:{of_topic}": total.size_bytes / elapsed_s,
        f"producer-topic-metrics:byte-total:{of_topic}": float(total.size_bytes),
    }


def consumer_metrics(outcome: Outcome, client_id: str) -> dict[str, float]:
    total, elapsed_s = outcome.total, outcome.elapsed_s
    client = f"{{client-id={client_id}}}"
    return {
        f"consumer-coordinator-metrics:rebalance-latency-total:{client}": outcome.rebalance_s * 1000.0,
        f"consumer-fetch-manager-metrics:bytes-consumed-rate:{client}": total.size_bytes / elapsed_s,
        f"consumer-fetch-manager-metrics:bytes-consumed-total:{client}": float(total.size_bytes),
        f"consumer-fetch-manager-metrics:records-consumed-rate:{client}": total.records / elapsed_s,
        f"consumer-fetch-manager-metrics:records-consumed-total:{client}": float(total.records),
    }


def metrics_table(metrics: dict[str, float]) -> list[str]:
    """The output of --print-metrics: sorted names, numbers with three decimals."""
    width = max(map(len, metrics))
    return [
        "",
        f"{'Metric Name':{width}}   Value",
        *(f"{name:{width}} : {metrics[name]:.3f}" for name in sorted(metrics)),
    ]


def format_time(seconds: float, pattern: str) -> str:
    """A local time in the pattern letters of Java's SimpleDateFormat."""
    local = time.localtime(seconds)
    milliseconds = int(seconds * 1000) % 1000
    parts = {
        "yyyy": f"{local.tm_year:04d}",
        "MM": f"{local.tm_mon:02d}",
        "dd": f"{local.tm_mday:02d}",
        "HH": f"{local.tm_hour:02d}",
        "mm": f"{local.tm_min:02d}",
        "SSS": f"{milliseconds:03d}",
        "ss": f"{local.tm_sec:02d}",
    }
    for letters, value in parts.items():
        pattern = pattern.replace(letters, value)
    return pattern
