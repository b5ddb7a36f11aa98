"""`kcli perf-test e2e`: like kafka-e2e-latency."""

from __future__ import annotations

import click

from kcli.command import Command
from kcli.commands.perf_test.options import measuring_options
from kcli.completion import complete_topics
from kcli.output import TABLE
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.performance.outcome import Outcome
    from kcli.performance.workers import Emit, Share
    from kcore.client.config.client_config import ConsumerConfig, ProducerConfig


@click.command(
    "e2e",
    cls=Command,
    examples="""
    # Measure the latency of 10000 records of 100 bytes
    kcli perf-test e2e --topic perf --num-records 10000 --producer-acks all --record-size 100
    # Measure it at 500 records per second, with the acknowledgement of the leader only
    kcli perf-test e2e --topic perf --num-records 9000 --producer-acks 1 --record-size 100 --throughput 500
    """,
)
@click.argument("arguments", metavar="[SERVERS TOPIC RECORDS ACKS SIZE [FILE]]", nargs=-1)
@click.option(
    "--topic",
    metavar="TOPIC",
    shell_complete=complete_topics,
    help="Topic to write to and read from. If it does not exist, it is created with one partition.",
)
@click.option(
    "--num-records", type=IntegerRange(min=1), metavar="N", help="Number of records to send, one after the other."
)
@click.option("--producer-acks", type=click.Choice(["1", "all"]), help="Required acknowledgements.")
@click.option("--record-size", type=IntegerRange(min=1), metavar="BYTES", help="Size of values, in bytes.")
@click.option(
    "--record-key-size",
    type=IntegerRange(min=0),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Size of keys, in bytes; 0: no keys.",
)
@click.option(
    "--num-headers",
    type=IntegerRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Number of headers per record.",
)
@click.option(
    "--record-header-key-size",
    type=IntegerRange(min=0),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Size of header names, in bytes.",
)
@click.option(
    "--record-header-size",
    type=IntegerRange(min=-1),
    default=0,
    show_default=True,
    metavar="BYTES",
    help="Size of header values, in bytes; -1: null.",
)
@click.option(
    "--throughput", type=float, default=-1.0, show_default=True, metavar="N", help="Records per second; -1: no limit."
)
@click.option("--command-config", metavar="FILE", help="Properties file of the clients.")
@measuring_options(workers=False)
def e2e(
    arguments: tuple[str, ...],
    topic: str | None,
    num_records: int | None,
    producer_acks: str | None,
    record_size: int | None,
    record_key_size: int,
    num_headers: int,
    record_header_key_size: int,
    record_header_size: int,
    throughput: float,
    command_config: str | None,
    reporting_interval: int,
    warmup_records: int,
    bootstrap_server: str,
    **measuring_given: Any,
) -> None:
    """Send records one at a time, and measure the time until each is read.

    Pass options, or the arguments of Kafka's tool before 4.2. With --throughput, JSON also has latencies that are
    corrected for coordinated omission.
    """
    from kcli.broker_connection import await_broker
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.performance import kafka_lines
    from kcli.performance.end_to_end import EndToEnd, EndToEndRun
    from kcli.performance.measuring import measuring_of
    from kcli.properties import read_properties

    if arguments:
        if len(arguments) not in (5, 6):
            raise click.UsageError(f"Expected 5 or 6 arguments, but got {len(arguments)}.")
        bootstrap_server, topic, records_text, producer_acks, size_text = arguments[:5]
        num_records, record_size = _number(records_text, "RECORDS"), _number(size_text, "SIZE")
        command_config = arguments[5] if len(arguments) == 6 else command_config
    if topic is None or num_records is None or producer_acks is None or record_size is None:
        raise click.UsageError("Pass --topic, --num-records, --producer-acks and --record-size.")
    if producer_acks not in ("1", "all"):
        raise click.UsageError("Latency testing requires synchronous acknowledgement. Please use 1 or all")
    name, count, acks, size = topic, num_records, producer_acks, record_size
    measuring = measuring_of(warmup_records, **measuring_given)
    # Servers in the arguments do not belong to a context.
    settings = read_properties(command_config) if arguments else gather(command_config, (), "--command-config")
    is_quiet = measuring.output != TABLE or measuring.against is not None or measuring.is_live

    def measure(server: str, number: int) -> Outcome:
        producing, consuming = _end_to_end_configs({**settings, "bootstrap.servers": server}, acks)
        await_broker(consuming)
        _make_topic(server, name, settings)
        run = EndToEndRun(
            lambda worker: producing,
            lambda worker: consuming,
            name,
            size,
            record_key_size,
            num_headers,
            record_header_key_size,
            record_header_size,
            None if is_quiet else lambda number, ns: click.echo(kafka_lines.end_to_end_progress(number, ns)),
            measuring.interval_s(reporting_interval),
        )

        def work(share: Share, emit: Emit) -> None:
            EndToEnd(run, share, emit).work()

        return measuring.run(f"to {name} at {server} and back", work, count, throughput)

    def print_result(outcome: Outcome) -> None:
        tally = outcome.steady if outcome.has_steady_state else outcome.total
        for line in kafka_lines.end_to_end_result(tally.latencies):
            click.echo(line)

    server = bootstrap_server if arguments else with_bootstrap_servers(settings, bootstrap_server)["bootstrap.servers"]
    measuring.present(server, measure, print_result)


def _number(text: str, name: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise click.UsageError(f"{name} {text!r}: must be a whole number of at least 1.")
    return int(text)


def _end_to_end_configs(settings: dict[str, str], acks: str) -> tuple[ProducerConfig, ConsumerConfig]:
    """No batching delays: no linger, and fetches return as soon as there is a record."""
    from kcore.client.config.client_config import ConsumerConfig, ProducerConfig

    producing = {name: value for name, value in settings.items() if name in ProducerConfig.KEYS}
    consuming = {name: value for name, value in settings.items() if name in ConsumerConfig.KEYS}
    return (
        ProducerConfig({**producing, "linger.ms": "0", "acks": acks, "enable.idempotence": str(acks == "all").lower()}),
        ConsumerConfig({**consuming, "enable.auto.commit": "false", "auto.offset.reset": "latest"}),
    )


def _make_topic(server: str, topic: str, settings: dict[str, str]) -> None:
    """Creates the topic if it does not exist, and says so."""
    from kcli.options import connect
    from kcli.performance import kafka_lines
    from kcore.client.admin.results import raise_first
    from kcore.client.admin.topics import NewTopic, TopicAdmin

    with connect(server, settings) as client:
        admin = TopicAdmin(client)
        if all(found.name != topic for found in admin.list_topics()):
            click.echo(kafka_lines.topic_notice(topic), err=False)
            raise_first(admin.create_topics([NewTopic(topic, 1, 1)]))
