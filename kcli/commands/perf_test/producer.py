"""`kcli perf-test producer`: what kafka-producer-perf-test does."""

from __future__ import annotations

import click

from kcli.commands.perf_test.options import measuring_options
from kcli.completion import complete_topics
from kcli.failures import Failure
from kcli.output import TABLE

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


@click.command("producer")
@click.option("--topic", required=True, shell_complete=complete_topics, help="The topic to write to.")
@click.option("--num-records", type=click.IntRange(min=1), required=True, help="How many records to send.")
@click.option("--record-size", type=click.IntRange(min=0), help="Bytes of a record; random letters.")
@click.option("--payload-file", metavar="FILE", help="Take records at random from the lines of this file.")
@click.option("--payload-delimiter", default="\\n", show_default=True, help="What stands between the file's records.")
@click.option("--payload-monotonic", is_flag=True, help="Send the numbers from 0 on, as text.")
@click.option("--key-distribution", metavar="FORM", help="Keys: sequential:N, uniform:N or zipf:N[:EXPONENT].")
@click.option("--throughput", type=float, default=-1.0, show_default=True, help="Records a second; -1: no limit.")
@click.option(
    "--call",
    type=click.Choice([SEND_BATCH, SEND]),
    default=SEND_BATCH,
    show_default=True,
    help="Hand over a batch at a time, or each record.",
)
@click.option("--transactional-id", metavar="ID", help="Write in transactions, under this id.")
@click.option("--transaction-duration-ms", type=click.IntRange(min=1), help="Commit that often. Default: 3000.")
@click.option(
    "--producer-props",
    "--command-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE...",
    help="Properties of the producer.",
)
@click.argument("more_properties", metavar="", nargs=-1)
@click.option(
    "--producer.config",
    "--command-config",
    "config_file",
    metavar="FILE",
    help="A file with properties of the producer.",
)
@click.option("--print-metrics", is_flag=True, help="Print what the tool has counted under Kafka's names.")
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

    Latency is from handing a record over to its acknowledgement. With --throughput, JSON has it corrected for
    coordinated omission too: from when the record was due. Warm-up records are in the first summary, not in the second.
    """
    from kcli.broker_connection import await_broker
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.performance import kafka_lines
    from kcli.performance.measuring import Measuring, ProgressLines
    from kcli.performance.producer_performance import ProducerPerformance, ProducerRun

    if more_properties and not properties:
        raise click.UsageError(f"Got unexpected extra argument ({more_properties[0]})")
    if warmup_records >= num_records:
        raise click.UsageError("--warmup-records must be fewer than --num-records.")
    measuring = Measuring(warm_up_records=warmup_records, **measuring_given)
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
            raise Failure(f"topic {topic} at {server}: not everything was delivered: {outcome.failures[0]}")
        return outcome

    def print_result(outcome: Outcome) -> None:
        lines = kafka_lines.producer_result(outcome)
        if print_metrics:
            lines += kafka_lines.metrics_table(kafka_lines.producer_metrics(outcome, settings["client.id"], topic))
        for line in lines:
            click.echo(line)

    outcome = measuring.present(server, measure, print_result)
    if outcome is not None and outcome.failures:
        raise Failure(f"topic {topic}: not everything was delivered: {outcome.failures[0]}")


def _producer_configs(settings: dict[str, str], workers: int) -> list[ProducerConfig]:
    """One a worker; several have transactional ids of their own."""
    from kcli.client_properties import producer_config
    from kcore.client.config.client_config import ProducerConfig

    first = producer_config(settings)
    name = first["transactional.id"]
    if workers == 1 or name is None:
        return [first] * workers
    given = {name: value for name, value in settings.items() if not name.endswith(".serializer")}
    return [ProducerConfig({**given, "transactional.id": f"{name}-{worker}"}) for worker in range(workers)]


def _make_transactional(settings: dict[str, str], transactional_id: str | None, duration_ms: int | None) -> int | None:
    """How long a transaction is to be, or None where none was asked for; the settings get the id."""
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
        raise click.UsageError("Give exactly one of --record-size, --payload-file and --payload-monotonic.")
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
