"""`kcli console-producer`: what kafka-console-producer does. Every line of standard input becomes a record."""

from __future__ import annotations

import sys
from functools import partial

import click

from kcli.broker_connection import BrokerWatch, await_broker, wait_options
from kcli.completion import complete_topics
from kcli.failures import Failure
from kcli.options import bootstrap_server_option
from kcli.output import JSON, JSON_LINES
from kcli.properties import parse_properties, read_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcli.console.interruption import Interruption
    from kcli.console.json_records import JsonReader
    from kcli.console.line_reader import LineReader
    from kcli.console.record_sender import RecordSender

LINES = "lines"
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
# Kafka's options that are a producer's configuration under another name.
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


@click.command("console-producer")
@click.argument("topic_argument", metavar="[TOPIC]", required=False, shell_complete=complete_topics)
@click.option("--topic", metavar="TOPIC", shell_complete=complete_topics, help="The topic to send to.")
@bootstrap_server_option
@click.option(
    "-i",
    "--input",
    "input_form",
    type=click.Choice([LINES, JSON, JSON_LINES]),
    default=LINES,
    show_default=True,
    help="Kafka's lines, or one JSON object a line, as `console-consumer -o json` prints them: key, value, headers and "
    "timestamp are kept.",
)
@wait_options
@click.option("--keep-partitions", is_flag=True, help="With -i json: send each record to the partition that it names.")
@click.option("--partition", type=click.IntRange(min=0), help="Send everything to this partition.")
@click.option(
    "--property",
    "--reader-property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="How lines are read: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
    "headers.key.separator, null.marker, ignore.error.",
)
@click.option("--reader-config", metavar="FILE", help="A file with such properties.")
@click.option("--line-reader", metavar="CLASS", hidden=True)
@click.option(
    "--producer-property",
    "--command-property",
    "producer_properties",
    multiple=True,
    metavar="NAME=VALUE",
    help="A configuration of the producer.",
)
@click.option(
    "--producer.config", "--command-config", "producer_config", metavar="FILE", help="A file with such configurations."
)
@click.option("--sync", is_flag=True, help="Wait for each record's acknowledgement before the next one is sent.")
@click.option("--compression-codec", type=click.Choice(CODECS), is_flag=False, flag_value="gzip", help="Default: none.")
@click.option("--request-required-acks", metavar="all|-1|1|0", help="Default: all.")
@click.option("--batch-size", type=int, help="Bytes of a batch.")
@click.option("--max-partition-memory-bytes", type=int, hidden=True)
@click.option("--timeout", "linger_ms", type=int, help="Milliseconds for which a batch waits for more. Default: none.")
@click.option("--max-block-ms", type=int, help="Milliseconds to wait for room in the send buffer.")
@click.option("--request-timeout-ms", type=int, help="Milliseconds to wait for an answer.")
@click.option("--max-memory-bytes", type=int, help="Bytes of the send buffer.")
@click.option("--message-send-max-retries", type=int, help="How often a record is sent again.")
@click.option("--retry-backoff-ms", type=int, help="Milliseconds to wait before it is.")
@click.option("--metadata-expiry-ms", type=int, help="Milliseconds after which metadata is asked for again.")
@click.option("--socket-buffer-size", type=int, help="Bytes of the socket's send buffer.")
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

    Returns when everything is acknowledged; what could not be delivered is told on standard error, and makes the exit
    code 1. Ctrl-C and SIGTERM send what was read and end; the last line need not end.
    """
    from kcli.client_properties import gather, with_bootstrap_servers
    from kcli.client_properties import producer_config as config_of
    from kcli.console.interruption import Interrupted, Interruption
    from kcli.console.record_sender import RecordSender
    from kcore.client.producer import Producer

    name = topic or topic_argument
    if name is None:
        raise click.UsageError("Missing option '--topic'.")
    reader_properties = {**read_properties(reader_config), **parse_properties(properties, "--property")}
    reader = _reader(input_form, reader_properties, line_reader, keep_partitions=keep_partitions)
    settings = gather(producer_config, producer_properties, "--producer-property")
    settings.update({CONFIGURATION_OF[o]: str(value) for o, value in configurations.items() if value is not None})
    config = config_of(with_bootstrap_servers({"client.id": "console-producer", **settings}, bootstrap_server))
    await_broker(config)
    lost = f"Records are sent when it is back, at most {config['delivery.timeout.ms']} ms late (delivery.timeout.ms)."
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
    """The exit code; Failure where records failed that nobody gave up."""
    lost = sender.unaccounted
    if lost:
        click.echo(f"kcli: topic {topic}: of {lost} records nobody knows whether they were delivered", err=True)
    if interrupted:
        return interrupted
    if sender.failed or lost:
        undelivered = Failure(f"topic {topic}: {sender.failed + lost} of {sender.sent} records were not delivered")
        raise undelivered if failure is None else Failure(f"{failure}\nkcli: {undelivered}")
    if failure is not None:
        raise failure
    return interrupted


def _reader(
    form: str, properties: dict[str, str], line_reader: str | None, *, keep_partitions: bool
) -> LineReader | JsonReader:
    from kcli.console.line_reader import READER_CLASSES, LineReader, is_true, refuse_unknown
    from kcli.failures import UsageFailure

    if line_reader is not None and line_reader not in READER_CLASSES:
        raise UsageFailure(f"--line-reader {line_reader}: must be {READER_CLASSES[0]}; classes of Java cannot run here")
    if form == LINES:
        if keep_partitions:
            raise UsageFailure("--keep-partitions: needs -i json; plain lines name no partition")
        return LineReader(properties)
    from kcli.console.json_records import JsonReader

    refuse_unknown(properties, ("ignore.error",), "--property")
    return JsonReader(keep_partitions=keep_partitions, ignore_error=is_true(properties, "ignore.error"))


def send_lines(sender: RecordSender, reader: LineReader | JsonReader, interruption: Interruption) -> Exception | None:
    """Everything that standard input has, up to a line that makes no record: what is wrong with it.

    Interrupted when a signal comes while input or room is waited for.
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
