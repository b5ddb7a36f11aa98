"""`kcli perf-test producer`: like kafka-producer-perf-test."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.commands.perf_test.options import measuring_options
from kcli.completion import complete_topics
from kcli.failures import Failure
from kcli.output import TABLE
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcli.performance.outcome import Outcome
    from kcli.performance.payloads import KeySource, Payloads
    from kcli.performance.workers import Emit, Share
    from kcore.client.config.client_config import ProducerConfig

DEFAULT_TRANSACTION_DURATION_MS = 3000
SEND, SEND_BATCH = "send", "send_batch"


@click.command(
    "producer",
    cls=Command,
    examples="""
    # Write a million records of 100 bytes
    kcli perf-test producer --topic perf --num-records 1000000 --record-size 100
    # Write 5000 records per second, and print the result as JSON
    kcli perf-test producer --topic perf --num-records 100000 --record-size 100 --throughput 5000 -o json
    # Compare this cluster with another one, in five rounds
    kcli perf-test producer --topic perf --num-records 1000000 --record-size 100 --against kafka:9092 --rounds 5
    """,
)
@click.option("--topic", required=True, metavar="TOPIC", shell_complete=complete_topics, help="Topic to write to.")
@click.option("--num-records", type=IntegerRange(min=1), required=True, metavar="N", help="Number of records to send.")
@click.option(
    "--record-size", type=IntegerRange(min=0), metavar="BYTES", help="Size of values of random letters, in bytes."
)
@click.option("--payload-file", metavar="FILE", help="File of values, which are sent in random order.")
@click.option(
    "--payload-delimiter", default="\\n", show_default=True, metavar="TEXT", help="Separator of values in the file."
)
@click.option("--payload-monotonic", is_flag=True, help="Send the numbers from 0 on, as text.")
@click.option(
    "--key-distribution",
    metavar="FORM",
    help="Distribution of keys: sequential:N, uniform:N or zipf:N[:EXPONENT]. Default: no keys.",
)
@click.option(
    "--throughput", type=float, default=-1.0, show_default=True, metavar="N", help="Records per second; -1: no limit."
)
@click.option(
    "--call",
    type=click.Choice([SEND_BATCH, SEND]),
    default=SEND_BATCH,
    show_default=True,
    help="Client method: one call per batch or per record.",
)
@click.option("--transactional-id", metavar="ID", help="Transactional id; records are written in transactions.")
@click.option(
    "--transaction-duration-ms",
    type=IntegerRange(min=1),
    metavar="MS",
    help="Duration of a transaction, in ms. Default: 3000.",
)
@click.option(
    "--producer-props",
    "--command-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE...",
    help="Producer configurations. May be repeated.",
)
@click.argument("more_properties", metavar="", nargs=-1)
@click.option(
    "--producer.config",
    "--command-config",
    "config_file",
    metavar="FILE",
    help="Properties file of the producer.",
)
@click.option("--print-metrics", is_flag=True, help="Print the counters under the names of Kafka's metrics.")
@measuring_options()
def producer(
    topic: str,
    num_records: int,
    record_size: int | None,
    payload_file: str | None,
    payload_delimiter: str,
    payload_monotonic: bool,
    key_distribution: str | None,
    throughput: float,
    call: str,
    transactional_id: str | None,
    transaction_duration_ms: int | None,
    properties: tuple[str, ...],
    more_properties: tuple[str, ...],
    config_file: str | None,
    print_metrics: bool,
    reporting_interval: int,
    warmup_records: int,
    bootstrap_server: str,
    **measuring_given: Any,
) -> None:
    """Send records and measure throughput and latency.

    Latency is the time from the send call to the acknowledgement. With --throughput, JSON also has latencies from the
    time when the record was due, corrected for coordinated omission. The first summary includes warm-up records; the
    second one does not.
    """
    from kcli.broker_connection import await_broker
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.performance import kafka_lines
    from kcli.performance.measuring import ProgressLines, measuring_of
    from kcli.performance.producer_performance import ProducerPerformance, ProducerRun

    if more_properties and not properties:
        raise click.UsageError(f"Got unexpected extra argument ({more_properties[0]})")
    if warmup_records >= num_records:
        raise click.UsageError("--warmup-records must be fewer than --num-records.")
    measuring = measuring_of(warmup_records, **measuring_given)
    make_payloads = _payloads(record_size, payload_file, payload_delimiter, payload_monotonic)
    settings = gather(config_file, (*properties, *more_properties), "--producer-props")
    server = with_bootstrap_servers(settings, bootstrap_server)["bootstrap.servers"]
    settings = {"client.id": "perf-producer-client", **settings}
    duration_ms = _make_transactional(settings, transactional_id, transaction_duration_ms)
    is_table = measuring.output == TABLE
    interval_s = measuring.interval_s(reporting_interval)

    def measure(server: str, number: int) -> Outcome:
        configs = _producer_configs({**settings, "bootstrap.servers": server}, measuring.workers)
        await_broker(configs[0])
        run = ProducerRun(
            configs.__getitem__, topic, make_payloads, _keys(key_distribution), call, duration_ms, interval_s
        )
        steady_notice = kafka_lines.STEADY_NOTICE if warmup_records else None

        def echo(line: str) -> None:
            click.echo(line, err=not is_table or measuring.against is not None)

        lines = ProgressLines(interval_s, kafka_lines.producer_progress, echo, steady_notice)
        if warmup_records and number == 0:
            echo(kafka_lines.warm_up_notice(warmup_records))

        def work(share: Share, emit: Emit) -> None:
            ProducerPerformance(run, share, emit).work()

        outcome = measuring.run(f"writing {topic} at {server}", work, num_records, throughput, lines.take)
        if outcome.failures and measuring.against is not None:
            raise Failure(f"topic {topic} at {server}: not all records were delivered: {outcome.failures[0]}")
        return outcome

    def print_result(outcome: Outcome) -> None:
        lines = kafka_lines.producer_result(outcome)
        if print_metrics:
            lines += kafka_lines.metrics_table(kafka_lines.producer_metrics(outcome, settings["client.id"], topic))
        for line in lines:
            click.echo(line)

    outcome = measuring.present(server, measure, print_result)
    if outcome is not None and outcome.failures:
        raise Failure(f"topic {topic}: not all records were delivered: {outcome.failures[0]}")


def _producer_configs(settings: dict[str, str], workers: int) -> list[ProducerConfig]:
    """One configuration per worker, each with its own transactional id."""
    from kcli.client_properties import producer_config
    from kcore.client.config.client_config import ProducerConfig

    first = producer_config(settings)
    name = first["transactional.id"]
    if workers == 1 or name is None:
        return [first] * workers
    given = {name: value for name, value in settings.items() if not name.endswith(".serializer")}
    return [ProducerConfig({**given, "transactional.id": f"{name}-{worker}"}) for worker in range(workers)]


def _make_transactional(settings: dict[str, str], transactional_id: str | None, duration_ms: int | None) -> int | None:
    """The duration of transactions in ms, or None without transactions. Sets transactional.id."""
    from uuid import uuid4

    if transactional_id is None and duration_ms is None and not settings.get("transactional.id"):
        return None
    if transactional_id is not None:
        settings["transactional.id"] = transactional_id
    settings.setdefault("transactional.id", f"performance-producer-{uuid4()}")
    return duration_ms or DEFAULT_TRANSACTION_DURATION_MS


def _payloads(
    record_size: int | None, payload_file: str | None, delimiter: str, monotonic: bool
) -> Callable[[int, int], Payloads]:
    from kcli.performance.payloads import FilePayloads, MonotonicPayloads, RandomPayloads, read_payload_file

    if sum((record_size is not None, payload_file is not None, monotonic)) != 1:
        raise click.UsageError("Pass exactly one of --record-size, --payload-file and --payload-monotonic.")
    if record_size is not None:
        return lambda seed, first: RandomPayloads(record_size, seed)
    if payload_file is None:
        return lambda seed, first: MonotonicPayloads(first)
    payloads = read_payload_file(payload_file, delimiter)
    return lambda seed, first: FilePayloads(payloads, seed)


def _keys(distribution: str | None) -> Callable[[int], KeySource] | None:
    from kcli.performance.payloads import key_source

    if distribution is None:
        return None
    key_source(distribution)
    return lambda seed: key_source(distribution, seed)
