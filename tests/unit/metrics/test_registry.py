"""The exposition, read back by Prometheus' own parser."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kcore.metrics.registry import Registry, duration_histogram, number, size_histogram
from kcore.metrics.table import METRICS

REQUESTS = "kafka_network_requestmetrics_requests_total"
TOTAL_TIME = "kafka_network_requestmetrics_totaltimems"
SIZE = "kafka_network_requestmetrics_requestbytes"
MESSAGES = "kafka_server_brokertopicmetrics_messagesin_total"


def parsed(registry: Registry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(registry.render().decode())
        for sample in family.samples
    }


def test_counters_and_gauges_come_back_as_they_went_in() -> None:
    registry = Registry()
    registry.add((REQUESTS,), lambda: [(REQUESTS, ("Produce", "10"), 7), (REQUESTS, ("Fetch", "16"), 2**60)])
    registry.gauge("process_threads", lambda: 12)
    assert parsed(registry) == {
        (REQUESTS, (("request", "Produce"), ("version", "10"))): 7,
        (REQUESTS, (("request", "Fetch"), ("version", "16"))): 2.0**60,
        ("process_threads", ()): 12,
    }


@pytest.mark.parametrize("value", ['a"b', "back\\slash", "new\nline", "ünïcode {}=,", ""])
def test_label_values_survive(value: str) -> None:
    registry = Registry()
    registry.add((MESSAGES,), lambda: [(MESSAGES, (value,), 1)])
    assert parsed(registry) == {(MESSAGES, (("topic", value),)): 1}


def test_a_sample_with_fewer_values_than_labels_leaves_them_out() -> None:
    registry = Registry()
    registry.add((MESSAGES,), lambda: [(MESSAGES, (), 3), (MESSAGES, ("t",), 1)])
    assert parsed(registry) == {(MESSAGES, ()): 3, (MESSAGES, (("topic", "t"),)): 1}


def test_buckets_are_cumulative_and_end_with_everything() -> None:
    counts = [0] * 32
    counts[0], counts[5], counts[26], counts[31] = 1, 2, 4, 8  # up to 1 us, 32 us, 67.1 s, and beyond all bounds
    registry = Registry()
    registry.add((TOTAL_TIME,), lambda: [(TOTAL_TIME, ("Produce",), duration_histogram(counts, 5_000_000))])
    samples = parsed(registry)
    buckets = {
        float(dict(labels)["le"]): value for (name, labels), value in samples.items() if name.endswith("_bucket")
    }
    bounds = sorted(buckets)
    assert bounds[0] == 0.004
    assert bounds[-2:] == [67108.864, math.inf]
    assert all(math.isclose(after, 2 * before) for before, after in pairwise(bounds[:-1]))
    assert [buckets[bound] for bound in (0.004, 0.016, 0.032, 33554.432, 67108.864, math.inf)] == [1, 1, 3, 3, 7, 15]
    assert samples[f"{TOTAL_TIME}_count", (("request", "Produce"),)] == 15
    assert samples[f"{TOTAL_TIME}_sum", (("request", "Produce"),)] == 5


def test_buckets_that_are_not_shown_count_in_the_next_one() -> None:
    counts = [0] * 32
    counts[7] = 3  # 65 to 128 bytes, shown up to 256
    registry = Registry()
    registry.add((SIZE,), lambda: [(SIZE, ("Produce",), size_histogram(counts, 300))])
    samples = parsed(registry)
    assert samples[f"{SIZE}_bucket", (("le", "64"), ("request", "Produce"))] == 0
    assert samples[f"{SIZE}_bucket", (("le", "256"), ("request", "Produce"))] == 3


def test_a_source_that_fails_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    registry = Registry()

    def broken() -> float:
        raise OSError("the disk is gone")

    registry.gauge("process_threads", broken)
    registry.gauge("process_open_fds", lambda: 3)
    assert parsed(registry) == {("process_open_fds", ()): 3}
    assert "process_threads cannot be read" in capsys.readouterr().err


def test_only_metrics_of_the_table_are_taken() -> None:
    with pytest.raises(ValueError, match="kafka_made_up is not in"):
        Registry().gauge("kafka_made_up", lambda: 1)


def test_every_metric_has_its_documentation_in_one_line() -> None:
    assert all("\n" not in metric.documentation and metric.documentation.endswith(".") for metric in METRICS.values())


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1.0, "1"), (2**62, str(2**62)), (0.25, "0.25"), (1e-7, "1e-07")]
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text
