"""perf/clients: what is made of turns, the peer in C, and each client of Python once, with few records."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
from rich.console import Console

from kcore.testing.embedded_broker import EmbeddedBroker
from perf.clients import native
from perf.clients.plan import CONTENDERS, FULL, JAVA, NATIVE, QUICK, Contender
from perf.clients.report import Key, Report, counted
from perf.clients.turn import CONSUME, PRODUCE, Result, Task, in_child, value_of
from perf.processes import build_load

RECORDS = 2_000
SIZE = 100
OF_PYTHON = [each for each in CONTENDERS if each.client not in (JAVA, NATIVE)]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        broker.create_topic("read", partitions=1)
        task = Task(PRODUCE, "ours", "send_batch", broker.bootstrap_servers, "read", SIZE, 20_000)
        assert in_child(task).error is None
        yield broker


@pytest.mark.parametrize("contender", OF_PYTHON, ids=lambda each: f"{each.kind}-{each.client}-{each.way}")
def test_a_client_of_python_takes_a_turn(broker: EmbeddedBroker, contender: Contender) -> None:
    topic = "read"
    if contender.kind != CONSUME:
        topic = f"{contender.client}-{contender.way}"
        broker.create_topic(topic, partitions=1)
    records = 5 if contender.kind == "latency" else RECORDS
    identity = (contender.kind, contender.client, contender.way, broker.bootstrap_servers)
    result = in_child(Task(*identity, topic, SIZE, records, rate=1000.0))
    assert result.error is None
    assert result.records >= records - 1
    assert result.elapsed_s > 0
    assert result.cpu_s > 0
    if contender.kind == "latency":
        assert 0 < result.latency_ms["ack_p50"] <= result.latency_ms["e2e_p50"]


@pytest.mark.parametrize("filled", ["", "_filled"])
def test_what_the_peer_sends_it_receives(broker: EmbeddedBroker, filled: str) -> None:
    build_load()
    broker.create_topic(topic := f"peer{filled}", partitions=1)
    _, count = native.batch_of(SIZE)
    sent = native.run(Task(PRODUCE, NATIVE, f"send{filled}", broker.bootstrap_servers, topic, SIZE, 3 * count))
    assert (sent.error, sent.records) == (None, 3 * count)
    read = native.run(Task(CONSUME, NATIVE, f"receive{filled}", broker.bootstrap_servers, topic, SIZE, 3 * count))
    assert (read.error, read.records) == (None, 3 * count)
    unknown = native.run(Task(PRODUCE, NATIVE, "send", broker.bootstrap_servers, "never-made", SIZE, 1))
    assert unknown.error is not None
    assert "error 3" in unknown.error


def test_a_client_that_fails_is_told_of(broker: EmbeddedBroker) -> None:
    result = in_child(Task(CONSUME, "ours", "no such way", broker.bootstrap_servers, "read", SIZE, 1))
    assert result.error == "KeyError: 'no such way'"
    report = Report([(Key("kcli", PRODUCE, 100, "ours send"), result)])
    shown = io.StringIO()
    report.show(Console(file=shown, width=120))
    assert "KeyError" in shown.getvalue()
    assert report.aims() == []


def results() -> list[tuple[Key, Result]]:
    def turn(kind: str, size: int, contender: str, rate: float, cpu_s: float = 1.0) -> tuple[Key, Result]:
        return Key("kcli", kind, size, contender), Result(1_000_000, 1e6 / rate, cpu_s)

    return [
        *(turn(PRODUCE, 100, "ours send", rate) for rate in (1e6, 3e6, 9e6)),
        turn(PRODUCE, 100, "ours send_batch_arrow", 20e6),
        turn(PRODUCE, 100, "confluent produce", 1e6),
        turn(PRODUCE, 100, "confluent produce_batch", 4e6),
        turn(CONSUME, 1024, "ours poll_arrow", 1e6, 2.5),
        turn(CONSUME, 1024, "native receive", 1e6, 2.0),
    ]


def test_aims_are_of_medians_and_of_the_best_of_the_others() -> None:
    report = Report(results())
    aims = {aim["aim"].split(",")[0]: (aim["ratio"], aim["is_met"]) for aim in report.aims()}
    assert aims == {
        "send": (pytest.approx(3.0), True),
        "best send_batch": (pytest.approx(5.0), False),
        "poll_arrow": (pytest.approx(1.25), True),
    }
    assert report.baseline("kcli", PRODUCE, 100) == pytest.approx(4e6)
    document = json.loads(json.dumps(report.as_json()))
    assert len(document["turns"]) == 8
    assert document["medians"][0]["records_per_s"] == pytest.approx(3e6)


def test_the_table_names_everybody() -> None:
    shown = io.StringIO()
    Report(results()).show(Console(file=shown, width=160))
    for word in ("ours send", "confluent produce_batch", "native receive", "3.00 M  0.75x", "not met"):
        assert word in shown.getvalue()
    assert [counted(number) for number in (12.0, 1234.0, 2.5e6)] == ["12", "1.2 k", "2.50 M"]


def test_nobody_reads_more_than_there_is() -> None:
    for plan in (FULL, QUICK):
        for size in plan.sizes:
            stored = plan.stored_records(size)
            assert stored * size <= plan.max_bytes + size
            assert all(plan.records_of(each, size) <= stored for each in CONTENDERS if each.kind == CONSUME)
        assert [each.name for each in plan.contenders(PRODUCE, 0)] != [
            each.name for each in plan.contenders(PRODUCE, 1)
        ]


def test_values_have_their_size() -> None:
    assert [len(value_of(size)) for size in (1, 10, 1024)] == [1, 10, 1024]
    batch, count = native.batch_of(SIZE)
    assert len(batch) <= 131_072
    assert native.encoded_bytes(SIZE) == pytest.approx(len(batch) / count)
