"""`kcli console-consumer`: what kafka-console-consumer does. Every record becomes a line of standard output."""

from __future__ import annotations

import sys
import time

import click

from kcli.failures import UnreachableFailure, UsageFailure
from kcli.options import bootstrap_server_option
from kcli.output import JSON_LINES, TABLE, to_json
from kcli.properties import parse_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.record_formatter import RecordFormatter
    from kcore.client.consumer import Consumer

POLL_MS = 500.0
MAX_OFFSET = 2**63 - 1


@click.command("console-consumer")
@click.argument("topic_argument", metavar="[TOPIC]", required=False)
@click.option("--topic", metavar="TOPIC", help="The topic to read.")
@bootstrap_server_option
@click.option("--from-beginning", is_flag=True, help="Start at the earliest record where the group has no offset.")
@click.option("--partition", type=click.IntRange(min=0), help="Read only this partition.")
@click.option("--offset", metavar="N|earliest|latest", help="Where to start in --partition. Default: latest.")
@click.option("--group", metavar="ID", help="Read as a member of this consumer group, and commit its offsets.")
@click.option("--max-messages", type=click.IntRange(min=1), help="End after so many records.")
@click.option("--timeout-ms", type=click.IntRange(min=0), help="End when no record comes for so long.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="What is printed: print.timestamp, print.partition, print.offset, print.headers, print.key, print.value, "
    "key.separator, line.separator, headers.separator, null.literal.",
)
@click.option("--isolation-level", type=click.Choice(["read_uncommitted", "read_committed"]), help="As in Kafka.")
@click.option("--consumer-property", "consumer_properties", multiple=True, metavar="NAME=VALUE", help="As in Kafka.")
@click.option("--consumer.config", "consumer_config", metavar="FILE", help="Properties of the consumer.")
@click.option("--skip-message-on-error", is_flag=True, hidden=True)
@click.option(
    "-o",
    "--output",
    type=click.Choice([TABLE, JSON_LINES]),
    default=TABLE,
    show_default=True,
    help="Kafka's lines, or one JSON object a record.",
)
def command(
    topic_argument: str | None,
    topic: str | None,
    bootstrap_server: str,
    from_beginning: bool,
    partition: int | None,
    offset: str | None,
    group: str | None,
    max_messages: int | None,
    timeout_ms: int | None,
    properties: tuple[str, ...],
    isolation_level: str | None,
    consumer_properties: tuple[str, ...],
    consumer_config: str | None,
    skip_message_on_error: bool,
    output: str,
) -> None:
    """Print the records of a topic.

    Runs until it is interrupted, unless --max-messages or --timeout-ms ends it. Both together mean that so many
    records are expected: when they do not come in time the exit code is 3.
    """
    from kcli.client_properties import consumer_options, gather
    from kcli.record_formatter import RecordFormatter
    from kcore.client.consumer import Consumer

    name = topic or topic_argument
    if name is None:
        raise click.UsageError("Missing option '--topic'.")
    if offset is not None and partition is None:
        raise UsageFailure("--offset: needs --partition too, since offsets count within one")
    if partition is not None and group is not None:
        raise UsageFailure("--partition and --group: a group's members are given their partitions; leave one out")
    if group == "":
        raise UsageFailure("--group: the name is empty; leave the option out to read without a group")
    settings = gather(consumer_config, consumer_properties, "--consumer-property")
    if isolation_level is not None:
        settings["isolation.level"] = isolation_level
    if group is not None:
        settings["group.id"] = group
    if from_beginning:
        settings["auto.offset.reset"] = "earliest"
    options: dict[str, Any] = {"client_id": "console-consumer", **consumer_options(settings)}
    options.setdefault("bootstrap_servers", bootstrap_server)
    formatter = RecordFormatter(parse_properties(properties, "--property"))
    printer = Printer(formatter, output, max_messages)
    try:
        with Consumer(**options) as consumer:
            start(consumer, name, partition, offset, "group_id" in options)
            printer.run(consumer, timeout_ms)
    finally:
        click.echo(f"Processed a total of {printer.count} messages", err=True)
    if max_messages is not None and printer.count < max_messages:
        raise UnreachableFailure(f"topic {name}: {printer.count} of {max_messages} records within {timeout_ms} ms")


def start(consumer: Consumer, topic: str, partition: int | None, offset: str | None, in_group: bool) -> None:
    """Chooses what is read: the group's share, one partition, or all of them."""
    from kcore.client.cluster import TopicPartition

    partitions = consumer.client.partitions_of(topic)
    if in_group:
        consumer.subscribe([topic])
        return
    if partition is None:
        consumer.assign([TopicPartition(topic, number) for number in partitions])
        return
    only = TopicPartition(topic, partition)
    consumer.assign([only])
    if offset is not None:
        consumer.seek(only, _offset(consumer, only, offset))


def _offset(consumer: Consumer, partition: Any, text: str) -> int:
    if text == "earliest":
        return consumer.beginning_offsets([partition])[partition]
    if text == "latest":
        return consumer.end_offsets([partition])[partition]
    if not text.isdecimal():
        raise UsageFailure(f"--offset {text!r}: must be a number, earliest or latest")
    if int(text) > MAX_OFFSET:
        raise UsageFailure(f"--offset {text}: must be no more than {MAX_OFFSET}, the largest offset there can be")
    return int(text)


class Printer:
    """Writes what is polled, a whole fetch at a time, until enough came or nothing comes any more."""

    def __init__(self, formatter: RecordFormatter, output: str, max_messages: int | None) -> None:
        self.count = 0
        self._formatter = formatter
        self._output = output
        self._max_messages = max_messages

    def run(self, consumer: Consumer, timeout_ms: int | None) -> None:
        from kcli.record_formatter import record_object

        stdout = sys.stdout.buffer
        last_ms = time.monotonic() * 1000.0
        while self._max_messages is None or self.count < self._max_messages:
            left_ms = POLL_MS if timeout_ms is None else last_ms + timeout_ms - time.monotonic() * 1000.0
            fetched = consumer.poll(max(0.0, min(POLL_MS, left_ms)))
            if fetched is None:
                if left_ms <= 0.0:
                    return
                continue
            last_ms = time.monotonic() * 1000.0
            records = fetched.records
            if self._max_messages is not None and len(records) > self._max_messages - self.count:
                records = records[: self._max_messages - self.count]
                consumer.seek(fetched.partition, records[-1].offset + 1)
            # Counted first: an interrupt may come as soon as the reader has the lines.
            self.count += len(records)
            if self._output == JSON_LINES:
                stdout.write("".join(to_json(record_object(fetched, r)) + "\n" for r in records).encode())
            else:
                stdout.write(self._formatter.lines(fetched, records))
            stdout.flush()
