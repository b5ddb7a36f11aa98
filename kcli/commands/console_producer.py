"""`kcli console-producer`: like kafka-console-producer, sends each line of standard input as a record."""

from __future__ import annotations

import sys
from functools import partial

import click

from kcli.broker_connection import BrokerWatch, await_broker, wait_options
from kcli.command import Command
from kcli.completion import complete_topics
from kcli.failures import Failure, complain, raise_failures
from kcli.options import bootstrap_server_option
from kcli.output import JSON, JSON_LINES
from kcli.properties import parse_properties, read_properties
from kcli.ranges import IntegerRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.console.interruption import Interruption
    from kcli.console.json_records import JsonReader
    from kcli.console.line_reader import LineReader
    from kcli.console.record_sender import RecordSender

LINES = "lines"
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
# Options of Kafka's tool that set a producer configuration.
CONFIGURATION_OF = {
    "compression_codec": "compression.type",
    "request_required_acks": "acks",
    "batch_size": "batch.size",
    "max_partition_memory_bytes": "batch.size",
    "linger_ms": "linger.ms",
    "max_block_ms": "max.block.ms",
    "request_timeout_ms": "request.timeout.ms",
    "max_memory_bytes": "buffer.memory",
    "message_send_max_retries": "retries",
    "retry_backoff_ms": "retry.backoff.ms",
    "metadata_expiry_ms": "metadata.max.age.ms",
    "socket_buffer_size": "send.buffer.bytes",
}
INTERRUPTED_CLOSE_S = 5.0


@click.command(
    "console-producer",
    cls=Command,
    examples="""
    # Send one record
    echo hello | kcli console-producer orders
    # Send lines with a key and a value, separated by a colon
    kcli console-producer orders --property parse.key=true --property key.separator=: <orders.txt
    # Copy all records of a topic, with keys, headers and timestamps
    kcli console-consumer orders --exit-at-end -o json | kcli console-producer -i json orders-copy
    """,
)
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="Topic to write to.")
@bootstrap_server_option
@click.option(
    "-i",
    "--input",
    "input_form",
    type=click.Choice([LINES, JSON, JSON_LINES]),
    default=LINES,
    show_default=True,
    help="Input format: Kafka's lines, or one JSON object per line, as printed by `console-consumer -o json`; key, "
    "value, headers and timestamp are sent.",
)
@wait_options
@click.option("--keep-partitions", is_flag=True, help="Send each record to its own partition. Needs -i json.")
@click.option("--partition", type=IntegerRange(min=0), metavar="N", help="Partition for all records.")
@click.option(
    "--property",
    "--reader-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="Property of Kafka's input format: parse.key, key.separator, parse.headers, headers.delimiter, "
    "headers.separator, headers.key.separator, null.marker, ignore.error. May be repeated.",
)
@click.option("--reader-config", metavar="FILE", help="File of such properties.")
@click.option("--line-reader", metavar="CLASS", hidden=True)
@click.option(
    "--producer-property",
    "--command-property",
    "producer_properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="Producer configuration. May be repeated.",
)
@click.option(
    "--producer.config", "--command-config", "producer_config", metavar="FILE", help="Properties file of the producer."
)
@click.option("--sync", is_flag=True, help="Wait for the acknowledgement of each record before sending the next one.")
@click.option(
    "--compression-codec",
    type=click.Choice(CODECS),
    is_flag=False,
    flag_value="gzip",
    help="Compression of batches. Default: none; gzip if the option has no value.",
)
@click.option("--request-required-acks", metavar="all|-1|1|0", help="Required acknowledgements. Default: all.")
@click.option("--batch-size", type=int, metavar="BYTES", help="Maximum size of a batch, in bytes. Default: 16384.")
@click.option("--max-partition-memory-bytes", type=int, hidden=True)
@click.option(
    "--timeout",
    "linger_ms",
    type=int,
    metavar="MS",
    help="Time to wait for more records, in ms. Default: 0.",
)
@click.option(
    "--max-block-ms", type=int, metavar="MS", help="Maximum wait for space in the send buffer, in ms. Default: 60000."
)
@click.option("--request-timeout-ms", type=int, metavar="MS", help="Timeout of a request, in ms. Default: 30000.")
@click.option("--max-memory-bytes", type=int, metavar="BYTES", help="Send buffer, in bytes. Default: 33554432.")
@click.option(
    "--message-send-max-retries", type=int, metavar="N", help="Number of retries. Default: until delivery.timeout.ms."
)
@click.option("--retry-backoff-ms", type=int, metavar="MS", help="Wait before the first retry, in ms. Default: 100.")
@click.option("--metadata-expiry-ms", type=int, metavar="MS", help="Maximum age of metadata, in ms. Default: 300000.")
@click.option(
    "--socket-buffer-size",
    type=int,
    metavar="BYTES",
    help="Socket send buffer, in bytes. Default: the kernel's.",
)
def command(
    topic_argument: str | None,
    topic: str | None,
    bootstrap_server: str,
    input_form: str,
    keep_partitions: bool,
    partition: int | None,
    properties: tuple[str, ...],
    reader_config: str | None,
    line_reader: str | None,
    producer_properties: tuple[str, ...],
    producer_config: str | None,
    sync: bool,
    **configurations: Any,
) -> int:
    """Send lines of standard input to a topic.

    Exits when all records are acknowledged. Undelivered records are reported on stderr with their line numbers, and
    the exit code is 1. Ctrl-C and SIGTERM end it after the lines that were read are sent. The last line needs no line
    feed.
    """
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.client_properties import producer_config as config_of
    from kcli.console.interruption import Interrupted, Interruption
    from kcli.console.record_sender import RecordSender
    from kcli.topic_selection import one_of
    from kcore.client.producer import Producer

    name = one_of(topic_argument, topic)
    if name is None:
        raise click.UsageError("Missing option '--topic'.")
    reader_properties = {**read_properties(reader_config), **parse_properties(properties, "--property")}
    reader = _reader(input_form, reader_properties, line_reader, keep_partitions=keep_partitions)
    settings = gather(producer_config, producer_properties, "--producer-property")
    settings.update({CONFIGURATION_OF[o]: str(value) for o, value in configurations.items() if value is not None})
    config = config_of(with_bootstrap_servers({"client.id": "console-producer", **settings}, bootstrap_server))
    await_broker(config)
    lost = (
        f"Records are sent after reconnecting, or fail after {config['delivery.timeout.ms']} ms (delivery.timeout.ms)."
    )
    with Interruption() as interruption:
        producer = Producer(config)
        watch = BrokerWatch(producer.connection_states, lost)
        sender = RecordSender(producer, name, partition=partition, is_sync=sync)
        with watch:
            try:
                interruption.blocking(lambda: producer.partitions_for(name))
                failure = send_lines(sender, reader, interruption)
                interruption.blocking(producer.close)
            except Interrupted:
                failure = None
                producer.close(INTERRUPTED_CLOSE_S)
            except BaseException:
                producer.close(0)
                raise
    return _account(name, sender, failure, interruption.exit_code)


def _account(topic: str, sender: RecordSender, failure: Exception | None, interrupted: int) -> int:
    """The exit code, or a Failure if records are lost and the user did not interrupt."""
    lost = sender.unaccounted
    if lost:
        complain(f"topic {topic}: {lost} records were not acknowledged; they may be delivered or not")
    if interrupted:
        return interrupted
    if sender.failed or lost:
        undelivered = Failure(f"topic {topic}: {sender.failed + lost} of {sender.sent} records were not delivered")
        raise_failures([undelivered] if failure is None else [failure, undelivered])
    if failure is not None:
        raise failure
    return interrupted


def _reader(
    form: str, properties: dict[str, str], line_reader: str | None, *, keep_partitions: bool
) -> LineReader | JsonReader:
    from kcli.console.line_reader import READER_CLASSES, LineReader, is_true, refuse_unknown
    from kcli.failures import UsageFailure

    if line_reader is not None and line_reader not in READER_CLASSES:
        raise UsageFailure(f"--line-reader {line_reader}: Java classes cannot run here. Supported: {READER_CLASSES[0]}")
    if form == LINES:
        if keep_partitions:
            raise UsageFailure("--keep-partitions needs -i json: plain lines have no partition")
        return LineReader(properties)
    from kcli.console.json_records import JsonReader

    refuse_unknown(properties, ("ignore.error",), "--property")
    return JsonReader(keep_partitions=keep_partitions, ignore_error=is_true(properties, "ignore.error"))


def send_lines(sender: RecordSender, reader: LineReader | JsonReader, interruption: Interruption) -> Exception | None:
    """Sends standard input up to the first invalid line, and returns what is wrong with that line.

    Raises Interrupted when a signal arrives while this waits for input or for space in the send buffer.
    """
    from kcli.console.input_lines import read_lines

    prompt = ">" if sys.stdin.isatty() else ""
    number = 1
    for lines in read_lines(sys.stdin.fileno(), prompt, interruption.blocking):
        batch = reader.read(lines, number)
        number += len(lines)
        interruption.finishing(partial(sender.send, batch))
        if batch.failure is not None:
            return batch.failure
    return None
