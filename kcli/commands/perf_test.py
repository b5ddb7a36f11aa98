"""`kcli perf-test producer|consumer`: what kafka-producer-perf-test and kafka-consumer-perf-test do."""

from __future__ import annotations

import click

from kcli.failures import Failure, UnreachableFailure, UsageFailure
from kcli.options import bootstrap_server_option
from kcli.output import TABLE, output_option, write_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.performance.producer_performance import FilePayloads, MonotonicPayloads, RandomPayloads

DEFAULT_BATCH_SIZE = 16_384
DATE_FORMAT = "yyyy-MM-dd HH:mm:ss:SSS"


@click.group("perf-test")
def command() -> None:
    """Measure how fast a cluster is written and read."""


@command.command("producer")
@click.option("--topic", required=True, help="The topic to write to.")
@click.option("--num-records", type=click.IntRange(min=1), required=True, help="How many records to send.")
@click.option("--record-size", type=click.IntRange(min=0), help="Bytes of a record; random letters.")
@click.option("--payload-file", metavar="FILE", help="Take records at random from the lines of this file.")
@click.option("--payload-delimiter", default="\\n", show_default=True, help="What stands between the file's records.")
@click.option("--payload-monotonic", is_flag=True, help="Send the numbers from 0 on, as text.")
@click.option("--throughput", type=float, default=-1.0, show_default=True, help="Records a second; -1: no limit.")
@click.option("--producer-props", "first_property", metavar="NAME=VALUE...", help="Properties of the producer.")
@click.argument("more_properties", metavar="", nargs=-1)
@click.option("--producer.config", "producer_config", metavar="FILE", help="A file with properties of the producer.")
@click.option("--print-metrics", is_flag=True, hidden=True)
@bootstrap_server_option
@output_option
def producer(
    topic: str,
    num_records: int,
    record_size: int | None,
    payload_file: str | None,
    payload_delimiter: str,
    payload_monotonic: bool,
    throughput: float,
    first_property: str | None,
    more_properties: tuple[str, ...],
    producer_config: str | None,
    print_metrics: bool,
    bootstrap_server: str,
    output: str,
) -> None:
    """Send records and measure throughput and latency.

    Progress goes to standard error every five seconds, the summary to standard output: Kafka's line, or with -o json
    one object. MB are 2^20 bytes of values. Records are handed to the producer a whole batch at a time.
    """
    from kcli.client_properties import gather, producer_options
    from kcli.performance.producer_performance import ProducerPerformance
    from kcore.client.producer import Producer

    payloads = _payloads(record_size, payload_file, payload_delimiter, payload_monotonic)
    if more_properties and first_property is None:
        raise click.UsageError(f"Got unexpected extra argument ({more_properties[0]})")
    pairs = (*((first_property,) if first_property else ()), *more_properties)
    settings = gather(producer_config, pairs, "--producer-props")
    options: dict[str, Any] = {"client_id": "perf-producer-client", **producer_options(settings)}
    options.setdefault("bootstrap_servers", bootstrap_server)
    with Producer(**options) as client:
        run = ProducerPerformance(
            client,
            topic,
            payloads,
            batch_size=options.get("batch_size", DEFAULT_BATCH_SIZE),
            throughput=throughput,
            report=lambda line: click.echo(line, err=True),
        )
        run.run(num_records)
    if output == TABLE:
        click.echo(run.summary_line())
    else:
        write_object(run.summary())
    if run.failures:
        raise Failure(f"topic {topic}: not everything was delivered: {run.failures[0]}")


def _payloads(
    record_size: int | None, payload_file: str | None, delimiter: str, monotonic: bool
) -> RandomPayloads | FilePayloads | MonotonicPayloads:
    from kcli.performance.producer_performance import FilePayloads, MonotonicPayloads, RandomPayloads

    if sum((record_size is not None, payload_file is not None, monotonic)) != 1:
        raise click.UsageError("Give exactly one of --record-size, --payload-file and --payload-monotonic.")
    if record_size is not None:
        return RandomPayloads(record_size)
    if payload_file is None:
        return MonotonicPayloads()
    separator = delimiter.encode().decode("unicode_escape").encode()
    with open(payload_file, "rb") as file:
        payloads = [part for part in file.read().split(separator) if part]
    if not payloads:
        raise UsageFailure(f"--payload-file {payload_file}: holds no record")
    return FilePayloads(payloads)


@command.command("consumer")
@click.option("--topic", required=True, help="The topic to read.")
@click.option("--messages", type=click.IntRange(min=1), required=True, help="How many records to read.")
@click.option("--group", metavar="ID", help="Read as a member of this group. Default: without a group.")
@click.option(
    "--fetch-size", type=click.IntRange(min=1), default=1_048_576, show_default=True, help="Bytes a partition."
)
@click.option("--from-latest", is_flag=True, help="Start at the end where the group has no offset.")
@click.option(
    "--timeout", "timeout_ms", type=click.IntRange(min=0), default=10_000, show_default=True, help="ms to wait."
)
@click.option("--reporting-interval", type=click.IntRange(min=1), default=5_000, show_default=True, help="In ms.")
@click.option("--show-detailed-stats", is_flag=True, help="Print a line every --reporting-interval.")
@click.option("--hide-header", is_flag=True, help="Leave out the line that names the columns.")
@click.option("--date-format", default=DATE_FORMAT, show_default=True, help="In SimpleDateFormat's letters.")
@click.option("--consumer.config", "consumer_config", metavar="FILE", help="A file with properties of the consumer.")
@click.option("--socket-buffer-size", type=int, hidden=True)
@click.option("--threads", type=int, hidden=True)
@click.option("--num-fetch-threads", type=int, hidden=True)
@click.option("--print-metrics", is_flag=True, hidden=True)
@bootstrap_server_option
@output_option
def consumer(
    topic: str,
    messages: int,
    group: str | None,
    fetch_size: int,
    from_latest: bool,
    timeout_ms: int,
    reporting_interval: int,
    show_detailed_stats: bool,
    hide_header: bool,
    date_format: str,
    consumer_config: str | None,
    socket_buffer_size: int | None,
    threads: int | None,
    num_fetch_threads: int | None,
    print_metrics: bool,
    bootstrap_server: str,
    output: str,
) -> None:
    """Read records and measure throughput.

    The summary goes to standard output: Kafka's lines, or with -o json one object, whose latencies are those of polls.
    MB are 2^20 bytes of keys and values.
    """
    from kcli.client_properties import consumer_options, gather
    from kcli.performance.consumer_performance import DETAILS_HEADER, SUMMARY_HEADER, ConsumerPerformance
    from kcore.client.cluster import TopicPartition
    from kcore.client.consumer import Consumer

    settings = gather(consumer_config, (), "--consumer.config")
    options: dict[str, Any] = {"client_id": "perf-consumer-client", **consumer_options(settings)}
    options.setdefault("bootstrap_servers", bootstrap_server)
    options["max_partition_fetch_bytes"] = fetch_size
    options["auto_offset_reset"] = "latest" if from_latest else "earliest"
    if group is not None:
        options["group_id"] = group
    is_table = output == TABLE
    with Consumer(**options) as client:
        partitions = client.client.partitions_of(topic)
        if "group_id" in options:
            client.subscribe([topic])
        else:
            client.assign([TopicPartition(topic, partition) for partition in partitions])
        run = ConsumerPerformance(
            client,
            date_format=date_format,
            report=click.echo if show_detailed_stats and is_table else None,
            reporting_interval_ms=reporting_interval,
        )
        if is_table and not hide_header:
            click.echo(DETAILS_HEADER if show_detailed_stats else SUMMARY_HEADER)
        is_complete = run.run(messages, timeout_ms)
    if not is_table:
        write_object(run.summary())
    elif not show_detailed_stats:
        click.echo(run.summary_line())
    if not is_complete:
        raise UnreachableFailure(
            f"topic {topic}: {run.records} of {messages} records, then none for {timeout_ms} ms; "
            "wait longer with --timeout"
        )
