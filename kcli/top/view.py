"""The view of `kcli top`: rates, percentiles and gauges from two readings of a broker's metrics. Pure; its keys are
stable."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcli.top.scrape import Scrape

TOPIC = "kafka_server_brokertopicmetrics"
REQUEST = "kafka_network_requestmetrics"
CONNECTIONS = "kafka_server_socket_server_metrics_connection"
LAG = "kafka_consumergroup_lag"
STATES = {
    0: "not running",
    1: "starting",
    2: "recovering",
    3: "running",
    6: "pending shutdown",
    7: "shutting down",
}
NO_ERROR = "NONE"


class Interval:
    """The time between two readings. A counter that decreased belongs to a restarted broker, and counts from 0."""

    __slots__ = ("after", "before", "seconds")

    def __init__(self, before: Scrape, after: Scrape) -> None:
        self.before = before
        self.after = after
        self.seconds = max(1e-9, after.taken_s - before.taken_s)

    def grown(self, name: str, **labels: str) -> float:
        """The growth of all series with these labels."""
        before, after = self.before.total(name, **labels), self.after.total(name, **labels)
        return after - before if after >= before else after

    def rate(self, name: str, **labels: str) -> float:
        """The growth per second."""
        return round(self.grown(name, **labels) / self.seconds, 1)

    def own_rate(self, name: str, **labels: str) -> float:
        """The growth per second of the series with exactly these labels. Without labels: the total of all topics."""
        before, after = self.before.value(name, **labels), self.after.value(name, **labels)
        return round((after - before if after >= before else after) / self.seconds, 1)

    def percentile(self, name: str, share: float, **labels: str) -> float | None:
        """The value that a share of a histogram's new values did not exceed; None without new values."""
        buckets = sorted(
            (float(bucket["le"]), self.grown(f"{name}_bucket", **labels, le=bucket["le"]))
            for bucket, _ in self.after.series(f"{name}_bucket")
            if labels.items() <= bucket.items()
        )
        return interpolated(buckets, share)


def interpolated(buckets: list[tuple[float, float]], share: float) -> float | None:
    """As histogram_quantile of Prometheus: values are spread evenly within a bucket; beyond all bounds, the last bound
    is the result."""
    if not buckets or buckets[-1][1] <= 0:
        return None
    wanted = share * buckets[-1][1]
    lower, passed = 0.0, 0.0
    for bound, count in buckets:
        if count >= wanted:
            if bound == float("inf"):
                return lower
            within = (wanted - passed) / (count - passed) if count > passed else 1.0
            return round(lower + (bound - lower) * within, 3)
        lower, passed = bound, count
    return lower


def view(before: Scrape, after: Scrape) -> dict[str, Any]:
    """The view in the form of its JSON."""
    interval = Interval(before, after)
    return {
        "interval_s": round(interval.seconds, 3),
        "broker": broker(interval),
        "throughput": throughput(interval),
        "partitions": partitions(after),
        "apis": apis(interval),
        "topics": topics(interval),
        "groups": groups(after),
    }


def broker(interval: Interval) -> dict[str, Any]:
    after = interval.after
    state = int(after.value("kafka_server_kafkaserver_brokerstate"))
    return {
        "broker_id": after.label("kafka_server_app_info", "broker_id"),
        "cluster_id": after.label("kafka_server_app_info", "cluster_id"),
        "version": after.label("kafka_server_app_info", "version"),
        "state": STATES.get(state, str(state)),
        "cpu_percent": round(100 * interval.grown("process_cpu_seconds_total") / interval.seconds, 1),
        "resident_bytes": int(after.value("process_resident_memory_bytes")),
        "open_files": int(after.value("process_open_fds")),
        "network_idle_percent": percent(after.value("kafka_network_socketserver_networkprocessoravgidlepercent")),
        "handler_idle_percent": percent(
            after.value("kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent")
        ),
        "request_queue": int(after.value("kafka_network_requestchannel_requestqueuesize")),
        "connections": int(after.total(f"{CONNECTIONS}_count")),
        "connections_opened_per_s": interval.rate(f"{CONNECTIONS}_creation_total"),
    }


def percent(ratio: float) -> float:
    return round(100 * ratio, 1)


def throughput(interval: Interval) -> dict[str, Any]:
    return {
        "messages_in_per_s": interval.own_rate(f"{TOPIC}_messagesin_total"),
        "bytes_in_per_s": interval.own_rate(f"{TOPIC}_bytesin_total"),
        "bytes_out_per_s": interval.own_rate(f"{TOPIC}_bytesout_total"),
        "bytes_rejected_per_s": interval.own_rate(f"{TOPIC}_bytesrejected_total"),
        "requests_per_s": interval.rate(f"{REQUEST}_requests_total"),
        "network_in_per_s": interval.rate("kcli_network_bytes_in_total"),
        "network_out_per_s": interval.rate("kcli_network_bytes_out_total"),
    }


def partitions(after: Scrape) -> dict[str, Any]:
    prefix = "kafka_server_replicamanager"
    return {
        "topics": int(after.value("kafka_controller_kafkacontroller_globaltopiccount")),
        "held": int(after.value(f"{prefix}_partitioncount")),
        "led": int(after.value(f"{prefix}_leadercount")),
        "under_replicated": int(after.value(f"{prefix}_underreplicatedpartitions")),
        "offline": int(after.value(f"{prefix}_offlinereplicacount")),
        "offline_directories": int(after.value("kafka_log_logmanager_offlinelogdirectorycount")),
    }


def apis(interval: Interval) -> list[dict[str, Any]]:
    """APIs with requests in the interval, the busiest first."""
    rows = []
    for name in sorted(distinct(interval.after, f"{REQUEST}_requests_total", "request")):
        requests = interval.grown(f"{REQUEST}_requests_total", request=name)
        if requests == 0:
            continue
        errors = interval.grown(f"{REQUEST}_errors_total", request=name)
        clean = interval.grown(f"{REQUEST}_errors_total", request=name, error=NO_ERROR)
        rows.append(
            {
                "api": name,
                "requests_per_s": round(requests / interval.seconds, 1),
                "errors_per_s": round((errors - clean) / interval.seconds, 1),
                "p50_ms": interval.percentile(f"{REQUEST}_totaltimems", 0.5, request=name),
                "p99_ms": interval.percentile(f"{REQUEST}_totaltimems", 0.99, request=name),
                "queue_p99_ms": interval.percentile(f"{REQUEST}_requestqueuetimems", 0.99, request=name),
                "local_p99_ms": interval.percentile(f"{REQUEST}_localtimems", 0.99, request=name),
                "remote_p99_ms": interval.percentile(f"{REQUEST}_remotetimems", 0.99, request=name),
            }
        )
    return sorted(rows, key=lambda row: -row["requests_per_s"])


def topics(interval: Interval) -> list[dict[str, Any]]:
    """Topics with traffic in the interval, the busiest first."""
    rows = []
    for name in distinct(interval.after, f"{TOPIC}_messagesin_total", "topic"):
        row = {
            "topic": name,
            "messages_in_per_s": interval.rate(f"{TOPIC}_messagesin_total", topic=name),
            "bytes_in_per_s": interval.rate(f"{TOPIC}_bytesin_total", topic=name),
            "bytes_out_per_s": interval.rate(f"{TOPIC}_bytesout_total", topic=name),
        }
        if row["bytes_in_per_s"] or row["bytes_out_per_s"]:
            rows.append(row)
    return sorted(rows, key=lambda row: (-row["bytes_in_per_s"] - row["bytes_out_per_s"], row["topic"]))


def groups(after: Scrape) -> list[dict[str, Any]]:
    """Groups with committed offsets, the one with the largest lag first."""
    lags: dict[str, float] = {}
    seconds: dict[str, float] = {}
    count: dict[str, int] = {}
    for labels, value in after.series(LAG):
        group = labels["consumergroup"]
        lags[group] = lags.get(group, 0) + value
        count[group] = count.get(group, 0) + 1
    for labels, value in after.series(f"{LAG}_seconds"):
        seconds[labels["consumergroup"]] = max(value, seconds.get(labels["consumergroup"], 0.0))
    rows = [
        {
            "group": group,
            "members": int(after.value("kafka_consumergroup_members", consumergroup=group)),
            "partitions": count[group],
            "lag": int(lags[group]),
            "lag_seconds": seconds.get(group),
        }
        for group in lags
    ]
    return sorted(rows, key=lambda row: (-row["lag"], row["group"]))


def distinct(scrape: Scrape, name: str, label: str) -> Iterable[str]:
    """The distinct values of a label."""
    return dict.fromkeys(labels[label] for labels, _ in scrape.series(name) if label in labels)
