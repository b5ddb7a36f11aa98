"""The steps of the demo, in order."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager

import click

from kcli.demonstration.flights import FLIGHT_COUNT, ArrivalDelays, Fingerprint, FlightFile
from kcli.failures import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLIGHTS_TOPIC = "flights"
FLIGHTS_PARTITIONS = 6
PERF_TOPIC = "perf-test"
PERF_RECORDS = 500_000
PERF_RECORD_SIZE = 100
SHOWN_BATCHES = 5
CONSUME_TIMEOUT_S = 30.0
PROGRESS_EVERY = 16_384


def create_topics(bootstrap_server: str) -> None:
    """The flights have timestamps of 2013, so their topic must not have a retention time."""
    from kcli.options import connect
    from kcore.client.admin.results import raise_first
    from kcore.client.admin.topics import NewTopic, TopicAdmin

    topics = [
        NewTopic(FLIGHTS_TOPIC, FLIGHTS_PARTITIONS, 1, {"retention.ms": "-1"}),
        NewTopic(PERF_TOPIC, 1, 1),
    ]
    with connect(bootstrap_server) as client:
        raise_first(TopicAdmin(client).create_topics(topics))


def publish(bootstrap_server: str, flights: FlightFile) -> Fingerprint:
    """Publishes all flights, keyed by carrier. Returns the fingerprint of the acknowledged flights."""
    from kcore.client.producer import Producer

    fingerprint = Fingerprint()
    failures: list[Exception] = []

    def on_delivery(metadata: object, error: Exception | None) -> None:
        if error is not None:
            failures.append(error)

    began_s = time.perf_counter()
    with (
        Producer(bootstrap_servers=bootstrap_server, batch_size=65_536, linger_ms=20) as producer,
        progress("publishing", len(flights)) as advance,
    ):
        for number, flight in enumerate(flights):
            fingerprint.add(flight.carrier, flight.line)
            producer.send(
                FLIGHTS_TOPIC,
                flight.line,
                key=flight.carrier,
                timestamp=flight.timestamp_ms,
                on_delivery=on_delivery,
            )
            if number % PROGRESS_EVERY == 0:
                advance(number)
    if failures:
        raise Failure(f"{len(failures)} flights were not delivered. First error: {failures[0]}")
    elapsed_s = time.perf_counter() - began_s
    say(f"Published {fingerprint.total:,} flights of 2013 to topic {FLIGHTS_TOPIC} in {elapsed_s:.1f} s.")
    return fingerprint


def consume(bootstrap_server: str, flights: FlightFile, published: Fingerprint) -> ArrivalDelays:
    """Reads all flights back and compares them with the published ones."""
    from kcore.client.consumer import Consumer
    from kcore.client.metadata.cluster import TopicPartition

    seen = Fingerprint()
    delays = ArrivalDelays(flights.arrival_delay_column)
    began_s = time.perf_counter()
    total = 0
    with (
        Consumer(
            bootstrap_servers=bootstrap_server, auto_offset_reset="earliest", max_poll_records=PROGRESS_EVERY
        ) as consumer,
        progress("consuming", len(flights)) as advance,
    ):
        consumer.assign([TopicPartition(FLIGHTS_TOPIC, number) for number in range(FLIGHTS_PARTITIONS)])
        while total < published.total:
            records = consumer.poll(1_000.0)
            if records:
                delays.add(records, seen)
                total += len(records)
                advance(total)
            elif time.perf_counter() - began_s > CONSUME_TIMEOUT_S:
                break
    if seen != published or seen.total != FLIGHT_COUNT:
        raise Failure(
            f"topic {FLIGHTS_TOPIC}: {seen.total:,} flights read, which differ from the {published.total:,} published"
        )
    elapsed_s = time.perf_counter() - began_s
    say(f"Consumed {seen.total:,} flights in {elapsed_s:.1f} s.")
    say(f"Complete: every carrier's flights came back in order, checksum {seen.checksum:08x}.")
    return delays


def show_table(flights: FlightFile, published: Fingerprint, delays: ArrivalDelays) -> None:
    """Flights and mean arrival delay by carrier, the carrier with the most flights first."""
    from rich.console import Console
    from rich.table import Table

    names = flights.airline_names()
    table = Table(title="Departures from New York City, 2013")
    table.add_column("carrier")
    table.add_column("airline")
    table.add_column("flights", justify="right")
    table.add_column("mean arrival delay", justify="right")
    for carrier, count in sorted(published.counts.items(), key=lambda entry: -entry[1]):
        delay = f"{delays.mean(carrier):+.1f} min"
        table.add_row(carrier.decode(), names.get(carrier, "?"), f"{count:,}", delay)
    Console(file=sys.stdout).print(table)


def measure(bootstrap_server: str) -> None:
    """A short perf test with the defaults of `kcli perf-test`."""
    from kcli.output import TABLE
    from kcli.performance import kafka_lines
    from kcli.performance.consumer_performance import ConsumerPerformance, ConsumerRun
    from kcli.performance.measuring import Measuring
    from kcli.performance.payloads import RandomPayloads
    from kcli.performance.producer_performance import ProducerPerformance, ProducerRun
    from kcore.client.config.client_config import ConsumerConfig, ProducerConfig

    producing = ProducerConfig(bootstrap_servers=bootstrap_server, batch_size=65_536)
    consuming = ConsumerConfig(bootstrap_servers=bootstrap_server, group_id="demo", auto_offset_reset="earliest")
    write = ProducerRun(
        lambda worker: producing, PERF_TOPIC, lambda seed, first: RandomPayloads(PERF_RECORD_SIZE, seed)
    )
    read = ConsumerRun(lambda worker: consuming, PERF_TOPIC, timeout_ms=10_000)
    measuring = Measuring(TABLE)
    written = measuring.run("writing", lambda share, emit: ProducerPerformance(write, share, emit).work(), PERF_RECORDS)
    if written.failures:
        raise Failure(f"topic {PERF_TOPIC}: not all records were delivered. First error: {written.failures[0]}")
    say(f"Write: {kafka_lines.producer_summary(written.total, written.elapsed_s)}")
    has_read = measuring.run("reading", lambda share, emit: ConsumerPerformance(read, share, emit).work(), PERF_RECORDS)
    summary = has_read.summary()
    speed = f"{summary['records_per_s']:.0f} records/sec ({summary['mb_per_s']:.2f} MB/sec)"
    say(f"Read: {summary['records']} records, {speed}")


def show_segment(data_dir: str) -> None:
    """The first batches of a segment, in the format of `kcli dump-log`."""
    from itertools import islice

    from kcli.commands.dump_log import dump_files
    from kcli.log_dump.findings import Findings
    from kcli.log_dump.text import LineWriter

    folders = (os.path.join(data_dir, f"{FLIGHTS_TOPIC}-{number}") for number in range(FLIGHTS_PARTITIONS))
    logs = [sorted(entry.path for entry in os.scandir(folder) if entry.name.endswith(".log")) for folder in folders]
    # A partition without records has no segment file.
    segment = max((segments[0] for segments in logs if segments), key=os.path.getsize)
    findings = Findings()
    rows = dump_files([segment], deep=False, sanity_only=False, verify_only=False, max_bytes=None, findings=findings)
    writer = LineWriter(None, skip_record_metadata=False)
    say("The head of a segment (kcli dump-log):")
    for row in islice(rows, SHOWN_BATCHES + 1):
        say(writer.line(row))


def say(line: str) -> None:
    click.echo(line)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)
        yield lambda done: bars.update(task, completed=done)
