"""`kcli perf-test consumer`: like kafka-consumer-perf-test."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.commands.perf_test.options import measuring_options
from kcli.completion import complete_topics
from kcli.failures import UnreachableFailure
from kcli.output import TABLE
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from kcli.performance.outcome import Outcome
    from kcli.performance.tally import Window
    from kcli.performance.workers import Emit, Share

DATE_FORMAT = "yyyy-MM-dd HH:mm:ss:SSS"
POLL, POLL_COLUMNS, POLL_ARROW = "poll", "poll_columns", "poll_arrow"


@click.command(
    "consumer",
    cls=Command,
    examples="""
    # Read a million records
    kcli perf-test consumer --topic perf --messages 1000000
    # Read them with two clients, and print the result as JSON
    kcli perf-test consumer --topic perf --messages 1000000 --threads 2 -o json
    # Compare this cluster with another one, in five rounds
    kcli perf-test consumer --topic perf --messages 1000000 --against kafka:9092 --rounds 5
    """,
)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="Topic to read.")
@click.option("--include", metavar="REGEX", help="Read all topics that match.")
@click.option(
    "--messages",
    "--num-records",
    type=IntegerRange(min=1),
    required=True,
    metavar="N",
    help="Number of records to read.",
)
@click.option("--group", metavar="ID", help="Consumer group to join. Default: perf-consumer- and a number.")
@click.option(
    "--fetch-size",
    type=IntegerRange(min=1),
    default=1_048_576,
    show_default=True,
    metavar="BYTES",
    help="Maximum bytes per partition and fetch.",
)
@click.option("--from-latest", is_flag=True, help="Start at the log end if the group has no offset.")
@click.option(
    "--timeout",
    "timeout_ms",
    type=IntegerRange(min=0),
    default=10_000,
    show_default=True,
    metavar="MS",
    help="Maximum time without a record, in ms.",
)
@click.option("--show-detailed-stats", is_flag=True, help="Print a line at each --reporting-interval.")
@click.option("--hide-header", is_flag=True, help="Do not print the column names.")
@click.option(
    "--date-format",
    default=DATE_FORMAT,
    show_default=True,
    metavar="FORMAT",
    help="Format of times, in the letters of Java's SimpleDateFormat.",
)
@click.option(
    "--call",
    type=click.Choice([POLL_COLUMNS, POLL_ARROW, POLL]),
    default=POLL_COLUMNS,
    show_default=True,
    help="Client method: columns, Arrow columns, or one object per record.",
)
@click.option(
    "--command-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="Consumer configuration. May be repeated.",
)
@click.option(
    "--consumer.config",
    "--command-config",
    "config_file",
    metavar="FILE",
    help="Properties file of the consumer.",
)
@click.option(
    "--socket-buffer-size", type=int, metavar="BYTES", help="receive.buffer.bytes, in bytes. Default: the kernel's."
)
@click.option("--num-fetch-threads", type=int, hidden=True)
@click.option("--print-metrics", is_flag=True, help="Print the counters under the names of Kafka's metrics.")
@measuring_options()
def consumer(
    topic: str | None,
    include: str | None,
    messages: int,
    group: str | None,
    fetch_size: int,
    from_latest: bool,
    timeout_ms: int,
    show_detailed_stats: bool,
    hide_header: bool,
    date_format: str,
    call: str,
    properties: tuple[str, ...],
    config_file: str | None,
    socket_buffer_size: int | None,
    num_fetch_threads: int | None,
    print_metrics: bool,
    reporting_interval: int,
    warmup_records: int,
    bootstrap_server: str,
    **measuring_given: Any,
) -> None:
    """Read records and measure throughput.

    Several clients join one group and stop when they have read the records together. Latencies in JSON are the
    durations of calls that returned records. Checksums are verified if check.crcs is set.
    """
    from kcli.broker_connection import await_broker
    from kcli.client_properties import consumer_config, gather, with_bootstrap_servers
    from kcli.performance import kafka_lines
    from kcli.performance.consumer_performance import ConsumerPerformance, ConsumerRun
    from kcli.performance.measuring import FULL_INTERVAL, measuring_of

    if (topic is None) == (include is None):
        raise click.UsageError("Pass exactly one of --topic and --include.")
    measuring = measuring_of(warmup_records, **measuring_given)
    settings = gather(config_file, properties, "--command-property")
    server = with_bootstrap_servers(settings, bootstrap_server)["bootstrap.servers"]
    settings = {"client.id": "perf-consumer-client", **settings, "max.partition.fetch.bytes": str(fetch_size)}
    settings["auto.offset.reset"] = "latest" if from_latest else "earliest"
    if socket_buffer_size is not None:
        settings["receive.buffer.bytes"] = str(socket_buffer_size)
    group_id = group or settings.get("group.id") or _new_group()
    is_table = measuring.output == TABLE and measuring.against is None
    interval_s = measuring.interval_s(reporting_interval)

    def measure(server: str, number: int) -> Outcome:
        own_group = group_id if measuring.against is None else f"{group_id}-{number}"
        config = consumer_config({**settings, "bootstrap.servers": server, "group.id": own_group})
        await_broker(config)
        run = ConsumerRun(lambda worker: config, _subscription(topic, include), timeout_ms, call, interval_s)
        details = kafka_lines.ConsumerDetails(date_format)

        def on_window(window: Window) -> None:
            elapsed_s = window.ended_s - window.began_s
            if show_detailed_stats and is_table and elapsed_s >= interval_s * FULL_INTERVAL:
                click.echo(details.line(window.worker, window.all, elapsed_s, window.rebalance_s))

        def work(share: Share, emit: Emit) -> None:
            ConsumerPerformance(run, share, emit).work()

        outcome = measuring.run(f"reading {topic or include} at {server}", work, messages, -1.0, on_window)
        if outcome.total.records < messages and measuring.against is not None:
            raise _incomplete(outcome)
        return outcome

    def _incomplete(outcome: Outcome) -> UnreachableFailure:
        return UnreachableFailure(
            f"topic {topic or include}: read {outcome.total.records} of {messages} records, then none for "
            f"{timeout_ms} ms. Wait longer with --timeout"
        )

    def print_result(outcome: Outcome) -> None:
        if outcome.total.records < messages:
            click.echo(kafka_lines.consumer_timeout(timeout_ms))
        if not show_detailed_stats:
            click.echo(kafka_lines.consumer_result(outcome, date_format))
        if print_metrics:
            for line in kafka_lines.metrics_table(kafka_lines.consumer_metrics(outcome, settings["client.id"])):
                click.echo(line)

    if is_table and not hide_header:
        click.echo(kafka_lines.DETAILS_HEADER if show_detailed_stats else kafka_lines.SUMMARY_HEADER)
    outcome = measuring.present(server, measure, print_result)
    if outcome is not None and outcome.total.records < messages:
        raise _incomplete(outcome)


def _new_group() -> str:
    import random

    return f"perf-consumer-{random.randrange(100_000)}"


def _subscription(topic: str | None, include: str | None) -> str | re.Pattern[str]:
    import re

    if include is None:
        assert topic is not None
        return topic
    try:
        return re.compile(include)
    except re.error as error:
        raise click.UsageError(f"--include {include!r}: invalid regular expression ({error})") from None
