"""`kcli console-producer`: what kafka-console-producer does. Every line of standard input becomes a record."""

from __future__ import annotations

import sys

import click

from kcli.failures import Failure
from kcli.options import bootstrap_server_option
from kcli.properties import parse_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.client.producer import Producer

MAX_PRINTED_ERRORS = 10
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@click.command("console-producer")
@click.argument("topic_argument", metavar="[TOPIC]", required=False)
@click.option("--topic", metavar="TOPIC", help="The topic to send to.")
@bootstrap_server_option
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="How lines are read: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
    "headers.key.separator, null.marker, ignore.error.",
)
@click.option("--reader-property", "properties", multiple=True, hidden=True)
@click.option("--producer-property", "producer_properties", multiple=True, metavar="NAME=VALUE", help="As in Kafka.")
@click.option("--producer.config", "producer_config", metavar="FILE", help="Properties of the producer.")
@click.option("--compression-codec", type=click.Choice(CODECS), is_flag=False, flag_value="gzip", help="Default: none.")
@click.option("--request-required-acks", metavar="all|1|0", help="Default: all.")
@click.option("--batch-size", type=int, help="Bytes of a batch.")
@click.option("--timeout", "linger_ms", type=int, help="Milliseconds for which a batch may wait for more records.")
@click.option("--max-block-ms", type=int, help="Milliseconds to wait for room in the send buffer.")
@click.option("--request-timeout-ms", type=int, help="Milliseconds to wait for an answer.")
@click.option("--max-memory-bytes", type=int, help="Bytes of the send buffer.")
@click.option("--sync", is_flag=True, help="Wait for each record's acknowledgement before the next one is sent.")
@click.option("--partition", type=click.IntRange(min=0), help="Send everything to this partition.")
def command(
    topic_argument: str | None,
    topic: str | None,
    bootstrap_server: str,
    properties: tuple[str, ...],
    producer_properties: tuple[str, ...],
    producer_config: str | None,
    compression_codec: str | None,
    request_required_acks: str | None,
    batch_size: int | None,
    linger_ms: int | None,
    max_block_ms: int | None,
    request_timeout_ms: int | None,
    max_memory_bytes: int | None,
    sync: bool,
    partition: int | None,
) -> None:
    """Send lines of standard input to a topic.

    Returns when everything is acknowledged; what could not be delivered is told on standard error, and makes the exit
    code 1.
    """
    from kcli.client_properties import gather, producer_options
    from kcli.line_reader import LineReader
    from kcore.client.producer import Producer

    name = topic or topic_argument
    if name is None:
        raise click.UsageError("Missing option '--topic'.")
    reader = LineReader(parse_properties(properties, "--property"))
    settings = gather(producer_config, producer_properties, "--producer-property")
    stated = {
        "compression.type": compression_codec,
        "acks": request_required_acks,
        "batch.size": batch_size,
        "linger.ms": linger_ms,
        "max.block.ms": max_block_ms,
        "request.timeout.ms": request_timeout_ms,
        "buffer.memory": max_memory_bytes,
    }
    settings.update({key: str(value) for key, value in stated.items() if value is not None})
    options: dict[str, Any] = {"client_id": "console-producer", **producer_options(settings)}
    options.setdefault("bootstrap_servers", bootstrap_server)
    deliveries = Deliveries()
    with Producer(**options) as producer:
        producer.partitions_for(name)
        send_lines(producer, name, reader, deliveries, partition=partition, sync=sync)
    if deliveries.failed:
        raise Failure(f"topic {name}: {deliveries.failed} of {deliveries.sent} records were not delivered")


class Deliveries:
    """Counts what became of the records, and prints the first few errors."""

    def __init__(self) -> None:
        self.sent = 0
        self.failed = 0

    def on_delivery(self, metadata: object, error: Exception | None) -> None:
        if error is None:
            return
        self.failed += 1
        if self.failed <= MAX_PRINTED_ERRORS:
            click.echo(f"kcli: {error}", err=True)


def send_lines(
    producer: Producer, topic: str, reader: Any, deliveries: Deliveries, *, partition: int | None, sync: bool
) -> None:
    """Gathers batches while lines keep coming, and lets nothing wait when they do not."""
    from kcli.line_reader import read_lines

    prompt = ">" if sys.stdin.isatty() else ""
    number = 0
    for lines, has_more in read_lines(sys.stdin.fileno(), prompt):
        for text in lines:
            number += 1
            line = reader.parse(text, number)
            deliveries.sent += 1
            producer.send(
                topic,
                line.value,
                key=line.key,
                headers=line.headers,
                partition=partition,
                on_delivery=deliveries.on_delivery,
            )
            if sync:
                producer.flush()
        if not has_more:
            producer.flush()
