"""Records/s and CPU of `send` and `send_batch` beside confluent-kafka's `produce`, by turns in one run, to one broker.

    .venv/bin/python -m perf.run_producer [--records 1000000] [--size 100] [--rounds 5] [--server HOST:PORT] [--json]

Every round sends the records through each way once, to one partition, and waits until all are acknowledged; printed
are medians, and ratios of medians. Batches are as large for all (`batch.size`), idempotence is off; ways with delivery
reports are compared with each other. CPU is this process's, the broker's apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import pyarrow as pa
from confluent_kafka import Producer as ConfluentProducer

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker

TOPIC = "perf"
BATCH_BYTES = 131_072
ROWS_PER_CALL = 20_000
BASELINE = "confluent produce"
REPORTED_BASELINE = "confluent produce, reports"


class Turn(NamedTuple):
    records_per_s: float
    cpu_ns_per_record: float
    call_ns_per_record: float


def measured(records: int, send: Callable[[], None], flush: Callable[[], Any]) -> Turn:
    began_s, cpu_s = time.perf_counter(), time.process_time()
    send()
    called_s = time.perf_counter() - began_s
    flush()
    elapsed_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    return Turn(records / elapsed_s, cpu_s / records * 1e9, called_s / records * 1e9)


def confluent_turn(server: str, value: bytes, records: int, reports: bool) -> Turn:
    settings = {"bootstrap.servers": server, "batch.size": BATCH_BYTES, "queue.buffering.max.messages": 2_000_000}
    producer = ConfluentProducer({**settings, "queue.buffering.max.kbytes": 1 << 20})
    told = []
    keywords = {"on_delivery": lambda error, message: told.append(error)} if reports else {}

    def send() -> None:
        for _ in range(records):
            while True:
                try:
                    producer.produce(TOPIC, value, partition=0, **keywords)
                    break
                except BufferError:
                    producer.poll(0.01)
            if reports:
                producer.poll(0)

    turn = measured(records, send, producer.flush)
    assert not reports or told == [None] * records
    return turn


def own_turn(server: str, value: bytes, records: int, reports: bool) -> Turn:
    settings = {"batch.size": BATCH_BYTES, "enable.idempotence": False, "acks": "all", "buffer.memory": 1 << 28}
    told = []
    with Producer({"bootstrap.servers": server, **settings}) as producer:
        producer.partitions_for(TOPIC)
        call = producer.send

        def send() -> None:
            if reports:
                on_delivery = lambda metadata, error: told.append(error)  # noqa: E731
                for _ in range(records):
                    call(TOPIC, value, partition=0, on_delivery=on_delivery)
            else:
                for _ in range(records):
                    call(TOPIC, value, partition=0)

        turn = measured(records, send, producer.flush)
    assert not reports or told == [None] * records
    return turn


def batch_turn(server: str, values: Any, records: int) -> Turn:
    settings = {"batch.size": BATCH_BYTES, "enable.idempotence": False, "buffer.memory": 1 << 28}
    with Producer({"bootstrap.servers": server, **settings}) as producer:
        producer.partitions_for(TOPIC)

        def send() -> None:
            for _ in range(records // ROWS_PER_CALL):
                producer.send_batch(TOPIC, values, partition=0)

        return measured(records // ROWS_PER_CALL * ROWS_PER_CALL, send, producer.flush)


def run(server: str, records: int, size: int, rounds: int) -> dict[str, list[Turn]]:
    value = bytes(size)
    rows = [value] * ROWS_PER_CALL
    arrow = pa.array(rows, pa.binary())
    ways: dict[str, Callable[[], Turn]] = {
        BASELINE: lambda: confluent_turn(server, value, records, False),
        "send": lambda: own_turn(server, value, records, False),
        REPORTED_BASELINE: lambda: confluent_turn(server, value, records, True),
        "send, callbacks": lambda: own_turn(server, value, records, True),
        "send_batch of a list": lambda: batch_turn(server, rows, records),
        "send_batch of Arrow": lambda: batch_turn(server, arrow, records),
    }
    turns: dict[str, list[Turn]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            turns[name].append(way())
    return turns


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    broker = EmbeddedBroker() if options.server is None else None
    with broker or nullcontext():
        server = options.server or broker.bootstrap_servers  # type: ignore[union-attr]
        if broker is not None:
            broker.create_topic(TOPIC, partitions=1)
        turns = run(server, options.records, options.size, options.rounds)
    medians = {
        name: Turn(*(statistics.median(column) for column in zip(*each, strict=True))) for name, each in turns.items()
    }
    if options.json:
        print(json.dumps({name: turn._asdict() for name, turn in medians.items()}))
        return
    print(f"{'way':30} {'records/s':>12} {'ratio':>7} {'CPU ns':>8} {'ratio':>7} {'call ns':>8}")
    for name, turn in medians.items():
        base = medians[REPORTED_BASELINE if name == "send, callbacks" else BASELINE]
        faster, cheaper = turn.records_per_s / base.records_per_s, base.cpu_ns_per_record / turn.cpu_ns_per_record
        print(
            f"{name:30} {turn.records_per_s:12,.0f} {faster:6.2f}x {turn.cpu_ns_per_record:8.0f} {cheaper:6.2f}x "
            f"{turn.call_ns_per_record:8.0f}"
        )


if __name__ == "__main__":
    main()
