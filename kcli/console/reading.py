"""What console-consumer reads, and the consumer that reads it until a signal or a bound."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from kcli.broker_connection import BrokerWatch, connect_to_broker
from kcli.console.interruption import Interruption
from kcli.console.output_stream import OutputStream
from kcli.console.read_range import ReadRange
from kcli.console.record_printer import RecordPrinter
from kcli.failures import Failure, complain
from kcore import errors
from kcore.client.consumer.consumer import Consumer
from kcore.client.errors import UnknownPartition
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.console.record_filter import Filter
    from kcli.console.record_printer import Formatter
    from kcore.client.cluster_client import ClusterClient
    from kcore.client.config.client_config import ConsumerConfig

EARLIEST = "earliest"
LOST = "Reading continues after reconnecting."


class Start(NamedTuple):
    """What to read (a topic, or a pattern of topics) and the bounds of reading."""

    topic: str | None
    include: str | None
    partition: int | None
    # An offset, `earliest` or `latest` in the partition; None means `latest`.
    offset: int | str | None
    from_ms: int | None
    to_ms: int | None
    exit_at_end: bool

    @property
    def is_bounded(self) -> bool:
        return self.exit_at_end or self.to_ms is not None


def find_partitions(config: ConsumerConfig, start: Start) -> list[TopicPartition]:
    """The partitions of the topic, or the requested one; none for a pattern.

    Checked before the consumer exists, because consumers wait forever for brokers and topics.
    """
    with connect_to_broker(config) as client:
        if start.topic is None:
            _check_pattern(client, config, start)
            return []
        partitions = client.partitions_of(start.topic)
    if start.partition is None:
        return [TopicPartition(start.topic, partition) for partition in partitions]
    if start.partition not in partitions:
        raise UnknownPartition(start.topic, start.partition, len(partitions))
    return [TopicPartition(start.topic, start.partition)]


def _check_pattern(client: ClusterClient, config: ConsumerConfig, start: Start) -> None:
    """A pattern without a topic: a failure if reading ends, a warning if it goes on until there is one."""
    import re

    from kcore.client.admin.topics import TopicAdmin

    assert start.include is not None
    pattern = re.compile(start.include)
    skips_internal = config["exclude.internal.topics"]
    topics = TopicAdmin(client).list_topics()
    if any(pattern.fullmatch(topic.name) for topic in topics if not (skips_internal and topic.is_internal)):
        return
    missing = f"no topic matches --include {start.include}"
    if start.is_bounded:
        raise Failure(f"{missing}. List the topics with: kcli topics list")
    complain(f"warning: {missing}. Waiting for one")


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
    """Prints records until a bound or a signal, and returns the exit code. Always prints the number of records."""
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
                    report=complain,
                )
                try:
                    printer.run(lambda: _begin(consumer, start, partitions, read_range))
                except errors.CorruptMessageError as error:
                    error.add_note("to skip the batch, pass --partition N and --offset with an offset after it")
                    raise
                # The wakeup must not interrupt the close.
                consumer.forget_wakeup()
            return interruption.exit_code
    finally:
        count = 0 if printer is None else printer.count
        click.echo(f"Processed a total of {count} messages", err=True)


def _begin(consumer: Consumer, start: Start, partitions: list[TopicPartition], read_range: ReadRange) -> None:
    """Subscribes as a member of the group, or assigns the partitions."""
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
