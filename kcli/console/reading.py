"""What console-consumer reads, and the consumer that reads it until it is told to end."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from kcli.broker_connection import BrokerWatch, connect_to_broker
from kcli.console.interruption import Interruption
from kcli.console.output_stream import OutputStream
from kcli.console.read_range import ReadRange
from kcli.console.record_printer import RecordPrinter
from kcore.client.consumer.consumer import Consumer
from kcore.client.errors import UnknownPartition
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.console.record_filter import Filter
    from kcli.console.record_printer import Formatter
    from kcore.client.config.client_config import ConsumerConfig

EARLIEST = "earliest"
LOST = "Reading goes on when it is back."


class Start(NamedTuple):
    """What is read, and where reading begins and ends; a topic, or a pattern of topics."""

    topic: str | None
    include: str | None
    partition: int | None
    # In the partition: a number, `earliest`, or `latest`, which None is too.
    offset: int | str | None
    from_ms: int | None
    to_ms: int | None
    exit_at_end: bool

    @property
    def is_bounded(self) -> bool:
        return self.exit_at_end or self.to_ms is not None


def find_partitions(config: ConsumerConfig, start: Start) -> list[TopicPartition]:
    """The partitions of the topic, of which one may be asked for; none for a pattern.

    The cluster is asked before there is a consumer, which would look for brokers and topics for ever.
    """
    with connect_to_broker(config) as client:
        if start.topic is None:
            return []
        partitions = client.partitions_of(start.topic)
    if start.partition is None:
        return [TopicPartition(start.topic, partition) for partition in partitions]
    if start.partition not in partitions:
        raise UnknownPartition(start.topic, start.partition, len(partitions))
    return [TopicPartition(start.topic, start.partition)]


def read(
    config: ConsumerConfig,
    start: Start,
    partitions: list[TopicPartition],
    formatter: Formatter,
    *,
    matches: Filter | None,
    max_messages: int | None,
    timeout_ms: int | None,
    skips_errors: bool,
) -> int:
    """Prints until the end that was asked for, or a signal; the exit code. How many records is told in any case."""
    consumer = Consumer(config)
    printer: RecordPrinter | None = None
    try:
        with Interruption(consumer.wakeup) as interruption:
            with BrokerWatch(consumer.connection_states, LOST), consumer:
                read_range = ReadRange(consumer, start.from_ms, start.to_ms, ends=start.is_bounded)
                printer = RecordPrinter(
                    consumer,
                    formatter,
                    OutputStream(sys.stdout.fileno(), interruption),
                    read_range,
                    matches=matches,
                    max_messages=max_messages,
                    timeout_ms=timeout_ms,
                    skips_errors=skips_errors,
                    tell=lambda line: click.echo(line, err=True),
                )
                printer.run(lambda: _begin(consumer, start, partitions, read_range))
                # What woke the printer is not to end the goodbye.
                consumer.forget_wakeup()
            return interruption.exit_code
    finally:
        count = 0 if printer is None else printer.count
        click.echo(f"Processed a total of {count} messages", err=True)


def _begin(consumer: Consumer, start: Start, partitions: list[TopicPartition], read_range: ReadRange) -> None:
    """Has the consumer read as a member of its group, or these partitions."""
    if consumer.config["group.id"] is None:
        consumer.assign(partitions)
        if start.partition is not None and start.from_ms is None:
            _seek(consumer, partitions[0], start.offset)
        read_range.begin(partitions)
    elif start.include is not None:
        import re

        consumer.subscribe(re.compile(start.include), read_range)
    else:
        assert start.topic is not None
        consumer.subscribe([start.topic], read_range)


def _seek(consumer: Consumer, partition: TopicPartition, offset: int | str | None) -> None:
    if isinstance(offset, int):
        consumer.seek(partition, offset)
    elif offset == EARLIEST:
        consumer.seek_to_beginning([partition])
    else:
        consumer.seek_to_end([partition])
