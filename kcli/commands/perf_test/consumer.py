"""`kcli perf-test consumer`: what kafka-consumer-perf-test does."""

from __future__ import annotations

import click

from kcli.commands.perf_test.options import measuring_options
from kcli.completion import complete_topics
from kcli.failures import UnreachableFailure
from kcli.output import TABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from kcli.performance.outcome import Outcome
    from kcli.performance.tally import Window
    from kcli.performance.workers import Emit, Share

DATE_FORMAT = "yyyy-MM-dd HH:mm:ss:SSS"
POLL, POLL_COLUMNS, POLL_ARROW = "poll", "poll_columns", "poll_arrow"


@click.command("consumer")
@click.option("--topic", shell_complete=complete_topics, help="The topic to read.")
@click.option("--include", metavar="REGEX", help="Read all topics whose names match.")
@click.option(
    "--messages", "--num-records", type=click.IntRange(min=1), required=True, help="How many records to read."
)
@click.option("--group", metavar="ID", help="Read as a member of this group. Default: perf-consumer- and a number.")
@click.option(
    "--fetch-size", type=click.IntRange(min=1), default=1_048_576, show_default=True, help="Bytes a partition."
)
@click.option("--from-latest", is_flag=True, help="Start at the end where the group has no offset.")
@click.option(
    "--timeout", "timeout_ms", type=click.IntRange(min=0), default=10_000, show_default=True, help="ms to wait."
)
@click.option("--show-detailed-stats", is_flag=True, help="Print a line every --reporting-interval.")
@click.option("--hide-header", is_flag=True, help="Leave out the line that names the columns.")
@click.option("--date-format", default=DATE_FORMAT, show_default=True, help="In SimpleDateFormat's letters.")
@click.option(
    "--call",
    type=click.Choice([POLL_COLUMNS, POLL_ARROW, POLL]),
    default=POLL_COLUMNS,
    show_default=True,
    help="Take fetches as columns, or an object a record.",
)
@click.option("--command-property", "properties", multiple=True, metavar="NAME=VALUE", help="A property.")
@click.option(
    "--consumer.config",
    "--command-config",
    "config_file",
    metavar="FILE",
    help="A file with properties of the consumer.",
)
@click.option("--socket-buffer-size", type=int, help="Bytes of receive.buffer.bytes. Default: the system's.")
@click.option("--num-fetch-threads", type=int, hidden=True)
@click.option("--print-metrics", is_flag=True, help="Print what the tool has counted under Kafka's names.")
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

    Several clients read as members of one group, until together they have read so many. The latencies of JSON are those
    of calls that brought records. Checksums are checked, as check.crcs says.
    """
    from kcli.broker_connection import await_broker
    from kcli.client_properties import consumer_config, gather, with_bootstrap_servers
    from kcli.performance import kafka_lines
    from kcli.performance.consumer_performance import ConsumerPerformance, ConsumerRun
    from kcli.performance.measuring import FULL_INTERVAL, Measuring

    if (topic is None) == (include is None):
        raise click.UsageError("Give exactly one of --topic and --include.")
    measuring = Measuring(warm_up_records=warmup_records, **measuring_given)
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
            f"topic {topic or include}: {outcome.total.records} of {messages} records, then none for {timeout_ms} ms; "
            "wait longer with --timeout"
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
        raise click.UsageError(f"--include {include!r}: no regular expression ({error})") from None
